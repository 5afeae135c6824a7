//! Counts and latencies of a run so far.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use hdrhistogram::Histogram;

use super::arrival::Stop;
use super::monitor::Monitor;
use super::outcome::{Outcome, empty_histogram};
use super::replies::Replies;
use crate::process;

/// Counts and latencies of a run so far.
pub(super) struct Tally {
    stop: Stop,
    monitor: Arc<Monitor>,
    started: Instant,
    cpu_started: Duration,
    now: Instant,
    sent: u64,
    in_flight: u64,
    replies: Replies,
    round_trips: Histogram<u64>,
    first_replies: Histogram<u64>,
}

impl Tally {
    pub(super) fn start(stop: Stop, monitor: Arc<Monitor>) -> Result<Self> {
        let now = Instant::now();
        Ok(Self {
            stop,
            monitor,
            started: now,
            cpu_started: process::cpu_time_of_this_thread(),
            now,
            sent: 0,
            in_flight: 0,
            replies: Replies::default(),
            round_trips: empty_histogram()?,
            first_replies: empty_histogram()?,
        })
    }

    pub(super) fn is_halted(&self) -> bool {
        self.monitor.is_halted()
    }

    /// Returns the number of operations answered so far.
    pub(super) fn answered(&self) -> u64 {
        self.replies.total()
    }

    /// Returns true if all sent operations are answered.
    pub(super) fn is_idle(&self) -> bool {
        self.in_flight == 0
    }

    /// Returns the number of operations of a batch that may still be sent, and counts them as sent.
    #[inline]
    pub(super) fn allowance(&mut self, pipeline: usize) -> usize {
        let count = match self.stop {
            _ if self.monitor.is_halted() => 0,
            Stop::After(time) if self.now - self.started >= time => 0,
            Stop::After(_) => pipeline as u64,
            Stop::Operations(limit) => (limit - self.sent).min(pipeline as u64),
        };
        self.sent += count;
        self.in_flight += count;
        count as usize
    }

    #[inline]
    pub(super) fn record(&mut self, replies: &Replies, sent_at: Instant, heard_at: Instant) {
        self.now = Instant::now();
        self.in_flight -= replies.total();
        self.replies.add(replies);
        self.monitor.add(replies.total());
        self.round_trips.saturating_record((self.now - sent_at).as_nanos() as u64);
        self.first_replies.saturating_record((heard_at - sent_at).as_nanos() as u64);
    }

    pub(super) fn finish(self, first_error: Option<&str>) -> Outcome {
        Outcome {
            operations: self.replies.total(),
            elapsed: self.now - self.started,
            round_trips: self.round_trips,
            first_replies: self.first_replies,
            generator_cpu: process::cpu_time_of_this_thread() - self.cpu_started,
            replies: self.replies,
            first_error: first_error.map(str::to_owned),
        }
    }
}
