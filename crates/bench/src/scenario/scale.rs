//! Size of a run: one number by which scenario files can be run small or at full size.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};
use toml::{Table, Value};

/// Fraction of the full size; 1 is the size given in the files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale(f64);

impl Scale {
    pub const FULL: Self = Self(1.0);

    pub fn new(factor: f64) -> Result<Self> {
        let is_sound = (1e-3..=1e3).contains(&factor);
        ensure!(is_sound, "a scale of {factor}: it must be between 0.001 and 1000");
        Ok(Self(factor))
    }

    /// Returns the factor for sizes.
    pub fn factor(self) -> f64 {
        self.0
    }

    /// Returns the parameters of a scenario at this scale. `scaled` has the names of those that
    /// change, in any table of the parameters, with the least that they become. Without being named
    /// change `ms`, the length of a measurement, which is a tenth of a second or more, and
    /// `rounds`, whose median counts, which are three or more if the full size has as many.
    pub fn apply(self, parameters: &Table, scaled: &BTreeMap<String, f64>) -> Table {
        let least = |name: &str| match (scaled.get(name), name) {
            (Some(least), _) => Some(*least),
            (None, "ms") => Some(MS_MIN),
            (None, "rounds") => Some(ROUNDS_MIN),
            (None, _) => None,
        };
        let change = |(name, value): (&String, &Value)| {
            (name.clone(), self.changed(value, least(name), scaled))
        };
        parameters.iter().map(change).collect()
    }

    fn changed(self, value: &Value, least: Option<f64>, all: &BTreeMap<String, f64>) -> Value {
        let scaled = |full: f64, least: f64| (full * self.0).max(least.min(full));
        match (value, least) {
            (Value::Table(table), _) => Value::Table(self.apply(table, all)),
            (Value::Array(array), _) => {
                Value::Array(array.iter().map(|it| self.changed(it, least, all)).collect())
            }
            (Value::Integer(full), Some(least)) => {
                Value::Integer((scaled(*full as f64, least).round() as i64).max(1))
            }
            (Value::Float(full), Some(least)) => Value::Float(scaled(*full, least)),
            (other, _) => other.clone(),
        }
    }
}

/// Least length of a measurement in milliseconds: in a shorter one the start of a load would count.
const MS_MIN: f64 = 100.0;
const ROUNDS_MIN: f64 = 3.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_scale_keeps_what_a_measurement_needs() {
        let scale = Scale::new(0.01).unwrap();
        let text = "keys = 1000\nrecords = [1000, 50]\nrounds = 7\nms = 1000\nturns = 5.0\n\
            threads = 2\nfew = 20\n[[data]]\nkeys = 500\nms = 50\nrounds = 1";
        let least = [("keys", 0.0), ("records", 0.0), ("turns", 2.0), ("few", 0.0)];
        let least = least.map(|(name, least)| (name.to_owned(), least)).into();
        let small = scale.apply(&text.parse().unwrap(), &least);
        let wanted = "keys = 10\nrecords = [10, 1]\nrounds = 3\nms = 100\nturns = 2.0\n\
            threads = 2\nfew = 1\n[[data]]\nkeys = 5\nms = 50\nrounds = 1";
        assert_eq!(small, wanted.parse().unwrap());
        assert!(Scale::new(0.0).is_err() && Scale::new(f64::NAN).is_err());
    }
}
