//! Random choices from a seed.

use rand::rngs::SmallRng;
use rand::{Rng, RngExt, SeedableRng};

/// Source of choices; equal seeds and streams give equal choices.
#[derive(Debug)]
pub(crate) struct Chance(SmallRng);

impl Chance {
    /// Creates the choices of one stream of a seed.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        Self(SmallRng::seed_from_u64(mix(seed ^ mix(stream))))
    }

    /// Returns a number below `end`, which is not zero.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0.random_range(0..end)
    }

    /// Returns a number of a range, both ends included.
    pub(crate) fn within(&mut self, least: usize, most: usize) -> usize {
        self.0.random_range(least..=most)
    }

    /// Returns true once in `times` calls, on average.
    pub(crate) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    /// Returns one of several.
    pub(crate) fn pick<'a, T>(&mut self, among: &'a [T]) -> &'a T {
        &among[self.below(among.len())]
    }

    /// Returns one of several words.
    pub(crate) fn word(&mut self, among: &[&'static str]) -> &'static str {
        among[self.below(among.len())]
    }

    /// Returns any 64 bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Returns a length that is mostly small, and now and then up to `most`: each doubling is
    /// equally likely.
    pub(crate) fn length(&mut self, most: usize) -> usize {
        let doublings = (usize::BITS - most.leading_zeros()) as usize;
        let limit = 1usize << self.within(0, doublings);
        self.within(0, limit.min(most))
    }
}

/// Mixes a number: each bit of the result depends on all bits.
pub(crate) fn mix(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}
