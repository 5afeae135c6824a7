//! Random numbers as YCSB draws them: of records, and of lengths.

use std::ops::RangeInclusive;

use anyhow::{Result, bail, ensure};
use rand::RngExt;
use rand::rngs::SmallRng;
use rand_distr::{Distribution, Exp, Zipf};

/// Distribution of numbers from the first of them on.
#[derive(Clone, Debug)]
pub(super) enum Chooser {
    /// Each with equal probability.
    Uniform { first: u64, last: u64 },
    /// In turn, and from the first again.
    Sequential { first: u64, count: u64, drawn: u64 },
    /// Ranks from one on: the first number is the most frequent.
    Zipf { first: u64, ranks: Zipf<f64> },
    /// Ranks that are scattered over all numbers. There are many more ranks than numbers, so that
    /// the popular numbers do not depend on their count.
    Scrambled { first: u64, count: u64, ranks: Zipf<f64> },
    /// The lowest numbers are hot and get this share of the draws.
    HotSpot { first: u64, hot: u64, cold: u64, share: f64 },
    /// Distance from the highest number; large distances are rare.
    BeforeLast(Exp<f64>),
    /// Ranks by distance from the highest number.
    Latest,
}

impl Chooser {
    /// Creates a distribution of lengths by its name in YCSB.
    pub fn of_lengths(name: &str, first: u64, last: u64) -> Result<Self> {
        ensure!(first <= last, "lengths from {first} to {last}");
        Ok(match name {
            "constant" => Self::Uniform { first: last, last },
            "uniform" => Self::Uniform { first, last },
            "zipfian" => Self::Zipf { first, ranks: zipf(last - first + 1)? },
            other => bail!("there is no distribution of lengths {other:?} here"),
        })
    }

    /// Creates ranks that are scattered over `count` numbers from `first` on.
    pub fn scrambled(first: u64, count: u64) -> Result<Self> {
        Ok(Self::Scrambled { first, count, ranks: zipf(SCRAMBLED_RANKS)? })
    }

    /// Creates distances of which `percentile` (0 to 100) in a hundred are below `range`.
    pub fn exponential(percentile: f64, range: f64) -> Result<Self> {
        let is_sound = percentile > 0.0 && percentile < 100.0 && range > 0.0;
        ensure!(is_sound, "exponential.percentile is {percentile}, of {range} records");
        Ok(Self::BeforeLast(Exp::new(-(1.0 - percentile / 100.0).ln() / range)?))
    }

    /// Returns the next number `within` those that are there; others are drawn again.
    pub fn draw(&mut self, within: &RangeInclusive<u64>, random: &mut SmallRng) -> u64 {
        loop {
            let number = self.draw_any(within, random);
            if within.contains(&number) {
                return number;
            }
        }
    }

    fn draw_any(&mut self, within: &RangeInclusive<u64>, random: &mut SmallRng) -> u64 {
        match self {
            Self::Uniform { first, last } => random.random_range(*first..=*last),
            Self::Sequential { first, count, drawn } => {
                *drawn += 1;
                *first + (*drawn - 1) % *count
            }
            Self::Zipf { first, ranks } => *first + ranks.sample(random) as u64 - 1,
            Self::Scrambled { first, count, ranks } => {
                *first + fnv_hash(ranks.sample(random) as u64 - 1) % *count
            }
            Self::HotSpot { first, hot, cold, share } => {
                if *cold == 0 || random.random_bool(*share) {
                    *first + random.random_range(0..(*hot).max(1))
                } else {
                    *first + *hot + random.random_range(0..*cold)
                }
            }
            Self::BeforeLast(distances) => {
                within.end().wrapping_sub(distances.sample(random) as u64)
            }
            Self::Latest => {
                let ranks = zipf(within.end() - within.start() + 1);
                within.end() + 1 - ranks.map_or(1, |ranks| ranks.sample(random) as u64)
            }
        }
    }
}

fn zipf(count: u64) -> Result<Zipf<f64>> {
    Ok(Zipf::new(count as f64, EXPONENT)?)
}

/// Hash by which YCSB scatters numbers: FNV-1a over their eight bytes, without the sign.
pub(super) fn fnv_hash(number: u64) -> u64 {
    let hash = number.to_le_bytes().iter().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
    });
    (hash as i64).unsigned_abs()
}

/// Exponent of YCSB's Zipf distributions.
const EXPONENT: f64 = 0.99;
const SCRAMBLED_RANKS: u64 = 10_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    const DRAWS: u32 = 100_000;

    /// Returns the share of the draws from 100 to 199 for which `is_meant` is true.
    fn share(mut chooser: Chooser, is_meant: impl Fn(u64) -> bool) -> f64 {
        let mut random = SmallRng::seed_from_u64(1);
        let draws = (0..DRAWS).map(|_| chooser.draw(&(100..=199), &mut random));
        draws.filter(|number| is_meant(*number)).count() as f64 / f64::from(DRAWS)
    }

    #[test]
    fn numbers_come_in_their_shares() {
        // Weight of the first of a hundred Zipf ranks.
        let first = 1.0 / (1..=100).map(|rank| f64::from(rank).powf(-EXPONENT)).sum::<f64>();
        // The most popular of ten billion ranks, and an even part of almost all others.
        let popular = 100 + fnv_hash(0) % 100;
        let lengths = Chooser::of_lengths("zipfian", 100, 199).unwrap();
        let hot = Chooser::HotSpot { first: 100, hot: 20, cold: 80, share: 0.8 };
        let exponential = Chooser::exponential(95.0, 50.0).unwrap();
        assert!((share(Chooser::Latest, |number| number == 199) - first).abs() < 0.01);
        assert!((share(lengths, |number| number == 100) - first).abs() < 0.01);
        assert!((share(hot, |number| number < 120) - 0.8).abs() < 0.01);
        assert!((share(exponential, |number| number > 149) - 0.95).abs() < 0.01);
        let scrambled = Chooser::scrambled(100, 100).unwrap();
        let expected = 1.0 / 26.47 + 0.01;
        assert!((share(scrambled, |number| number == popular) - expected).abs() < 0.02);
    }

    #[test]
    fn a_sequence_begins_again_at_its_end() {
        let mut random = SmallRng::seed_from_u64(1);
        let mut in_turn = Chooser::Sequential { first: 5, count: 3, drawn: 0 };
        assert_eq!([0; 4].map(|_| in_turn.draw(&(0..=9), &mut random)), [5, 6, 7, 5]);
    }
}
