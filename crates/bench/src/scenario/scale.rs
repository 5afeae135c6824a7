//! Size of a run: one number by which scenario files can be run small or at full size.

use std::time::Duration;

use anyhow::{Result, bail};
use serde::{Deserialize, Deserializer};

/// Fraction of the full size; 1 is the size given in the files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale(f64);

impl Scale {
    /// Full size.
    pub const FULL: Self = Self(1.0);

    /// Creates a scale.
    ///
    /// # Errors
    /// If it is not between one thousandth and one thousand.
    pub fn new(factor: f64) -> Result<Self> {
        if !(1e-3..=1e3).contains(&factor) {
            bail!("a scale of {factor}: it must be between 0.001 and 1000");
        }
        Ok(Self(factor))
    }

    /// Returns the factor for sizes.
    pub fn factor(self) -> f64 {
        self.0
    }

    /// Scales a number of things or bytes; at least one.
    pub fn of(self, count: u64) -> u64 {
        ((count as f64 * self.0).round() as u64).max(1)
    }

    /// Scales the length of one measurement; below a tenth of a second the start of a load would
    /// count.
    pub fn time(self, time: Duration) -> Duration {
        time.mul_f64(self.0).max(time.min(MEASURE_MIN))
    }

    /// Scales the number of rounds, whose median counts: three or more if the full size has as
    /// many.
    pub fn rounds(self, rounds: usize) -> usize {
        let scaled = (rounds as f64 * self.0).round() as usize;
        scaled.max(rounds.min(ROUNDS_MIN))
    }
}

impl Default for Scale {
    fn default() -> Self {
        Self::FULL
    }
}

/// Reads a duration that a file gives in milliseconds.
pub fn milliseconds<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    u64::deserialize(from).map(Duration::from_millis)
}

/// Reads a duration that a file gives in seconds.
pub fn seconds<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    u64::deserialize(from).map(Duration::from_secs)
}

const MEASURE_MIN: Duration = Duration::from_millis(100);
const ROUNDS_MIN: usize = 3;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Scale;

    #[test]
    fn a_small_scale_keeps_what_a_measurement_needs() {
        let scale = Scale::new(0.01).unwrap();
        assert_eq!(scale.of(1_000_000), 10_000);
        assert_eq!((scale.of(20), scale.rounds(7), scale.rounds(1)), (1, 3, 1));
        assert_eq!(scale.time(Duration::from_secs(1)), Duration::from_millis(100));
        assert!(Scale::new(0.0).is_err() && Scale::new(f64::NAN).is_err());
    }
}
