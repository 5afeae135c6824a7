//! An open loop: requests are due at times that do not depend on the server.
//!
//! A request waits from the moment at which it was due, also while all connections wait for
//! answers, so a server that stands still is seen by everything that was due meanwhile. A closed
//! loop asks nothing then, and leaves out what its clients would have seen.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, Event};

use super::run::{Generator, Outcome, Stop, Tally};
use super::source::Source;

/// How far due times stand from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// All equally far.
    Even,
    /// As far as those of many clients who know nothing of each other (a Poisson process).
    Random,
}

/// When operations are due.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Operations per second.
    pub per_second: f64,
    /// How they are spread.
    pub spacing: Spacing,
    /// Seed of the distances.
    pub seed: u64,
}

/// The due times of batches, one after the other.
struct Schedule {
    next: Instant,
    end: Instant,
    /// Seconds from one to the next, on average.
    gap: f64,
    spacing: Spacing,
    random: SmallRng,
}

impl Schedule {
    fn new(pace: Pace, pipeline: usize, begin: Instant, time: Duration) -> Result<Schedule> {
        ensure!(pace.per_second > 0.0, "an open loop needs a rate");
        Ok(Schedule {
            next: begin,
            end: begin + time,
            gap: pipeline as f64 / pace.per_second,
            spacing: pace.spacing,
            random: SmallRng::seed_from_u64(pace.seed),
        })
    }

    /// The next due time, unless it is after `now`.
    fn due(&mut self, now: Instant) -> Option<Instant> {
        if self.next > now || self.is_over() {
            return None;
        }
        let due = self.next;
        let gap = match self.spacing {
            Spacing::Even => self.gap,
            Spacing::Random => -self.gap * (1.0 - self.random.random::<f64>()).ln(),
        };
        self.next += Duration::from_secs_f64(gap);
        Some(due)
    }

    fn is_over(&self) -> bool {
        self.next >= self.end
    }
}

impl Generator {
    /// Sends batches when they are due, for `time`, and waits for all replies. Latencies count from
    /// the due times.
    ///
    /// # Errors
    /// As [`Generator::run`]; and if the server is so slow that requests wait for
    /// [`BEHIND_MAX`].
    pub fn drive_open(
        &mut self,
        source: &mut impl Source,
        pace: Pace,
        time: Duration,
    ) -> Result<Outcome> {
        let mut tally = Tally::start(Stop::After(Duration::MAX))?;
        let pipeline = source.pipeline();
        let mut schedule = Schedule::new(pace, pipeline, Instant::now(), time)?;
        let mut idle: VecDeque<usize> = (0..self.len()).collect();
        let mut waiting: VecDeque<Instant> = VecDeque::new();
        let mut events: Vec<Event> = Vec::with_capacity(self.len());
        loop {
            let now = Instant::now();
            waiting.extend(std::iter::from_fn(|| schedule.due(now)));
            while let (Some(due), Some(slot)) = (waiting.front().copied(), idle.front().copied()) {
                waiting.pop_front();
                idle.pop_front();
                self.send_due(slot, source, &mut tally, due)?;
            }
            if schedule.is_over() && idle.len() == self.len() {
                return tally.finish(self.first_error());
            }
            let behind = waiting.front().map_or(Duration::ZERO, |due| now - *due);
            ensure!(
                behind < BEHIND_MAX,
                "the server is too slow for {} operations per second: requests wait for {} s",
                pace.per_second,
                behind.as_secs(),
            );
            let is_late = schedule.is_over() || idle.is_empty();
            let until_next = schedule.next.saturating_duration_since(now);
            self.wait_for(if is_late { LONGEST_WAIT } else { until_next }, &mut events)?;
            for event in &events {
                if self.hear(*event, &mut tally)? {
                    idle.push_back(event.data.u64() as usize);
                }
            }
        }
    }

    /// Waits for replies; not at all where it is likely that one would sleep too long.
    fn wait_for(&self, longest: Duration, events: &mut Vec<Event>) -> Result<()> {
        let longest =
            if longest < SHORTEST_SLEEP { Duration::ZERO } else { longest - SHORTEST_SLEEP };
        let longest = longest.min(LONGEST_WAIT);
        let timeout =
            Timespec { tv_sec: longest.as_secs() as i64, tv_nsec: longest.subsec_nanos().into() };
        events.clear();
        match epoll::wait(self.epoll(), spare_capacity(events), Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Requests that wait longer than this end a run.
pub const BEHIND_MAX: Duration = Duration::from_secs(20);
const LONGEST_WAIT: Duration = Duration::from_millis(100);
/// The kernel may sleep so much longer than it was asked to.
const SHORTEST_SLEEP: Duration = Duration::from_micros(100);
