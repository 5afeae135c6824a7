//! Result of a run.

use std::time::Duration;

use anyhow::{Error, Result};
use hdrhistogram::Histogram;

use super::lag::Lag;
use super::replies::Replies;

/// Result of a run.
pub struct Outcome {
    /// Operations answered, errors included.
    pub operations: u64,
    /// Time from the first request to the last reply.
    pub elapsed: Duration,
    /// Round-trip time of each batch, in nanoseconds.
    pub round_trips: Histogram<u64>,
    /// Time from the sending of each batch to the first bytes of its replies, in nanoseconds.
    pub first_replies: Histogram<u64>,
    /// CPU time of the generator itself.
    pub generator_cpu: Duration,
    /// Replies by kind.
    pub replies: Replies,
    /// Text of the first error reply.
    pub first_error: Option<String>,
}

/// A run that was finished, or that ended early with its measurements up to then.
pub struct Ended {
    /// Measurements.
    pub outcome: Outcome,
    /// Delay behind the schedule, for an open loop.
    pub lag: Option<Lag>,
    /// Reason for an early end.
    pub failure: Option<Error>,
}

impl Outcome {
    /// Creates the result of a run that did nothing.
    ///
    /// # Errors
    /// Never, as long as the bounds of the histogram are sound.
    pub fn empty() -> Result<Self> {
        Ok(Self {
            operations: 0,
            elapsed: Duration::ZERO,
            round_trips: empty_histogram()?,
            first_replies: empty_histogram()?,
            generator_cpu: Duration::ZERO,
            replies: Replies::default(),
            first_error: None,
        })
    }

    /// Returns a quantile of the round-trip times, in microseconds.
    pub fn round_trip_us(&self, quantile: f64) -> f64 {
        self.round_trips.value_at_quantile(quantile) as f64 / 1000.0
    }

    /// Returns a quantile of the times to the first reply of a batch, in microseconds.
    pub fn first_reply_us(&self, quantile: f64) -> f64 {
        self.first_replies.value_at_quantile(quantile) as f64 / 1000.0
    }

    /// Returns operations per second.
    pub fn operations_per_second(&self) -> f64 {
        self.operations as f64 / self.elapsed.as_secs_f64()
    }

    /// Returns the generator's CPU time per operation, in microseconds.
    pub fn generator_us_per_operation(&self) -> f64 {
        self.generator_cpu.as_secs_f64() * 1e6 / self.operations.max(1) as f64
    }

    /// Adds the result of another thread that ran at the same time.
    ///
    /// # Errors
    /// Never, as long as all histograms have the same bounds.
    pub fn merge(&mut self, other: &Self) -> Result<()> {
        self.operations += other.operations;
        self.elapsed = self.elapsed.max(other.elapsed);
        self.round_trips.add(&other.round_trips)?;
        self.first_replies.add(&other.first_replies)?;
        self.generator_cpu += other.generator_cpu;
        self.replies.add(&other.replies);
        if self.first_error.is_none() {
            self.first_error.clone_from(&other.first_error);
        }
        Ok(())
    }
}

pub(super) fn empty_histogram() -> Result<Histogram<u64>> {
    Ok(Histogram::new_with_bounds(1, ROUND_TRIP_MAX_NS, 3)?)
}

const ROUND_TRIP_MAX_NS: u64 = 60_000_000_000;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Outcome;

    #[test]
    fn outcomes_of_threads_add_up() {
        let outcome = |operations, seconds, round_trip, error: Option<&str>| {
            let mut outcome = Outcome::empty().unwrap();
            outcome.operations = operations;
            outcome.replies.bulk = operations;
            outcome.elapsed = Duration::from_secs(seconds);
            outcome.generator_cpu = Duration::from_secs(seconds);
            outcome.first_error = error.map(str::to_owned);
            outcome.round_trips.record_n(round_trip, operations).unwrap();
            outcome
        };
        let mut all = Outcome::empty().unwrap();
        all.merge(&outcome(30, 2, 1000, None)).unwrap();
        all.merge(&outcome(10, 3, 9000, Some("OOM"))).unwrap();
        assert_eq!((all.operations, all.replies.bulk), (40, 40));
        assert_eq!(
            (all.elapsed, all.generator_cpu),
            (Duration::from_secs(3), Duration::from_secs(5))
        );
        assert_eq!(all.first_error.as_deref(), Some("OOM"));
        assert!((all.round_trip_us(0.75) - 1.0).abs() < 0.01);
        assert!((all.round_trip_us(0.76) - 9.0).abs() < 0.01);
    }
}
