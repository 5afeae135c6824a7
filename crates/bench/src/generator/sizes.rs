//! Sizes of values.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use anyhow::{Context, Error, Result, ensure};
use rand::RngExt;
use rand::rngs::SmallRng;
use serde::{Deserialize, Serialize};

/// Distribution of the bytes in a value.
///
/// | text | sizes |
/// |---|---|
/// | `16` | one size |
/// | `8-16` | all of the range, equally often |
/// | `16*90,1024-10240*10` | sizes and ranges, each with its weight |
/// | `exp:1000` | exponentially distributed with this mean: many short values and few long ones |
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub struct Sizes {
    text: String,
    form: Form,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    Weighted(Vec<(RangeInclusive<usize>, u32)>),
    Exponential { mean: usize },
}

impl From<Sizes> for String {
    fn from(sizes: Sizes) -> Self {
        sizes.text
    }
}

impl Sizes {
    /// Creates one size.
    #[must_use]
    pub fn fixed(size: usize) -> Self {
        Self { text: size.to_string(), form: Form::Weighted(vec![(size..=size, 1)]) }
    }

    /// Returns the size, if there is only one.
    #[must_use]
    pub fn only(&self) -> Option<usize> {
        match &self.form {
            Form::Weighted(list) => match &list[..] {
                [(range, _)] if range.start() == range.end() => Some(*range.start()),
                _ => None,
            },
            Form::Exponential { .. } => None,
        }
    }

    /// Returns the mean in bytes.
    #[must_use]
    pub fn mean(&self) -> f64 {
        match &self.form {
            Form::Exponential { mean } => *mean as f64,
            Form::Weighted(list) => {
                let bytes = |(range, weight): &(RangeInclusive<usize>, u32)| {
                    f64::midpoint(*range.start() as f64, *range.end() as f64) * f64::from(*weight)
                };
                list.iter().map(bytes).sum::<f64>() / f64::from(total(list))
            }
        }
    }

    /// Draws a size.
    #[inline]
    pub fn draw(&self, random: &mut SmallRng) -> usize {
        match &self.form {
            Form::Exponential { mean } => {
                let size = -(1.0 - random.random::<f64>()).ln() * *mean as f64;
                size.round().min(VALUE_BYTES_MAX as f64) as usize
            }
            Form::Weighted(list) if list.len() == 1 => in_range(&list[0].0, random),
            Form::Weighted(list) => {
                let mut place = random.random_range(0..total(list));
                let is_here = |(_, weight): &&(RangeInclusive<usize>, u32)| {
                    let is_here = place < *weight;
                    place = place.saturating_sub(*weight);
                    is_here
                };
                list.iter().find(is_here).map_or(0, |(range, _)| in_range(range, random))
            }
        }
    }
}

#[inline]
fn in_range(range: &RangeInclusive<usize>, random: &mut SmallRng) -> usize {
    match range.start() == range.end() {
        true => *range.start(),
        false => random.random_range(range.clone()),
    }
}

fn total(list: &[(RangeInclusive<usize>, u32)]) -> u32 {
    list.iter().map(|(_, weight)| weight).sum()
}

impl FromStr for Sizes {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let form = parse(text).with_context(|| {
            format!("value size {text:?}: none of 16, 16-64, exp:1000, 16*9,99*1")
        })?;
        Ok(Self { text: text.to_owned(), form })
    }
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

fn parse(text: &str) -> Result<Form> {
    if let Some(mean) = text.strip_prefix("exp:") {
        return Ok(Form::Exponential { mean: bytes(mean)? });
    }
    let is_weighted = text.contains(['*', ',']);
    let entry = |entry: &str| -> Result<_> {
        let (sizes, weight) = match entry.split_once('*') {
            Some((sizes, weight)) => (sizes, weight.parse()?),
            None => (entry, 1),
        };
        ensure!(weight > 0 && entry.contains('*') == is_weighted, "sizes need weights");
        let (least, most) = sizes.split_once('-').unwrap_or((sizes, sizes));
        let (least, most) = (bytes(least)?, bytes(most)?);
        ensure!(least <= most, "an empty range");
        Ok((least..=most, weight))
    };
    let list: Vec<_> = text.split(',').map(entry).collect::<Result<_>>()?;
    let weight: u64 = list.iter().map(|(_, weight)| u64::from(*weight)).sum();
    ensure!(u32::try_from(weight).is_ok(), "weights of {weight} together");
    Ok(Form::Weighted(list))
}

fn bytes(text: &str) -> Result<usize> {
    let size = text.parse()?;
    ensure!(size <= VALUE_BYTES_MAX, "at most {VALUE_BYTES_MAX} bytes");
    Ok(size)
}

/// Most bytes in a value.
pub(super) const VALUE_BYTES_MAX: usize = 512 << 20;

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    fn sizes(text: &str) -> Vec<usize> {
        let (sizes, mut random) = (text.parse::<Sizes>().unwrap(), SmallRng::seed_from_u64(1));
        (0..100_000).map(|_| sizes.draw(&mut random)).collect()
    }

    #[test]
    fn means_hold() {
        for text in ["7", "100-300", "exp:1000", "16*90,1024*9,65536*1", "8-16*95,1024-10240*5"] {
            let (sizes, wanted) = (sizes(text), text.parse::<Sizes>().unwrap().mean());
            let mean = sizes.iter().sum::<usize>() as f64 / sizes.len() as f64;
            assert!((mean / wanted - 1.0).abs() < 0.05, "{text}: {mean} for {wanted}");
        }
    }

    #[test]
    fn shares_hold() {
        let share = |text: &str, below: usize| {
            sizes(text).iter().filter(|size| **size < below).count() as f64 / 1e5
        };
        for (text, below, wanted) in [
            ("8-16*95,1024-10240*5", 1024, 0.95),
            ("1-16", 9, 0.5),
            ("exp:1000", 1000, 0.632),
            ("exp:1000", 3000, 0.950),
        ] {
            let share = share(text, below);
            assert!((share - wanted).abs() < 0.01, "{text} below {below}: {share}");
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "",
            "x",
            "16-",
            "64-16",
            "exp:",
            "exp:x",
            "16*",
            "16*0",
            "16,32",
            "16*1,",
            "536870913",
            "1-536870913",
            "16*4294967295,32*1",
        ] {
            assert!(text.parse::<Sizes>().is_err(), "{text:?}");
        }
        assert_eq!("16*90,1024*10".parse::<Sizes>().unwrap().to_string(), "16*90,1024*10");
    }
}
