//! Random numbers as YCSB draws them: of records, of fields, of lengths.
//!
//! Zipf ranks are drawn as in Gray et al. (Quickly Generating Billion-Record Synthetic Databases,
//! SIGMOD 1994, section 3.3), which is exact for the first two ranks and close for the others. For
//! exact ranks see `generator::KeyChoice`; here the frequencies must be those of YCSB.

use rand::RngExt;
use rand::rngs::SmallRng;

/// Exponent of YCSB's Zipf distributions.
pub const EXPONENT: f64 = 0.99;

/// Distribution of numbers.
#[derive(Clone, Debug)]
pub enum Chooser {
    /// One number.
    Constant(u64),
    /// Each of `first..=last` with equal probability.
    Uniform {
        /// Lowest number.
        first: u64,
        /// Highest number.
        last: u64,
    },
    /// In turn, and from the first again.
    Sequential {
        /// Lowest number.
        first: u64,
        /// Number of numbers.
        count: u64,
        /// Number of draws so far.
        drawn: u64,
    },
    /// Zipf: lower numbers are more frequent.
    Zipf {
        /// Lowest number.
        first: u64,
        /// Ranks, which are added to it.
        ranks: Zipf,
    },
    /// Zipf ranks that are scattered over all numbers.
    Scrambled {
        /// Lowest number.
        first: u64,
        /// Number of numbers.
        count: u64,
        /// Ranks: many more than numbers, so that the popular numbers do not depend on their count.
        ranks: Zipf,
    },
    /// A part of the numbers gets a given share of the draws.
    HotSpot {
        /// Lowest number.
        first: u64,
        /// Count of hot numbers, which are the lowest.
        hot: u64,
        /// Count of the other numbers.
        cold: u64,
        /// Share of the draws that go to the hot numbers, 0 to 1.
        share: f64,
    },
    /// Exponential distribution: large numbers are rare.
    Exponential {
        /// Rate per number.
        rate: f64,
    },
}

impl Chooser {
    /// Creates ranks that are scattered over `count` numbers from `first` on, as YCSB scatters
    /// them.
    pub fn scrambled(first: u64, count: u64) -> Chooser {
        Chooser::Scrambled { first, count, ranks: Zipf::of_many() }
    }

    /// Creates an exponential distribution in which `percentile` of the draws (0 to 100) are below
    /// `range`.
    pub fn exponential(percentile: f64, range: f64) -> Chooser {
        Chooser::Exponential { rate: -(1.0 - percentile / 100.0).ln() / range }
    }

    /// Returns the next number.
    pub fn draw(&mut self, random: &mut SmallRng) -> u64 {
        match self {
            Chooser::Constant(number) => *number,
            Chooser::Uniform { first, last } => random.random_range(*first..=*last),
            Chooser::Sequential { first, count, drawn } => {
                let number = *first + *drawn % *count;
                *drawn += 1;
                number
            }
            Chooser::Zipf { first, ranks } => *first + ranks.draw(random),
            Chooser::Scrambled { first, count, ranks } => {
                *first + fnv_hash(ranks.draw(random)) % *count
            }
            Chooser::HotSpot { first, hot, cold, share } => {
                if random.random_bool(*share) || *cold == 0 {
                    *first + random.random_range(0..(*hot).max(1))
                } else {
                    *first + *hot + random.random_range(0..*cold)
                }
            }
            Chooser::Exponential { rate } => {
                (-random.random::<f64>().max(f64::MIN_POSITIVE).ln() / *rate) as u64
            }
        }
    }
}

/// Zipf ranks `0..count`; the count may grow between draws.
#[derive(Clone, Debug)]
pub struct Zipf {
    count: u64,
    exponent: f64,
    /// Sum of the weights of all ranks.
    zeta: f64,
    /// Sum of the weights of the first two ranks.
    zeta_of_two: f64,
}

impl Zipf {
    /// Creates the ranks `0..count`.
    pub fn new(count: u64, exponent: f64) -> Zipf {
        let zeta_of_two = zeta(0, 2, exponent, 0.0);
        Zipf { count, exponent, zeta: zeta(0, count, exponent, 0.0), zeta_of_two }
    }

