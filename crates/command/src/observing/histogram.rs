//! Histogram of the time that a command takes.
//!
//! ```text
//! nanoseconds   0 .. 255    256 .. 511    512 .. 1023    ...    .. 2^30 - 1
//! one count for    1            2              4                  2^22
//! ```
//! Each number is counted with its first eight bits, which is two decimal digits and more, as in
//! HdrHistogram.

use crate::count::Count;

/// Bits of a number that are kept.
const BITS: u32 = 8;
/// Largest number that is counted as itself: about a second.
const LARGEST: u64 = (1 << 30) - 1;
/// Number of counts.
const COUNTS: usize = index_of(LARGEST) + 1;

/// Counts of one thread.
#[derive(Debug)]
pub struct Histogram(Box<[Count]>);

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram((0..COUNTS).map(|_| Count::default()).collect())
    }
}

impl Histogram {
    /// Counts a number. For the owning thread only.
    #[inline]
    pub fn add(&self, number: u64) {
        self.0[index_of(number.min(LARGEST))].add(1);
    }
}

/// Returns the place of a number.
#[inline]
const fn index_of(number: u64) -> usize {
    let bits = u64::BITS - number.leading_zeros();
    let shift = bits.saturating_sub(BITS);
    // What is left of the number has eight bits.
    ((shift as usize) << (BITS - 1)) + ((number >> shift) & 0xff) as usize
}

/// Returns the largest number that has a place.
const fn highest_at(index: usize) -> u64 {
    let half = 1 << (BITS - 1);
    let shift = (index / half).saturating_sub(1);
    let begin = (index - shift * half) as u64;
    ((begin + 1) << shift) - 1
}

/// Counts of several threads, summed.
#[derive(Clone, Debug)]
pub struct Distribution(Vec<u64>);

impl Default for Distribution {
    fn default() -> Distribution {
        Distribution(vec![0; COUNTS])
    }
}

impl Distribution {
    /// Adds the counts of a thread.
    pub fn add(&mut self, histogram: &Histogram) {
        self.0.iter_mut().zip(&histogram.0).for_each(|(sum, count)| *sum += count.get());
    }

    /// Subtracts an earlier state of the same counts.
    pub fn subtract(&mut self, earlier: &Distribution) {
        let pairs = self.0.iter_mut().zip(&earlier.0);
        pairs.for_each(|(sum, before)| *sum = sum.saturating_sub(*before));
    }

    /// Returns the number of all.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns a number that this percentage of all do not exceed; zero if there is none.
    pub fn at_percentile(&self, percentile: f64) -> u64 {
        let total = self.total();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share")]
        let wanted = ((percentile / 100.0 * total as f64 + 0.5) as u64).clamp(1, total.max(1));
        let mut sum = 0;
        let reaches = |count: &u64| {
            sum += count;
            sum >= wanted
        };
        self.0.iter().position(reaches).map_or(0, highest_at)
    }

    /// Returns for each power of two, from 1,024 on, the largest number that is counted with it and
    /// how many there are up to that; only where that is more than before.
    pub fn by_powers(&self) -> Vec<(u64, u64)> {
        let (mut powers, mut at, mut sum) = (Vec::new(), 0, 0);
        for power in 10.. {
            let last = index_of(LARGEST.min(1 << power));
            let before = sum;
            sum += self.0[at..=last].iter().sum::<u64>();
            at = last + 1;
            if sum > before {
                powers.push((highest_at(last), sum));
            }
            if at == COUNTS {
                return powers;
            }
        }
        powers
    }
}

#[cfg(test)]
mod tests {
    use super::{COUNTS, Distribution, Histogram, LARGEST, highest_at, index_of};

    #[test]
    fn places_follow_each_other_without_gaps() {
        let mut next = 0;
        for index in 0..COUNTS {
            let highest = highest_at(index);
            assert_eq!((index_of(next), index_of(highest)), (index, index), "{next}..{highest}");
            // Two digits are kept.
            assert!((highest - next) * 128 <= next.max(1), "{next}..{highest}");
            next = highest + 1;
        }
        assert_eq!(next, LARGEST + 1);
    }

    fn of(numbers: &[u64]) -> Distribution {
        let (histogram, mut distribution) = (Histogram::default(), Distribution::default());
        numbers.iter().for_each(|number| histogram.add(*number));
        distribution.add(&histogram);
        distribution
    }

    #[test]
    fn percentiles_are_numbers_that_so_many_do_not_exceed() {
        let distribution = of(&(1..=200).collect::<Vec<_>>());
        assert_eq!(distribution.at_percentile(50.0), 100);
        assert_eq!(distribution.at_percentile(99.0), 198);
        assert_eq!(distribution.at_percentile(100.0), 200);
        assert_eq!(distribution.at_percentile(0.0), 1);
        assert_eq!(Distribution::default().at_percentile(50.0), 0);
    }

    #[test]
    fn powers_of_two_are_shown_where_something_is_between_them() {
        assert_eq!(
            of(&[5, 900, 1031, 1032, 40_000]).by_powers(),
            [(1031, 3), (2063, 4), (66_047, 5)]
        );
        assert_eq!(of(&[u64::MAX]).by_powers(), [(LARGEST, 1)]);
        assert!(Distribution::default().by_powers().is_empty());
    }
}
