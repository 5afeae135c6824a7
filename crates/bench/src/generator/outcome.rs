//! What a load measured, and how others see it run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use hdrhistogram::Histogram;

use super::{Heard, Lag, Replies, Stop};
use crate::process;

/// View of a running load for other threads, and their means to end it.
#[derive(Debug, Default)]
pub struct Monitor {
    operations: AtomicU64,
    is_halted: AtomicBool,
}

impl Monitor {
    /// Returns the number of operations answered so far.
    #[inline]
    pub fn operations(&self) -> u64 {
        self.operations.load(Ordering::Relaxed)
    }

    /// Adds answered operations.
    #[inline]
    pub fn add(&self, operations: u64) {
        self.operations.fetch_add(operations, Ordering::Relaxed);
    }

    /// Ends the run: nothing more is sent, and batches in flight are waited for.
    pub fn halt(&self) {
        self.is_halted.store(true, Ordering::Relaxed);
    }

    /// Returns true if the run is to end.
    #[inline]
    pub fn is_halted(&self) -> bool {
        self.is_halted.load(Ordering::Relaxed)
    }
}

/// Result of a load.
#[derive(Debug)]
pub struct Outcome {
    /// Operations answered, errors included.
    pub operations: u64,
    /// Time from the first request to the last reply.
    pub elapsed: Duration,
    /// Latency of each batch, in nanoseconds.
    pub latencies: Histogram<u64>,
    /// Time from the sending of each batch to the first bytes of its replies, in nanoseconds.
    pub first_replies: Histogram<u64>,
    /// CPU time of the generator itself.
    pub client_cpu: Duration,
    /// Replies by kind.
    pub replies: Replies,
    /// Text of the first error reply.
    pub first_error: Option<String>,
    /// Delay behind the schedule, for an open loop.
    pub lag: Option<Lag>,
}

impl Outcome {
    /// Creates the result of a run that did nothing.
    ///
    /// # Panics
    /// Never: the bounds of the histogram are sound.
    #[must_use]
    pub fn empty() -> Self {
        let times = || Histogram::new_with_bounds(1, LATENCY_MAX_NS, 3).expect("sound bounds");
        Self {
            operations: 0,
            elapsed: Duration::ZERO,
            latencies: times(),
            first_replies: times(),
            client_cpu: Duration::ZERO,
            replies: Replies::default(),
            first_error: None,
            lag: None,
        }
    }

    /// Returns a quantile of the latencies, in microseconds.
    pub fn latency_us(&self, quantile: f64) -> f64 {
        quantile_us(&self.latencies, quantile)
    }

    /// Returns the longest latency in milliseconds.
    pub fn longest_ms(&self) -> f64 {
        self.latencies.max() as f64 / 1e6
    }

    /// Returns operations per second.
    pub fn per_second(&self) -> f64 {
        self.operations as f64 / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// Returns the generator's CPU time per operation, in microseconds.
    pub fn client_us(&self) -> f64 {
        self.client_cpu.as_secs_f64() * 1e6 / self.operations.max(1) as f64
    }

    /// Returns it if the server answered nothing with an error.
    pub fn sound(self) -> Result<Self> {
        let errors = self.replies.error;
        let first = self.first_error.as_deref().unwrap_or_default();
        ensure!(errors == 0, "{errors} errors, the first: {first}");
        Ok(self)
    }

    /// Adds the result of another thread that ran at the same time.
    pub fn merge(&mut self, other: Self) -> Result<()> {
        self.operations += other.operations;
        self.elapsed = self.elapsed.max(other.elapsed);
        self.latencies.add(other.latencies)?;
        self.first_replies.add(other.first_replies)?;
        self.client_cpu += other.client_cpu;
        self.replies.add(&other.replies);
        self.first_error = self.first_error.take().or(other.first_error);
        if let Some(lag) = other.lag {
            self.lag.get_or_insert_default().merge(&lag);
        }
        Ok(())
    }
}

/// Returns a quantile of times in nanoseconds, in microseconds.
pub fn quantile_us(times: &Histogram<u64>, quantile: f64) -> f64 {
    // The value of a histogram is the upper end of a small range.
    times.value_at_quantile(quantile).min(times.max()) as f64 / 1e3
}

/// Counts and latencies of a run so far.
pub struct Tally {
    outcome: Outcome,
    stop: Stop,
    monitor: Arc<Monitor>,
    started: Instant,
    cpu_started: Duration,
    now: Instant,
    sent: u64,
}

impl Tally {
    /// Starts to count, on the thread that runs the load.
    pub fn start(stop: Stop, monitor: Arc<Monitor>) -> Self {
        let (now, cpu_started) = (Instant::now(), process::cpu_time_of_this_thread());
        Self { outcome: Outcome::empty(), stop, monitor, started: now, cpu_started, now, sent: 0 }
    }

    /// Returns true if the run is to end.
    pub fn is_halted(&self) -> bool {
        self.monitor.is_halted()
    }

    /// Returns the number of operations of a batch that may still be sent, and counts them as sent.
    #[inline]
    pub fn allowance(&mut self, pipeline: usize) -> usize {
        let count = match self.stop {
            _ if self.monitor.is_halted() => 0,
            Stop::After(time) if self.now - self.started >= time => 0,
            Stop::After(_) => pipeline as u64,
            Stop::Operations(limit) => (limit - self.sent).min(pipeline as u64),
        };
        self.sent += count;
        count as usize
    }

    /// Counts the replies to a batch.
    #[inline]
    pub fn record(&mut self, heard: &Heard<'_>) {
        self.now = heard.now;
        self.outcome.replies.add(&heard.replies);
        self.monitor.add(heard.replies.total());
        let nanos = |time: Instant| (time - heard.since).as_nanos() as u64;
        self.outcome.latencies.saturating_record(nanos(heard.now));
        self.outcome.first_replies.saturating_record(nanos(heard.first.max(heard.since)));
        if heard.replies.error > 0 && self.outcome.first_error.is_none() {
            self.outcome.first_error = heard.first_error.map(str::to_owned);
        }
    }

    /// Returns what was counted.
    pub fn finish(self, lag: Option<Lag>) -> Outcome {
        Outcome {
            operations: self.outcome.replies.total(),
            elapsed: self.now - self.started,
            client_cpu: process::cpu_time_of_this_thread() - self.cpu_started,
            lag,
            ..self.outcome
        }
    }
}

const LATENCY_MAX_NS: u64 = 60_000_000_000;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Outcome;

    #[test]
    fn outcomes_of_threads_add_up() {
        let outcome = |operations, seconds, latency, error: Option<&str>| {
            let mut outcome = Outcome::empty();
            (outcome.operations, outcome.replies.bulk) = (operations, operations);
            outcome.elapsed = Duration::from_secs(seconds);
            outcome.client_cpu = outcome.elapsed;
            outcome.first_error = error.map(str::to_owned);
            outcome.latencies.record_n(latency, operations).unwrap();
            outcome
        };
        let mut all = Outcome::empty();
        all.merge(outcome(30, 2, 1000, None)).unwrap();
        all.merge(outcome(10, 3, 9000, Some("OOM"))).unwrap();
        assert_eq!((all.operations, all.replies.bulk), (40, 40));
        assert_eq!((all.elapsed.as_secs(), all.client_cpu.as_secs()), (3, 5));
        assert_eq!(all.first_error.as_deref(), Some("OOM"));
        assert!((all.latency_us(0.75) - 1.0).abs() < 0.01);
        assert!((all.latency_us(0.76) - 9.0).abs() < 0.01);
    }
}
