//! Results of the operations of all clients.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::time::{Duration, Instant};

use anyhow::{Error, Result};
use hdrhistogram::Histogram;

use super::connector::Status;
use super::workload::Kind;
use crate::generator::Lag;

/// Results of the operations of one kind. Times are in nanoseconds.
#[derive(Clone, Debug)]
pub struct Tally {
    /// Latencies of successful operations.
    pub latencies: Histogram<u64>,
    /// Latencies of failed operations.
    pub failed: Histogram<u64>,
    /// Number of operations by status.
    pub statuses: BTreeMap<Status, u64>,
}

/// Results of all operations.
#[derive(Debug)]
pub struct Measured {
    /// Results by kind; reads and updates that are parts of others are included.
    pub tallies: BTreeMap<Kind, Tally>,
    /// Latencies of successful operations that are no part of others, in nanoseconds.
    pub latencies: Histogram<u64>,
    /// Operations that are no part of others.
    pub operations: u64,
    /// Failed operations among them, including those that the connector does not support.
    pub failures: u64,
    /// Time from the first request to the last reply.
    pub elapsed: Duration,
    /// User and system time of the clients' thread.
    pub client_cpu: Duration,
    /// Delay of the clients behind their target, if they had one.
    pub lag: Option<Lag>,
    /// An error reply of the server, if there was one.
    pub error: Option<String>,
    /// Reason for an early end, if it ended early; the other fields were measured before.
    pub failure: Option<Error>,
}

impl Measured {
    pub(super) fn new() -> Result<Self> {
        Ok(Self {
            tallies: BTreeMap::new(),
            latencies: histogram()?,
            operations: 0,
            failures: 0,
            elapsed: Duration::ZERO,
            client_cpu: Duration::ZERO,
            lag: None,
            error: None,
            failure: None,
        })
    }

    /// Returns operations per second.
    pub fn throughput(&self) -> f64 {
        self.operations as f64 / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// Returns the CPU time of the clients' thread per operation, in microseconds.
    pub fn client_us(&self) -> f64 {
        self.client_cpu.as_secs_f64() * 1e6 / self.operations.max(1) as f64
    }

    /// Returns a quantile of [`Measured::latencies`], in microseconds.
    pub fn latency_us(&self, quantile: f64) -> f64 {
        us(&self.latencies, quantile)
    }

    /// Returns a quantile of the latencies of some kinds, in microseconds; absent if there were
    /// none.
    pub fn latency_of_us(&self, kinds: &[Kind], quantile: f64) -> Option<f64> {
        let tallies = || kinds.iter().filter_map(|kind| self.tallies.get(kind));
        let mut all = tallies().next()?.latencies.clone();
        for tally in tallies().skip(1) {
            all.add(&tally.latencies).ok()?;
        }
        Some(us(&all, quantile))
    }

    /// Returns the faults in words, if there are any.
    pub fn complaint(&self) -> Option<String> {
        let mut complaints = Vec::new();
        if let Some(failure) = &self.failure {
            complaints.push(format!("{failure:#} (after {} operations)", self.operations));
        }
        complaints.extend(self.lag.as_ref().and_then(Lag::complaint));
        if self.failures > 0 {
            let error = self.error.as_deref().map(|error| format!(", the last error: {error}"));
            complaints.push(format!(
                "{} of {} operations were not done{}",
                self.failures,
                self.operations,
                error.unwrap_or_default()
            ));
        }
        (!complaints.is_empty()).then(|| complaints.join("; "))
    }

    /// Counts an operation, or a part of one.
    pub(super) fn count(&mut self, kind: Kind, status: Status, latency: Duration) -> Result<()> {
        let tally = match self.tallies.entry(kind) {
            Entry::Occupied(entry) => entry.into_mut(),
            Entry::Vacant(entry) => {
                let (latencies, failed) = (histogram()?, histogram()?);
                entry.insert(Tally { latencies, failed, statuses: BTreeMap::new() })
            }
        };
        let times = match status {
            Status::Ok => &mut tally.latencies,
            Status::Error | Status::NotImplemented => &mut tally.failed,
        };
        times.saturating_record(nanos(latency));
        *tally.statuses.entry(status).or_default() += 1;
        Ok(())
    }

    /// Counts an operation that is no part of another.
    pub(super) fn count_whole(
        &mut self,
        kind: Kind,
        status: Status,
        latency: Duration,
    ) -> Result<()> {
        self.operations += 1;
        match status {
            Status::Ok => self.latencies.saturating_record(nanos(latency)),
            Status::Error | Status::NotImplemented => self.failures += 1,
        }
        self.count(kind, status, latency)
    }

    /// Records the delay with which a due operation begins.
    pub(super) fn note_begun(&mut self, due: Instant) {
        let late = due.elapsed();
        let lag = self.lag.get_or_insert_default();
        (lag.most, lag.at_end) = (lag.most.max(late), late);
    }
}

/// Returns a quantile in microseconds.
pub(super) fn us(times: &Histogram<u64>, quantile: f64) -> f64 {
    times.value_at_quantile(quantile).min(times.max()) as f64 / 1e3
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn histogram() -> Result<Histogram<u64>> {
    Ok(Histogram::new_with_bounds(1, LATENCY_MAX_NS, 3)?)
}

const LATENCY_MAX_NS: u64 = 60_000_000_000;
