//! Keys of a run, and their order.

use std::sync::Arc;

use anyhow::{Result, ensure};
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use super::permutation::{KEY_COUNT_MAX, Permutation};
use rand_distr::{Distribution, Zipf};
use serde::Deserialize;

/// Distribution from which the next key number in `0..count` is drawn.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum KeyChoice {
    /// 0, 1, 2, ... up to the last, and from the start again.
    Sequential,
    /// All keys with equal probability.
    #[default]
    Uniform,
    /// Zipf over ranks. Ranks are scattered over the key numbers, so that popular keys are not
    /// neighbours.
    Zipf {
        /// Exponent; YCSB uses 0.99.
        exponent: f64,
    },
    /// Zipf over the distance from the highest key number. If the keys were stored in order, the
    /// newest ones are the most popular.
    Latest {
        /// Exponent; YCSB uses 0.99.
        exponent: f64,
    },
    /// A `share` of the draws goes to the `hot` part of the keys, which are scattered as for Zipf.
    HotCold {
        /// Share of the keys that are hot, 0 to 1.
        hot: f64,
        /// Share of the draws that go to the hot keys, 0 to 1.
        share: f64,
    },
    /// The listed keys, in this order, and from the start again.
    #[serde(skip)]
    Listed(Arc<[u32]>),
}

/// Stream of key numbers.
pub struct Keys {
    count: u64,
    source: Source,
    random: SmallRng,
}

enum Source {
    /// Every `step`-th key from `first` on.
    Sequential {
        next: u64,
        first: u64,
        step: u64,
    },
    Uniform,
    Ranked(Ranked),
    HotCold {
        hot_count: u64,
        share: f64,
        scatter: Permutation,
    },
    Listed {
        list: Arc<[u32]>,
        next: usize,
    },
}

impl Keys {
    /// Creates the stream over the keys `0..count` of thread `thread` of `threads`; the same seed
    /// gives the same stream. The threads share a sequence: each has
    /// the keys with its remainder modulo `threads`. All other choices are drawn by each thread for
    /// itself.
    pub fn for_thread(
        choice: &KeyChoice,
        count: u64,
        seed: u64,
        thread: u64,
        threads: u64,
    ) -> Result<Self> {
        ensure!((1..=KEY_COUNT_MAX).contains(&count), "keys: 1 to {KEY_COUNT_MAX}");
        let random = SmallRng::seed_from_u64(seed.wrapping_add(thread << 32));
        let source = match choice {
            KeyChoice::Sequential => {
                let first = if thread < count { thread } else { 0 };
                Source::Sequential { next: first, first, step: threads }
            }
            KeyChoice::Uniform => Source::Uniform,
            KeyChoice::Zipf { exponent } => {
                let place = Place::Scattered(Permutation::of(count));
                Source::Ranked(Ranked { ranks: Zipf::new(count as f64, *exponent)?, place })
            }
            KeyChoice::Latest { exponent } => {
                let place = Place::BackFrom(count - 1);
                Source::Ranked(Ranked { ranks: Zipf::new(count as f64, *exponent)?, place })
            }
            KeyChoice::HotCold { hot, share } => {
                ensure!((0.0..1.0).contains(hot), "hot part of the keys: 0 to 1");
                ensure!((0.0..=1.0).contains(share), "share of the hot keys: 0 to 1");
                let hot_count = ((count as f64 * hot) as u64).max(1);
                Source::HotCold { hot_count, share: *share, scatter: Permutation::of(count) }
            }
            KeyChoice::Listed(list) => {
                ensure!(!list.is_empty(), "an empty list of keys");
                Source::Listed { list: Arc::clone(list), next: 0 }
            }
        };
        Ok(Self { count, source, random })
    }

    /// Returns the next key number, below the count.
    #[inline]
    pub fn draw(&mut self) -> u64 {
        match &mut self.source {
            Source::Sequential { next, first, step } => {
                let key = *next;
                *next = if key + *step >= self.count { *first } else { key + *step };
                key
            }
            Source::Uniform => below(&mut self.random, self.count),
            Source::Ranked(ranked) => ranked.draw(&mut self.random),
            Source::HotCold { hot_count, share, scatter } => {
                let cold_count = self.count - *hot_count;
                let rank = if cold_count == 0 || self.random.random_bool(*share) {
                    below(&mut self.random, *hot_count)
                } else {
                    *hot_count + below(&mut self.random, cold_count)
                };
                scatter.apply(rank)
            }
            Source::Listed { list, next } => {
                let key = list[*next];
                *next = if *next + 1 == list.len() { 0 } else { *next + 1 };
                u64::from(key)
            }
        }
    }
}

/// Keys drawn by rank.
struct Ranked {
    ranks: Zipf<f64>,
    place: Place,
}

/// Mapping from ranks to keys.
#[derive(Clone, Copy)]
enum Place {
    /// Mapping by the permutation.
    Scattered(Permutation),
    /// Rank 0 is this key, and the next ranks are the keys before it.
    BackFrom(u64),
}

impl Ranked {
    #[inline]
    fn draw(&self, random: &mut SmallRng) -> u64 {
        let rank = self.ranks.sample(random) as u64 - 1;
        match self.place {
            Place::Scattered(permutation) => permutation.apply(rank),
            Place::BackFrom(newest) => newest - rank,
        }
    }
}

