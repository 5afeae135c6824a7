//! Sizes of values.

use std::ops::RangeInclusive;
use std::str::FromStr;

use anyhow::{Context, Error, Result, ensure};
use rand::RngExt;
use rand::distr::Distribution;
use rand::distr::weighted::WeightedIndex;
use rand::rngs::SmallRng;

/// Distribution of the bytes in a value.
///
/// | text | sizes |
/// |---|---|
/// | `16` | one size |
/// | `8-16` | all of the range, equally often |
/// | `16*90,1024-10240*10` | sizes and ranges, each with its weight |
#[derive(Clone, Debug, PartialEq)]
pub struct Sizes {
    ranges: Vec<RangeInclusive<usize>>,
    weights: WeightedIndex<u32>,
}

impl Sizes {
    /// Returns the size, if there is only one.
    pub fn only(&self) -> Option<usize> {
        let [range] = &self.ranges[..] else { return None };
        (range.start() == range.end()).then_some(*range.start())
    }

    pub fn draw(&self, random: &mut SmallRng) -> usize {
        if let Some(size) = self.only() {
            return size;
        }
        let at = if self.ranges.len() == 1 { 0 } else { self.weights.sample(random) };
        random.random_range(self.ranges[at].clone())
    }
}

impl FromStr for Sizes {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let is_weighted = text.contains(['*', ',']);
        let parsed = text.split(',').map(|entry| parse(entry, is_weighted));
        let parsed = parsed.collect::<Result<(_, Vec<_>)>>();
        let (ranges, weights) =
            parsed.with_context(|| format!("value size {text:?}: none of 16, 16-64, 16*9,99*1"))?;
        Ok(Self { ranges, weights: WeightedIndex::new(weights)? })
    }
}

fn parse(entry: &str, is_weighted: bool) -> Result<(RangeInclusive<usize>, u32)> {
    let (sizes, weight) = match entry.split_once('*') {
        Some((sizes, weight)) => (sizes, weight.parse()?),
        None => (entry, 1),
    };
    ensure!(weight > 0 && entry.contains('*') == is_weighted, "sizes need weights");
    let (least, most) = sizes.split_once('-').unwrap_or((sizes, sizes));
    let (least, most) = (least.parse()?, most.parse()?);
    ensure!(least <= most && most <= VALUE_BYTES_MAX, "0 to {VALUE_BYTES_MAX} bytes, in order");
    Ok((least..=most, weight))
}

/// Most bytes in a value.
const VALUE_BYTES_MAX: usize = 512 << 20;

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn means_and_shares_hold() {
        for (text, mean, below, share) in [
            ("7", 7.0, 8, 1.0),
            ("1-16", 8.5, 9, 0.5),
            ("16*90,1024*9,65536*1", 761.92, 1024, 0.9),
            ("8-16*95,1024-10240*5", 293.0, 17, 0.95),
        ] {
            let (sizes, mut random) = (text.parse::<Sizes>().unwrap(), SmallRng::seed_from_u64(1));
            let drawn: Vec<_> = (0..100_000).map(|_| sizes.draw(&mut random)).collect();
            let drawn_mean = drawn.iter().sum::<usize>() as f64 / drawn.len() as f64;
            assert!((drawn_mean / mean - 1.0).abs() < 0.05, "{text}: {drawn_mean}");
            let small = drawn.iter().filter(|size| **size < below).count() as f64 / 1e5;
            assert!((small - share).abs() < 0.01, "{text} below {below}: {small}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        let text = " x 16- 64-16 16* 16*0 16,32 16*1, 536870913 1-536870913 16*4294967295,32*1";
        for text in text.split(' ') {
            assert!(text.parse::<Sizes>().is_err(), "{text:?}");
        }
    }
}
