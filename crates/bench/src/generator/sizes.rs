//! Sizes of values.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use anyhow::{Context, Error, Result, ensure};
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;

/// Bytes in the value of a SET.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueSize {
    /// One size.
    Fixed(usize),
    /// All sizes of the range with equal probability.
    Uniform(RangeInclusive<usize>),
    /// Exponentially distributed sizes: many short values and few long ones.
    Exponential {
        /// Mean in bytes.
        mean: usize,
    },
    /// Given sizes, each with its weight.
    Weighted(Vec<(usize, u32)>),
}

impl ValueSize {
    /// Returns the mean in bytes.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Fixed(size) | Self::Exponential { mean: size } => *size as f64,
            Self::Uniform(range) => f64::midpoint(*range.start() as f64, *range.end() as f64),
            Self::Weighted(list) => {
                let bytes = |(size, weight): &(usize, u32)| *size as f64 * f64::from(*weight);
                list.iter().map(bytes).sum::<f64>() / total_weight(list) as f64
            }
        }
    }

    /// Refuses sizes that no value can have.
    ///
    /// # Errors
    /// If a range or a list is empty, a weight is zero or vanishes beside the others, or a size is
    /// above [`VALUE_BYTES_MAX`].
    pub fn check(&self) -> Result<()> {
        let largest = match self {
            Self::Fixed(size) | Self::Exponential { mean: size } => *size,
            Self::Uniform(range) => {
                ensure!(!range.is_empty(), "the range of value sizes is empty");
                *range.end()
            }
            Self::Weighted(list) => {
                let least = list.iter().map(|(_, weight)| u64::from(*weight)).min();
                let least = least.context("the list of value sizes is empty")?;
                ensure!(least > 0, "a weight of zero in the list of value sizes");
                ensure!(
                    total_weight(list) / least <= WEIGHT_RATIO_MAX,
                    "a value size of less than one in {WEIGHT_RATIO_MAX} would never be met"
                );
                list.iter().map(|(size, _)| *size).max().unwrap_or(0)
            }
        };
        ensure!(largest <= VALUE_BYTES_MAX, "value sizes: at most {VALUE_BYTES_MAX} bytes");
        Ok(())
    }

    /// Returns the number of variants of `requests` requests with `sets` values that are prepared,
    /// so that sizes come in their shares as nearly as bounded memory allows.
    pub(super) fn variants(&self, sets: usize, requests: usize) -> usize {
        if sets == 0 || matches!(self, Self::Fixed(_)) {
            return 1;
        }
        let rarest = 4 * self.one_in() as usize;
        let wanted = (SIZES_DRAWN / requests).max(rarest.div_ceil(sets));
        let bytes = sets as f64 * self.mean() + (requests * REQUEST_BYTES) as f64;
        let in_memory = (PREPARED_BYTES_WANTED as f64 / bytes) as usize;
        wanted.min(in_memory).max(2)
    }

    /// Returns n where the rarest size of a list is that of one value in n; zero without a list.
    fn one_in(&self) -> u64 {
        let Self::Weighted(list) = self else { return 0 };
        let least = list.iter().map(|(_, weight)| u64::from(*weight)).min().unwrap_or(1);
        total_weight(list).div_ceil(least.max(1))
    }

    /// Refuses values that cannot be prepared in bounded memory.
    ///
    /// # Errors
    /// If they take more than [`PREPARED_BYTES_MAX`], or are too few for the rarest size.
    pub(super) fn check_prepared(&self, sizes: &[usize]) -> Result<()> {
        let bytes: usize = sizes.iter().sum();
        ensure!(
            bytes <= PREPARED_BYTES_MAX,
            "values of {self} bytes take {} MiB before they are sent, more than {}",
            bytes >> 20,
            PREPARED_BYTES_MAX >> 20
        );
        ensure!(
            sizes.is_empty() || sizes.len() as u64 >= self.one_in(),
            "values of {self} bytes: {} fit into memory before they are sent, too few for 1 in {}",
            sizes.len(),
            self.one_in()
        );
        Ok(())
    }

    /// Returns `count` sizes in random order. Each stands for an equal part of the distribution, so
    /// that shares and mean are as exact as `count` allows.
    pub(super) fn spread(&self, count: usize, random: &mut SmallRng) -> Vec<usize> {
        let place = |index: usize| (index as f64 + 0.5) / count as f64;
        let mut sizes: Vec<_> = (0..count).map(|index| self.at(place(index))).collect();
        sizes.shuffle(random);
        sizes
    }

    /// Returns the quantile of the sizes at `place`, 0 to 1.
    fn at(&self, place: f64) -> usize {
        match self {
            Self::Fixed(size) => *size,
            Self::Uniform(range) => {
                let sizes = (range.end() - range.start() + 1) as f64;
                (range.start() + (place * sizes) as usize).min(*range.end())
            }
            Self::Exponential { mean } => {
                (-(1.0 - place).ln() * *mean as f64).round().min(VALUE_BYTES_MAX as f64) as usize
            }
            Self::Weighted(list) => {
                let mut left = place * total_weight(list) as f64;
                let is_here = |entry: &&(usize, u32)| {
                    left -= f64::from(entry.1);
                    left < 0.0
                };
                list.iter().find(is_here).or(list.last()).map_or(0, |(size, _)| *size)
            }
        }
    }
}

/// Text form: `16`, `16-64`, `exp:1000`, or sizes with their weights: `16*90,1024*9,65536*1`.
impl FromStr for ValueSize {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let size = parse(text).with_context(|| {
            format!("value size {text:?}: neither 16 nor 16-64, exp:1000 or 16*90,1024*10")
        })?;
        size.check()?;
        Ok(size)
    }
}

