//! Keys of a run, and their order.

use std::iter::{Cycle, StepBy};
use std::ops::Range;

use anyhow::{Result, ensure};
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Zipf};

use super::{KeyChoice, Load};

/// Stream of key numbers.
pub struct Keys {
    count: u64,
    source: Source,
    random: SmallRng,
}

enum Source {
    Sequence(Cycle<StepBy<Range<u64>>>),
    Uniform,
    Zipf(Zipf<f64>),
    HotCold { hot_count: u64, share: f64 },
    AllThenUniform(Range<u64>),
    Shuffled { list: Vec<u32>, next: usize },
}

impl Keys {
    /// Creates the stream of one of the threads of a load; the same seed gives the same stream. The
    /// threads share a sequence: each has the keys with its remainder modulo their number. All
    /// other choices are drawn by each thread for itself.
    pub fn new(load: &Load, thread: usize) -> Result<Self> {
        let (count, random) = (load.key_count, load.random_of(thread));
        ensure!((1..=KEY_COUNT_MAX).contains(&count), "keys: 1 to {KEY_COUNT_MAX}");
        let source = match &load.keys {
            KeyChoice::Sequential => {
                let first = if (thread as u64) < count { thread as u64 } else { 0 };
                Source::Sequence((first..count).step_by(load.threads).cycle())
            }
            KeyChoice::Uniform => Source::Uniform,
            KeyChoice::Zipf { exponent } => Source::Zipf(Zipf::new(count as f64, *exponent)?),
            KeyChoice::HotCold { hot, share } => {
                ensure!((0.0..1.0).contains(hot), "hot part of the keys: 0 to 1");
                ensure!((0.0..=1.0).contains(share), "share of the hot keys: 0 to 1");
                let hot_count = ((count as f64 * hot) as u64).max(1);
                Source::HotCold { hot_count, share: *share }
            }
            KeyChoice::AllThenUniform => Source::AllThenUniform(0..count),
            KeyChoice::Shuffled => {
                Source::Shuffled { list: shuffled(count.try_into()?, load.seed), next: 0 }
            }
        };
        Ok(Self { count, source, random })
    }

    /// Returns the next key number, below the count.
    pub fn draw(&mut self) -> u64 {
        match &mut self.source {
            Source::Sequence(keys) => keys.next().unwrap_or_default(),
            Source::Uniform => below(&mut self.random, self.count),
            Source::Zipf(ranks) => scattered(ranks.sample(&mut self.random) as u64 - 1, self.count),
            Source::HotCold { hot_count, share } => {
                let cold_count = self.count - *hot_count;
                let rank = if cold_count == 0 || self.random.random_bool(*share) {
                    below(&mut self.random, *hot_count)
                } else {
                    *hot_count + below(&mut self.random, cold_count)
                };
                scattered(rank, self.count)
            }
            Source::AllThenUniform(keys) => {
                keys.next().unwrap_or_else(|| below(&mut self.random, self.count))
            }
            Source::Shuffled { list, next } => {
                let key = list[*next];
                *next = if *next + 1 == list.len() { 0 } else { *next + 1 };
                u64::from(key)
            }
        }
    }
}

/// Returns the key of a rank: a bijection on the keys, since the factor is a prime above their
/// count.
fn scattered(rank: u64, count: u64) -> u64 {
    rank * SCATTER % count
}

/// Draws a number below `count` by multiply and shift instead of a division; the bias is below
/// 2^-32 for allowed counts.
fn below(random: &mut SmallRng, count: u64) -> u64 {
    ((u128::from(random.random::<u64>()) * u128::from(count)) >> 64) as u64
}

/// Returns the numbers `0..count` in random order.
pub fn shuffled(count: u32, seed: u64) -> Vec<u32> {
    let mut keys: Vec<u32> = (0..count).collect();
    keys.shuffle(&mut SmallRng::seed_from_u64(seed));
    keys
}