/// Draws a number below `count` by multiply and shift instead of a division; the bias is below
/// 2^-24 for allowed counts.
#[inline]
fn below(random: &mut SmallRng, count: u64) -> u64 {
    ((u128::from(random.random::<u64>()) * u128::from(count)) >> 64) as u64
}

/// Returns the numbers `0..count` in random order.
pub fn shuffled(count: u32, seed: u64) -> Vec<u32> {
    let mut keys: Vec<u32> = (0..count).collect();
    keys.shuffle(&mut SmallRng::seed_from_u64(seed));
    keys
}

#[cfg(test)]
mod tests {
    use super::{KEY_COUNT_MAX, KeyChoice, Keys, Permutation, Result, shuffled};

    fn keys(choice: &KeyChoice, count: u64, seed: u64) -> Result<Keys> {
        Keys::for_thread(choice, count, seed, 0, 1)
    }

    fn counts(choice: &KeyChoice, count: u64, draws: usize) -> Vec<f64> {
        let mut stream = keys(choice, count, 7).unwrap();
        let mut seen = vec![0.0; count as usize];
        for _ in 0..draws {
            seen[stream.draw() as usize] += 1.0;
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

    /// Returns the distance (chi-square) of a million draws from the weights of ranks with exponent
    /// 0.99; `key_of` gives the key of a rank.
    fn chi_square_of_ranks(choice: &KeyChoice, key_of: impl Fn(u64) -> u64) -> f64 {
        let draws = 1_000_000;
        let seen = counts(choice, 1000, draws);
        let weight = |rank: u64| 1.0 / ((rank + 1) as f64).powf(0.99);
        let total: f64 = (0..1000).map(weight).sum();
        let mut by_key = vec![0.0; 1000];
        (0..1000).for_each(|rank| by_key[key_of(rank) as usize] = weight(rank));
        chi_square(&seen, |key| draws as f64 * by_key[key] / total)
    }

    #[test]
    fn zipf_draws_a_rank_in_proportion_to_its_power() {
        let choice = KeyChoice::Zipf { exponent: 0.99 };
        let scatter = Permutation::of(1000);
        assert!(chi_square_of_ranks(&choice, |rank| scatter.apply(rank)) < CHI_SQUARE_LIMIT);
    }

    #[test]
    fn the_newest_keys_are_drawn_in_proportion_to_the_power_of_their_distance() {
        let choice = KeyChoice::Latest { exponent: 0.99 };
        assert!(chi_square_of_ranks(&choice, |rank| 999 - rank) < CHI_SQUARE_LIMIT);
    }

    #[test]
    fn a_long_run_meets_new_keys_all_the_time() {
        let mut stream = keys(&KeyChoice::Zipf { exponent: 0.5 }, KEY_COUNT_MAX, 1).unwrap();
        let mut seen = std::collections::HashSet::new();
        let is_new = (0..3_000_000).filter(|_| seen.insert(stream.draw())).count();
        assert!(is_new > 2_990_000, "{is_new}");
    }

    #[test]
    fn hot_keys_get_their_share() {
        let scatter = Permutation::of(1000);
        for (part, share) in [(0.1, 0.9), (0.2, 0.8)] {
            let seen = counts(&KeyChoice::HotCold { hot: part, share }, 1000, 1_000_000);
            let hot_count = (1000.0 * part) as u64;
            let hot: f64 = (0..hot_count).map(|rank| seen[scatter.apply(rank) as usize]).sum();
            assert!((hot - share * 1e6).abs() < 3_000.0, "{hot}");
            assert!(seen.iter().all(|seen| *seen > 0.0));
        }
    }

    #[test]
    fn keys_of_the_largest_count_stay_below_it() {
        let choices = [
            KeyChoice::Uniform,
            KeyChoice::Zipf { exponent: 0.99 },
            KeyChoice::Latest { exponent: 0.99 },
            KeyChoice::HotCold { hot: 0.2, share: 0.8 },
        ];
        for count in [KEY_COUNT_MAX - 1, KEY_COUNT_MAX] {
            for choice in &choices {
                let mut stream = keys(choice, count, 1).unwrap();
                let largest = (0..10_000).map(|_| stream.draw()).max().unwrap();
                assert!(largest < count && largest > count / 10 * 9, "{choice:?}: {largest}");
            }
        }
        assert!(keys(&KeyChoice::Uniform, KEY_COUNT_MAX + 1, 1).is_err());
    }

    #[test]
    fn threads_have_the_keys_of_a_sequence_between_them() {
        let mut all = Vec::new();
        for thread in 0..3 {
            let mut keys = Keys::for_thread(&KeyChoice::Sequential, 10, 1, thread, 3).unwrap();
            let share = (10 + 2 - thread) / 3;
            all.extend((0..share).map(|_| keys.draw()));
            assert_eq!(keys.draw(), thread, "from the start again");
        }
        all.sort_unstable();
        assert!(all.into_iter().eq(0..10));
    }

    #[test]
    fn sequential_keys_start_again_behind_the_last() {
        let mut stream = keys(&KeyChoice::Sequential, 3, 0).unwrap();
        assert_eq!([0; 5].map(|_: u64| stream.draw()), [0, 1, 2, 0, 1]);
    }

    #[test]
    fn a_shuffle_is_a_permutation() {
        let mut keys = shuffled(1000, 1);
        assert_ne!(keys, (0..1000).collect::<Vec<_>>());
        keys.sort_unstable();
        assert!(keys.into_iter().eq(0..1000));
    }
}