impl fmt::Display for ValueSize {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(size) => write!(to, "{size}"),
            Self::Uniform(range) => write!(to, "{}-{}", range.start(), range.end()),
            Self::Exponential { mean } => write!(to, "exp:{mean}"),
            Self::Weighted(list) => {
                let entries = list.iter().map(|(size, weight)| format!("{size}*{weight}"));
                to.write_str(&entries.collect::<Vec<_>>().join(","))
            }
        }
    }
}

fn parse(text: &str) -> Result<ValueSize> {
    if let Some(mean) = text.strip_prefix("exp:") {
        return Ok(ValueSize::Exponential { mean: mean.parse()? });
    }
    if text.contains(['*', ',']) {
        let entry = |entry: &str| -> Result<(usize, u32)> {
            let (size, weight) = entry.split_once('*').context("a size without a weight")?;
            Ok((size.parse()?, weight.parse()?))
        };
        return Ok(ValueSize::Weighted(text.split(',').map(entry).collect::<Result<_>>()?));
    }
    match text.split_once('-') {
        Some((least, most)) => Ok(ValueSize::Uniform(least.parse()?..=most.parse()?)),
        None => Ok(ValueSize::Fixed(text.parse()?)),
    }
}

fn total_weight(list: &[(usize, u32)]) -> u64 {
    list.iter().map(|(_, weight)| u64::from(*weight)).sum()
}

/// Most bytes in a value.
pub const VALUE_BYTES_MAX: usize = 512 << 20;
const SIZES_DRAWN: usize = 4096;
const WEIGHT_RATIO_MAX: u64 = 1 << 18;
/// Wanted limit for the bytes of all prepared batches of a run; with fewer batches the sizes are
/// less exact.
const PREPARED_BYTES_WANTED: usize = 256 << 20;
/// Most bytes in prepared values. It has room for a few of the largest.
const PREPARED_BYTES_MAX: usize = 1 << 30;
/// Estimate of the bytes of a request without its value, where each request is a batch of its own.
const REQUEST_BYTES: usize = 128;

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand::rngs::SmallRng;

    use super::{VALUE_BYTES_MAX, ValueSize};

    fn sizes(text: &str, seed: u64) -> Vec<usize> {
        let size: ValueSize = text.parse().unwrap();
        let count = size.variants(16, 16) * 16;
        size.spread(count, &mut SmallRng::seed_from_u64(seed))
    }

    fn mean(sizes: &[usize]) -> f64 {
        sizes.iter().sum::<usize>() as f64 / sizes.len() as f64
    }

    #[test]
    fn means_hold() {
        for text in ["100-300", "exp:1000", "exp:100000", "16*90,1024*9,65536*1"] {
            let wanted = text.parse::<ValueSize>().unwrap().mean();
            let mean = mean(&sizes(text, 1));
            assert!((mean / wanted - 1.0).abs() < 0.01, "{text}: {mean} for {wanted}");
        }
    }

    #[test]
    fn one_value_of_the_largest_size_can_be_prepared_but_not_a_pipeline_of_them() {
        let largest = ValueSize::Fixed(VALUE_BYTES_MAX);
        assert_eq!(largest.variants(1, 1), 1);
        assert!(largest.check_prepared(&[VALUE_BYTES_MAX]).is_ok());
        assert!(largest.check_prepared(&[VALUE_BYTES_MAX; 16]).is_err());
    }

    #[test]
    fn weights_become_shares() {
        for text in ["16*90,1024*9,65536*1", "16*99999,1024*1"] {
            let ValueSize::Weighted(list) = text.parse().unwrap() else { panic!("{text}") };
            let sizes = sizes(text, 1);
            let total: u32 = list.iter().map(|(_, weight)| weight).sum();
            for (size, weight) in list {
                let seen = sizes.iter().filter(|seen| **seen == size).count() as f64;
                let wanted = f64::from(weight) / f64::from(total) * sizes.len() as f64;
                assert!((seen - wanted).abs() <= 1.0, "{size}: {seen} for {wanted}");
            }
        }
    }

    #[test]
    fn an_exponential_size_is_below_its_mean_as_often_as_it_should_be() {
        let sizes = sizes("exp:1000", 1);
        for (bytes, share) in [(1000, 0.632), (3000, 0.950), (693, 0.5)] {
            let below = sizes.iter().filter(|size| **size < bytes).count() as f64;
            assert!((below / sizes.len() as f64 - share).abs() < 0.01, "below {bytes}");
        }
    }

    #[test]
    fn all_sizes_of_a_range_come_equally_often() {
        let sizes = sizes("1-16", 1);
        for size in 1..=16 {
            let seen = sizes.iter().filter(|seen| **seen == size).count();
            assert_eq!(seen, sizes.len() / 16, "{size}");
        }
    }

    #[test]
    fn the_seed_decides_the_order() {
        assert_eq!(sizes("exp:100", 1), sizes("exp:100", 1));
        assert_ne!(sizes("exp:100", 1), sizes("exp:100", 2));
    }

    #[test]
    fn a_size_is_written_as_it_is_read() {
        for text in ["16", "16-64", "exp:1000", "16*90,1024*10"] {
            assert_eq!(text.parse::<ValueSize>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "x", "16-", "64-16", "exp:", "exp:x", "16*", "16*0", "16,32", "16*1,"] {
            assert!(text.parse::<ValueSize>().is_err(), "{text:?}");
        }
        for text in ["536870913", "1-536870913", "16*4294967295,32*1"] {
            assert!(text.parse::<ValueSize>().is_err(), "{text:?}");
        }
    }
}
