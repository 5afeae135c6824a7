//! Which keys a run touches, in which order.

use std::sync::Arc;

use anyhow::{Result, ensure};
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Zipf};

use super::requests::KEY_COUNT_MAX;

/// How the next key number is chosen from `0..count`.
#[derive(Clone, Debug)]
pub enum KeyChoice {
    /// 0, 1, 2, ... and from the start again behind the last.
    Sequential,
    /// Every key with the same probability.
    Uniform,
    /// Zipf over ranks; the ranks are scattered over the key numbers, so that popular keys are
    /// no neighbours.
    Zipf {
        /// The exponent; YCSB uses 0.99.
        exponent: f64,
    },
    /// `share` of the draws go to the `hot` part of the keys, which are scattered as for Zipf.
    HotCold {
        /// Part of the keys that is hot, 0 to 1.
        hot: f64,
        /// Part of the draws that go to the hot keys, 0 to 1.
        share: f64,
    },
    /// Exactly these, in this order, and from the start again behind the last.
    Listed(Arc<[u32]>),
}

/// A stream of key numbers.
pub struct Keys {
    count: u64,
    source: Source,
    random: SmallRng,
}

enum Source {
    Sequential { next: u64 },
    Uniform,
    Drawn { draws: Arc<[u32]>, next: usize },
    HotCold { hot_count: u64, share: f64 },
}

impl Keys {
    /// A stream over the keys `0..count`; the same seed gives the same stream.
    ///
    /// # Errors
    /// If `count` is zero or above [`KEY_COUNT_MAX`], a list is empty, or a parameter of the
    /// distribution is out of range.
    pub fn new(choice: &KeyChoice, count: u64, seed: u64) -> Result<Self> {
        ensure!((1..=KEY_COUNT_MAX).contains(&count), "keys: 1 to {KEY_COUNT_MAX}");
        let mut random = SmallRng::seed_from_u64(seed);
        let source = match choice {
            KeyChoice::Sequential => Source::Sequential { next: 0 },
            KeyChoice::Uniform => Source::Uniform,
            KeyChoice::Zipf { exponent } => {
                let draws = draw_zipf(*exponent, count, &mut random)?;
                Source::Drawn { draws, next: 0 }
            }
            KeyChoice::HotCold { hot, share } => {
                ensure!((0.0..1.0).contains(hot), "hot part of the keys: 0 to 1");
                let hot_count = ((count as f64 * hot) as u64).max(1);
                Source::HotCold { hot_count, share: *share }
            }
            KeyChoice::Listed(list) => {
                ensure!(!list.is_empty(), "an empty list of keys");
                Source::Drawn { draws: Arc::clone(list), next: 0 }
            }
        };
        Ok(Self { count, source, random })
    }

    /// The next key number, below the count.
    #[inline]
    pub fn draw(&mut self) -> u64 {
        match &mut self.source {
            Source::Sequential { next } => {
                let key = *next;
                *next = if key + 1 == self.count { 0 } else { key + 1 };
                key
            }
            Source::Uniform => below(&mut self.random, self.count),
            Source::Drawn { draws, next } => {
                let key = draws[*next];
                *next = if *next + 1 == draws.len() { 0 } else { *next + 1 };
                u64::from(key)
            }
            Source::HotCold { hot_count, share } => {
                let rank = if self.random.random_bool(*share) {
                    below(&mut self.random, *hot_count)
                } else {
                    *hot_count + below(&mut self.random, self.count - *hot_count)
                };
                scatter(rank, self.count)
            }
        }
    }
}

/// The numbers `0..count` in random order.
pub fn shuffled(count: u32, seed: u64) -> Vec<u32> {
    let mut keys: Vec<u32> = (0..count).collect();
    keys.shuffle(&mut SmallRng::seed_from_u64(seed));
    keys
}

/// Drawing from the distribution costs more than a server's GET, so a million draws are made
/// beforehand and used in turn.
fn draw_zipf(exponent: f64, count: u64, random: &mut SmallRng) -> Result<Arc<[u32]>> {
    let ranks = Zipf::new(count as f64, exponent)?;
    let draw = |_| scatter(ranks.sample(random) as u64 - 1, count) as u32;
    Ok((0..ZIPF_DRAWS).map(draw).collect())
}

