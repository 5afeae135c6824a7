//! Sizes of values.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use anyhow::{Context, Error, Result, ensure};
use rand::RngExt;
use rand::distr::Distribution;
use rand::distr::weighted::WeightedIndex;
use rand::rngs::SmallRng;
use serde::Deserialize;

/// Distribution of the bytes in a value.
///
/// | text | sizes |
/// |---|---|
/// | `16` | one size |
/// | `8-16` | all of the range, equally often |
/// | `16*90,1024-10240*10` | sizes and ranges, each with its weight |
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct Sizes {
    text: String,
    ranges: Vec<RangeInclusive<usize>>,
    weights: WeightedIndex<u32>,
}

impl Sizes {
    pub fn fixed(size: usize) -> Self {
        size.to_string().parse().expect("a number is a size")
    }

    /// Returns the size, if there is only one.
    pub fn only(&self) -> Option<usize> {
        let [range] = &self.ranges[..] else { return None };
        (range.start() == range.end()).then_some(*range.start())
    }

    pub fn mean(&self) -> f64 {
        let bytes = |(range, weight): (&RangeInclusive<usize>, u32)| {
            f64::midpoint(*range.start() as f64, *range.end() as f64) * f64::from(weight)
        };
        let bytes: f64 = self.ranges.iter().zip(self.weights.weights()).map(bytes).sum();
        bytes / f64::from(self.weights.total_weight())
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
        let parsed = parsed.collect::<Result<Vec<_>>>();
        let (ranges, weights): (_, Vec<_>) = parsed
            .with_context(|| format!("value size {text:?}: none of 16, 16-64, 16*9,99*1"))?
            .into_iter()
            .unzip();
        Ok(Self { text: text.to_owned(), ranges, weights: WeightedIndex::new(weights)? })
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

impl TryFrom<String> for Sizes {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.text)
    }
}

/// Most bytes in a value.
const VALUE_BYTES_MAX: usize = 512 << 20;

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    #[test]
    fn means_and_shares_hold() {
        for (text, below, share) in [
            ("7", 8, 1.0),
            ("1-16", 9, 0.5),
            ("16*90,1024*9,65536*1", 1024, 0.9),
            ("8-16*95,1024-10240*5", 17, 0.95),
        ] {
            let (sizes, mut random) = (text.parse::<Sizes>().unwrap(), SmallRng::seed_from_u64(1));
            let drawn: Vec<_> = (0..100_000).map(|_| sizes.draw(&mut random)).collect();
            let mean = drawn.iter().sum::<usize>() as f64 / drawn.len() as f64;
            assert!((mean / sizes.mean() - 1.0).abs() < 0.05, "{text}: {mean}");
            let small = drawn.iter().filter(|size| **size < below).count() as f64 / 1e5;
            assert!((small - share).abs() < 0.01, "{text} below {below}: {small}");
            assert_eq!(sizes.to_string(), text);
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