    /// Creates the ten billion ranks from which scattered numbers are made.
    pub fn of_many() -> Zipf {
        let zeta_of_two = zeta(0, 2, EXPONENT, 0.0);
        Zipf { count: SCRAMBLED_RANKS, exponent: EXPONENT, zeta: SCRAMBLED_ZETA, zeta_of_two }
    }

    /// Returns the next rank.
    pub fn draw(&self, random: &mut SmallRng) -> u64 {
        self.rank_at(random.random())
    }

    /// Returns the next rank of `count`, which may be higher than before.
    pub fn draw_below(&mut self, count: u64, random: &mut SmallRng) -> u64 {
        if count > self.count {
            self.zeta = zeta(self.count, count, self.exponent, self.zeta);
            self.count = count;
        }
        self.draw(random)
    }

    /// Returns the rank at a position between 0 and 1.
    fn rank_at(&self, place: f64) -> u64 {
        let weight = place * self.zeta;
        if weight < 1.0 {
            return 0;
        }
        if weight < self.zeta_of_two {
            return 1;
        }
        let eta = self.eta();
        let rank = self.count as f64 * (eta * place - eta + 1.0).powf(1.0 / (1.0 - self.exponent));
        (rank as u64).min(self.count - 1)
    }

    fn eta(&self) -> f64 {
        let of_two = (2.0 / self.count as f64).powf(1.0 - self.exponent);
        (1.0 - of_two) / (1.0 - self.zeta_of_two / self.zeta)
    }

    /// Returns the probability of each rank.
    #[cfg(test)]
    fn chances(&self) -> Vec<f64> {
        // Position at which a rank begins, by the inverse of `rank_at`.
        let eta = self.eta();
        let begin = |rank: u64| match rank {
            0 => 0.0,
            1 => 1.0 / self.zeta,
            2 => self.zeta_of_two / self.zeta,
            rank => {
                let part = (rank as f64 / self.count as f64).powf(1.0 - self.exponent);
                ((part - 1.0 + eta) / eta).max(self.zeta_of_two / self.zeta)
            }
        };
        let end = |rank| if rank + 1 == self.count { 1.0 } else { begin(rank + 1) };
        (0..self.count).map(|rank| end(rank) - begin(rank)).collect()
    }
}

/// Returns `before` plus the sum of the weights of the ranks `from..to`.
fn zeta(from: u64, to: u64, exponent: f64, before: f64) -> f64 {
    (from..to).fold(before, |sum, rank| sum + ((rank + 1) as f64).powf(-exponent))
}

/// Hash by which YCSB scatters numbers: FNV-1a over their eight bytes, without the sign.
pub fn fnv_hash(number: u64) -> u64 {
    let hash = number.to_le_bytes().iter().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
    });
    (hash as i64).unsigned_abs()
}

