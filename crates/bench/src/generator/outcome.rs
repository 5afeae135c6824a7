//! What a load measured, and how others see it run.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Error, Result};
use hdrhistogram::Histogram;

use super::schedule::Schedule;
use super::{Lag, Load, Received, Stop, Turn};
use crate::process;
use crate::replies::Replies;

/// View of a running load for other threads, and their means to end it.
#[derive(Debug, Default)]
pub struct Monitor {
    /// Operations answered so far.
    pub operations: AtomicU64,
    /// True from the end of the run on: nothing more is sent, and batches in flight are waited for.
    pub is_halted: AtomicBool,
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
    pub replies: Replies,
    pub first_error: Option<String>,
    /// Delay behind the schedule, for an open loop.
    pub lag: Option<Lag>,
}

impl Default for Outcome {
    /// Creates the result of a run that did nothing.
    fn default() -> Self {
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
}

impl Outcome {
    pub fn latency_us(&self, quantile: f64) -> f64 {
        quantile_us(&self.latencies, quantile)
    }

    pub fn per_second(&self) -> f64 {
        self.operations as f64 / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// Returns the generator's CPU time per operation, in microseconds.
    pub fn client_us(&self) -> f64 {
        self.client_cpu.as_secs_f64() * 1e6 / self.operations.max(1) as f64
    }

    /// Returns the number of errors and the first of them in words, if there are any.
    pub fn refusal(&self) -> Option<String> {
        let (errors, first) = (self.replies.error, self.first_error.as_deref().unwrap_or_default());
        (errors > 0)
            .then(|| format!("the server answered with {errors} errors, the first: {first}"))
    }

    /// Returns it if the server answered nothing with an error.
    pub fn sound(self) -> Result<Self> {
        self.refusal().map_or(Ok(self), |it| Err(Error::msg(it)))
    }

    /// Counts the replies to a batch.
    pub fn record(&mut self, received: &Received<'_>) {
        self.operations += received.replies.total();
        self.replies.add(&received.replies);
        let nanos = |time: Instant| (time - received.since).as_nanos() as u64;
        self.latencies.saturating_record(nanos(received.now));
        self.first_replies.saturating_record(nanos(received.first.max(received.since)));
        if received.replies.error > 0 && self.first_error.is_none() {
            self.first_error = received.first_error.map(str::to_owned);
        }
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

/// Measures a run: determines when something is sent, and collects what is received.
pub struct Meter {
    schedule: Schedule,
    monitor: Arc<Monitor>,
    pub outcome: Outcome,
    pub started: Instant,
    cpu_started: Duration,
    last_received: Instant,
}

impl Meter {
    /// Starts one of the threads of a load, on that thread.
    pub fn start(load: &Load, thread: usize, stop: Stop, monitor: Arc<Monitor>) -> Result<Self> {
        let (started, cpu_started) = (Instant::now(), process::cpu_time_of_this_thread());
        let schedule = Schedule::new(load, thread, started, stop)?;
        let (outcome, last_received) = (Outcome::default(), started);
        Ok(Self { schedule, monitor, outcome, started, cpu_started, last_received })
    }

    /// Decides what is sent now, and counts it as sent.
    pub fn turn(&mut self, now: Instant) -> Result<Turn> {
        let is_over = self.monitor.is_halted.load(Relaxed);
        if is_over { Ok(Turn::Over) } else { self.schedule.turn(now) }
    }

    /// Adds operations that were answered.
    pub fn add(&mut self, operations: u64, now: Instant) {
        self.last_received = now;
        self.monitor.operations.fetch_add(operations, Relaxed);
    }

    /// Returns what was measured.
    pub fn finish(&mut self) -> Outcome {
        Outcome {
            elapsed: self.last_received - self.started,
            client_cpu: process::cpu_time_of_this_thread() - self.cpu_started,
            lag: self.schedule.lag(),
            ..std::mem::take(&mut self.outcome)
        }
    }
}

/// Returns a quantile of times in nanoseconds, in microseconds.
pub fn quantile_us(times: &Histogram<u64>, quantile: f64) -> f64 {
    // The value of a histogram is the upper end of a small range.
    times.value_at_quantile(quantile).min(times.max()) as f64 / 1e3
}

const LATENCY_MAX_NS: u64 = 60_000_000_000;