/// Highest number of keys.
const KEY_COUNT_MAX: u64 = 2_000_000_000;
const SCATTER: u64 = 2_654_435_761;

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(choice: &KeyChoice, count: u64) -> Result<Keys> {
        Keys::new(&Load { keys: choice.clone(), seed: 7, ..Load::get(count) }, 0)
    }

    /// Returns the distance (chi-square) of a million draws of 1,000 keys from these shares.
    fn chi_square(choice: &KeyChoice, share: impl Fn(u64) -> f64) -> f64 {
        let (mut stream, mut seen) = (keys(choice, 1000).unwrap(), [0.0; 1000]);
        (0..1_000_000).for_each(|_| seen[stream.draw() as usize] += 1.0);
        let mut expected = [0.0; 1000];
        (0..1000).for_each(|rank| expected[scattered(rank, 1000) as usize] = 1e6 * share(rank));
        seen.iter().zip(expected).map(|(seen, all)| (seen - all).powi(2) / all).sum()
    }

    #[test]
    fn keys_are_drawn_as_often_as_their_distribution_says() {
        let zipf = |rank: u64| 1.0 / ((rank + 1) as f64).powf(0.99);
        let all: f64 = (0..1000).map(zipf).sum();
        let hot = |rank| if rank < 200 { 0.8 / 200.0 } else { 0.2 / 800.0 };
        for distance in [
            chi_square(&KeyChoice::Uniform, |_| 1e-3),
            chi_square(&KeyChoice::Zipf { exponent: 0.99 }, |rank| zipf(rank) / all),
            chi_square(&KeyChoice::HotCold { hot: 0.2, share: 0.8 }, hot),
        ] {
            // The 99.9 % point of chi-square with 999 degrees of freedom.
            assert!(distance < 1143.0, "{distance}");
        }
    }

    #[test]
    fn ranks_are_scattered_over_all_keys() {
        const { assert!(SCATTER > KEY_COUNT_MAX) };
        assert!((2..=SCATTER.isqrt()).all(|divisor| !SCATTER.is_multiple_of(divisor)), "a prime");
        for count in [1, 2, 7, 1000, 65_536, 99_991] {
            let mut keys: Vec<_> = (0..count).map(|rank| scattered(rank, count)).collect();
            keys.sort_unstable();
            assert!(keys.into_iter().eq(0..count));
        }
    }

    #[test]
    fn keys_of_the_largest_count_stay_below_it() {
        let zipf = KeyChoice::Zipf { exponent: 0.5 };
        for choice in [KeyChoice::Uniform, zipf, KeyChoice::HotCold { hot: 0.2, share: 0.8 }] {
            let mut stream = keys(&choice, KEY_COUNT_MAX).unwrap();
            let largest = (0..10_000).map(|_| stream.draw()).max().unwrap();
            assert!(largest < KEY_COUNT_MAX && largest > KEY_COUNT_MAX / 10 * 9, "{choice:?}");
        }
        assert!(keys(&KeyChoice::Uniform, KEY_COUNT_MAX + 1).is_err());
    }

    #[test]
    fn threads_have_the_keys_of_a_sequence_between_them() {
        let mut all = Vec::new();
        for thread in 0..3 {
            let load = Load { threads: 3, keys: KeyChoice::Sequential, ..Load::get(10) };
            let mut keys = Keys::new(&load, thread).unwrap();
            let share = (10 + 2 - thread) / 3;
            all.extend((0..share).map(|_| keys.draw()));
            assert_eq!(keys.draw(), thread as u64, "from the start again");
        }
        all.sort_unstable();
        assert!(all.into_iter().eq(0..10));
    }

    #[test]
    fn a_choice_that_begins_with_all_keys_has_each_once_in_its_order() {
        for (choice, in_order) in [(KeyChoice::Shuffled, false), (KeyChoice::AllThenUniform, true)]
        {
            let mut stream = keys(&choice, 1000).unwrap();
            let mut all: Vec<_> = (0..1000).map(|_| stream.draw()).collect();
            assert_eq!(all.is_sorted(), in_order);
            all.sort_unstable();
            assert!(all.into_iter().eq(0..1000));
            assert!((0..10_000).all(|_| stream.draw() < 1000));
        }
    }
}
