//! Histogram of the time that a command takes.
//!
//! ```text
//! nanoseconds   1, 2, .. 255   256, 258, .. 510   512, 516, .. 1020   ...   2^29, 2^29 + 2^22, ..
//! counted to         1                2                  4                        2^22
//! ```
//! Each number is counted with its first eight bits, which is two decimal digits and more, as in
//! HdrHistogram. A float of 32 bits has them side by side: its exponent, and the begin of its
//! mantissa.

use crate::count::Count;
use std::sync::OnceLock;

/// Counts for each power of two.
const PARTS: usize = 128;
/// Largest number that is counted as itself: about a second, and the last before it that a float
/// holds.
const LARGEST: u64 = (1 << 30) - (1 << 6);
/// Powers of two that have counts.
const POWERS: usize = 30;
/// Room for powers of two, itself one, so that a mask keeps the place of a power inside it.
const ROOM: usize = POWERS.next_power_of_two();
/// Number of counts.
const COUNTS: usize = POWERS * PARTS;
/// Bits of a float behind those that count.
const REST: u32 = 16;
/// Place of the number one, if zero stands at the smallest float.
const ONE: u32 = 1_f32.to_bits() >> REST;

/// Counts of one thread. Most commands take similar times, so few powers have counts.
#[derive(Debug)]
pub struct Histogram(Box<[OnceLock<Box<[Count; PARTS]>>; ROOM]>);

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram(Box::new([const { OnceLock::new() }; ROOM]))
    }
}

impl Histogram {
    /// Counts a number. For the owning thread only.
    #[inline]
    pub fn add(&self, number: u64) {
        let index = index_of(number.min(LARGEST));
        let make = || Box::new([const { Count::new() }; PARTS]);
        self.0[index / PARTS % ROOM].get_or_init(make)[index % PARTS].add(1);
    }
}

/// Returns the place of a number up to `LARGEST`; zero stands with one.
#[inline]
fn index_of(number: u64) -> usize {
    let float = number.max(1) as f32;
    ((float.to_bits() >> REST) - ONE) as usize
}

/// Returns the largest number that has a place.
fn highest_at(index: usize) -> u64 {
    let (power, part) = (index / PARTS, index % PARTS);
    // Below 2^7 some places have no number.
    (((PARTS + part + 1) << power).div_ceil(PARTS) - 1) as u64
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
        for (sums, counts) in self.0.chunks_exact_mut(PARTS).zip(histogram.0.iter()) {
            let counts = counts.get().into_iter().flat_map(|counts| counts.iter());
            sums.iter_mut().zip(counts).for_each(|(sum, count)| *sum += count.get());
        }
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
            let last = (power * PARTS).min(COUNTS - 1);
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
    use super::{COUNTS, Distribution, Histogram, highest_at, index_of};

    #[test]
    fn places_follow_each_other_without_gaps() {
        let mut next = 1;
        for index in 0..COUNTS {
            let highest = highest_at(index);
            if highest < next {
                continue;
            }
            // Of more than 24 bits, the last number of a place is rounded into the next one.
            let inside = highest - (highest >> 24);
            assert_eq!((index_of(next), index_of(inside)), (index, index), "{next}..{highest}");
            // Two digits are kept.
            assert!((highest - next) * 128 <= next, "{next}..{highest}");
            next = highest + 1;
        }
        assert_eq!((next, index_of(0)), (1 << 30, index_of(1)));
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
        assert_eq!(of(&[u64::MAX]).by_powers(), [((1 << 30) - 1, 1)]);
        assert!(Distribution::default().by_powers().is_empty());
    }
}