const SCRAMBLED_RANKS: u64 = 10_000_000_000;
/// Sum of the weights of all scrambled ranks.
const SCRAMBLED_ZETA: f64 = 26.469_028_201_783_02;

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    const DRAWS: u64 = 1_000_000;

    fn chi_square(seen: &[u64], chances: &[f64]) -> f64 {
        let term = |(seen, chance): (&u64, &f64)| {
            let expected = chance * DRAWS as f64;
            (*seen as f64 - expected).powi(2) / expected
        };
        seen.iter().zip(chances).map(term).sum()
    }

    /// The 99.9 % point of chi-square with 999 degrees of freedom is 1,143.
    const LIMIT: f64 = 1143.0;

    fn counts(mut draw: impl FnMut(&mut SmallRng) -> u64) -> Vec<u64> {
        let (mut random, mut seen) = (SmallRng::seed_from_u64(1), vec![0; 1000]);
        (0..DRAWS).for_each(|_| seen[draw(&mut random) as usize] += 1);
        seen
    }

    #[test]
    fn ranks_come_as_often_as_in_ycsb() {
        let zipf = Zipf::new(1000, EXPONENT);
        let chances = zipf.chances();
        assert!((chances.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(chi_square(&counts(|random| zipf.draw(random)), &chances) < LIMIT);
    }

    #[test]
    fn those_chances_are_nearly_those_of_zipf() {
        let chances = Zipf::new(1000, EXPONENT).chances();
        let weight = |rank: usize| 1.0 / ((rank + 1) as f64).powf(EXPONENT);
        let total: f64 = (0..1000).map(weight).sum();
        for (ranks, off) in [(1, 1e-9), (2, 1e-9), (10, 0.03), (100, 0.03), (500, 0.01)] {
            let drawn: f64 = chances[..ranks].iter().sum();
            let exact = (0..ranks).map(weight).sum::<f64>() / total;
            assert!((drawn - exact).abs() < off, "{ranks}: {drawn} for {exact}");
        }
    }

    #[test]
    fn ranks_that_come_later_are_drawn_as_if_they_had_been_there() {
        let mut grown = Zipf::new(10, EXPONENT);
        let chances = Zipf::new(1000, EXPONENT).chances();
        assert!(chi_square(&counts(|random| grown.draw_below(1000, random)), &chances) < LIMIT);
    }

    #[test]
    fn the_sum_for_scattered_numbers_is_that_of_their_ranks() {
        // Euler-Maclaurin: the sum up to a million, and the integral from there on.
        let (count, from) = (SCRAMBLED_RANKS as f64, 1e6_f64);
        let rest = 1.0 - EXPONENT;
        let integral = (count.powf(rest) - from.powf(rest)) / rest;
        let halves = (count.powf(-EXPONENT) - from.powf(-EXPONENT)) / 2.0;
        let sum = zeta(0, 1_000_000, EXPONENT, 0.0) + integral + halves;
        assert!((sum - SCRAMBLED_ZETA).abs() < 1e-6, "{sum}");
    }

    #[test]
    fn scattered_numbers_come_as_often_as_the_ranks_behind_them() {
        // Of ten billion ranks the first million are followed one by one; the others are so rare
        // that they are spread evenly.
        let zipf = Zipf::of_many();
        let mut chances = vec![0.0; 1000];
        let eta = zipf.eta();
        let begin = |rank: u64| match rank {
            0 => 0.0,
            1 => 1.0 / zipf.zeta,
            2 => zipf.zeta_of_two / zipf.zeta,
            _ => {
                let part = (rank as f64 / zipf.count as f64).powf(1.0 - EXPONENT);
                (part - 1.0 + eta) / eta
            }
        };
        let followed = 1_000_000;
        for rank in 0..followed {
            chances[(fnv_hash(rank) % 1000) as usize] += begin(rank + 1) - begin(rank);
        }
        let rest = (1.0 - begin(followed)) / 1000.0;
        chances.iter_mut().for_each(|chance| *chance += rest);
        let mut chooser = Chooser::scrambled(0, 1000);
        assert!(chi_square(&counts(|random| chooser.draw(random)), &chances) < LIMIT);
    }

    #[test]
    fn other_choosers_keep_to_their_shares() {
        let mut random = SmallRng::seed_from_u64(1);
        let mut hot = Chooser::HotSpot { first: 100, hot: 20, cold: 80, share: 0.8 };
        let drawn: Vec<u64> = (0..100_000).map(|_| hot.draw(&mut random)).collect();
        let share = drawn.iter().filter(|number| **number < 120).count() as f64 / 1e5;
        assert!((share - 0.8).abs() < 0.01, "{share}");
        assert!(drawn.iter().all(|number| (100..200).contains(number)));

        let mut exponential = Chooser::exponential(95.0, 1000.0);
        let below = (0..100_000).filter(|_| exponential.draw(&mut random) < 1000).count();
        assert!((below as f64 / 1e5 - 0.95).abs() < 0.01, "{below}");

        let mut in_turn = Chooser::Sequential { first: 5, count: 3, drawn: 0 };
        assert_eq!([0; 4].map(|_| in_turn.draw(&mut random)), [5, 6, 7, 5]);
    }

    #[test]
    fn hashes_are_those_of_fnv() {
        assert_eq!(fnv_hash(0), (0xA8C7_F832_281A_39C5_u64 as i64).unsigned_abs());
    }
}
