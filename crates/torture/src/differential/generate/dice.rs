//! Random choices from a seed.

use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};

/// Source of random choices.
#[derive(Debug)]
pub struct Dice(SmallRng);

impl Dice {
    /// Creates the dice of a round; different rounds of one seed are independent.
    pub fn new(seed: u64, round: u64) -> Dice {
        let mixed = seed ^ round.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Dice(SmallRng::seed_from_u64(mixed))
    }

    /// Returns true with a probability of `chance` percent.
    pub fn percent(&mut self, chance: u32) -> bool {
        self.0.random_range(0..100) < chance
    }

    /// Returns true with a probability of `chance` per thousand.
    pub fn permille(&mut self, chance: u32) -> bool {
        self.0.random_range(0..1000) < chance
    }

    /// Returns a number below `end`; zero if `end` is zero.
    pub fn below(&mut self, end: usize) -> usize {
        self.0.random_range(0..end.max(1))
    }

    /// Returns a number between two, both included.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        self.0.random_range(low..=high)
    }

    /// Returns any number.
    pub fn any(&mut self) -> u64 {
        self.0.random()
    }

    /// Returns one of several.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    /// Returns the index of one of several, by their weights.
    pub fn weighted(&mut self, weights: &[u32]) -> usize {
        let mut left = self.below(weights.iter().sum::<u32>() as usize) as u32;
        weights
            .iter()
            .position(|weight| {
                let hit = left < *weight;
                left = left.saturating_sub(*weight);
                hit
            })
            .unwrap_or(0)
    }

    /// Returns a number of repetitions: mostly one, seldom many.
    pub fn repeats(&mut self, most: usize) -> usize {
        let ranges = [(1, 1), (2, 2), (3, 6), (7, 60)];
        let (low, high) = ranges[self.weighted(&[55, 25, 18, 2])];
        (self.between(low, high) as usize).min(most)
    }
}