/// A bijection on `0..count`: the factor is a prime larger than any count.
fn scatter(rank: u64, count: u64) -> u64 {
    rank * SCATTER_PRIME % count
}

/// Multiply and shift instead of a division; the bias is below 2^-37 for allowed counts.
#[inline]
fn below(random: &mut SmallRng, count: u64) -> u64 {
    ((u128::from(random.random::<u64>()) * u128::from(count)) >> 64) as u64
}

const ZIPF_DRAWS: usize = 1 << 20;
const SCATTER_PRIME: u64 = 2_654_435_761;
const _: () = assert!(SCATTER_PRIME > KEY_COUNT_MAX);
const _: () = assert!(KEY_COUNT_MAX <= u32::MAX as u64);

#[cfg(test)]
mod tests {
    use super::{KeyChoice, Keys, scatter, shuffled};

    fn counts(choice: &KeyChoice, count: u64, draws: usize) -> Vec<f64> {
        let mut keys = Keys::new(choice, count, 7).unwrap();
        let mut seen = vec![0.0; count as usize];
        for _ in 0..draws {
            seen[keys.draw() as usize] += 1.0;
        }
        seen
    }

    fn chi_square(seen: &[f64], expected: impl Fn(usize) -> f64) -> f64 {
        let term = |(key, seen): (usize, &f64)| (seen - expected(key)).powi(2) / expected(key);
        seen.iter().enumerate().map(term).sum()
    }

    /// The 99.9 % point of chi-square with 999 degrees of freedom is 1,143.
    const CHI_SQUARE_LIMIT: f64 = 1143.0;

    #[test]
    fn uniform_draws_every_key_equally_often() {
        let seen = counts(&KeyChoice::Uniform, 1000, 1_000_000);
        assert!(chi_square(&seen, |_| 1000.0) < CHI_SQUARE_LIMIT);
    }

    #[test]
    fn zipf_draws_a_rank_in_proportion_to_its_power() {
        let draws = 1 << 20;
        let seen = counts(&KeyChoice::Zipf { exponent: 0.99 }, 1000, draws);
        let weight = |rank: u64| 1.0 / ((rank + 1) as f64).powf(0.99);
        let total: f64 = (0..1000).map(weight).sum();
        let mut by_key = vec![0.0; 1000];
        (0..1000).for_each(|rank| by_key[scatter(rank, 1000) as usize] = weight(rank));
        let expected = |key: usize| draws as f64 * by_key[key] / total;
        assert!(chi_square(&seen, expected) < CHI_SQUARE_LIMIT);
    }

    #[test]
    fn hot_keys_get_their_share() {
        let seen = counts(&KeyChoice::HotCold { hot: 0.1, share: 0.9 }, 1000, 1_000_000);
        let hot: f64 = (0..100).map(|rank| seen[scatter(rank, 1000) as usize]).sum();
        assert!((hot - 900_000.0).abs() < 3_000.0, "{hot}");
        assert!(seen.iter().all(|seen| *seen > 0.0));
    }

    #[test]
    fn scattering_loses_no_key() {
        let mut keys: Vec<u64> = (0..1000).map(|rank| scatter(rank, 1000)).collect();
        keys.sort_unstable();
        assert!(keys.into_iter().eq(0..1000));
    }

    #[test]
    fn sequential_keys_start_again_behind_the_last() {
        let mut keys = Keys::new(&KeyChoice::Sequential, 3, 0).unwrap();
        assert_eq!([0; 5].map(|_: u64| keys.draw()), [0, 1, 2, 0, 1]);
    }

    #[test]
    fn a_shuffle_is_a_permutation() {
        let mut keys = shuffled(1000, 1);
        assert_ne!(keys, (0..1000).collect::<Vec<_>>());
        keys.sort_unstable();
        assert!(keys.into_iter().eq(0..1000));
    }
}
