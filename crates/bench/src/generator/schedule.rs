//! Arrival of requests: due times of batches, the number that wait, and the end of a run.
//!
//! In an open loop a request waits from its due time on, also while all connections wait for
//! replies, so every request that falls due during a stall sees it. A closed loop sends nothing
//! then and leaves out what its clients would have seen.

use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};

/// End of a run; batches in flight are always waited for.
#[derive(Clone, Copy, Debug)]
pub enum Stop {
    /// Ends after this time.
    After(Duration),
    /// Ends after this many operations.
    Operations(u64),
}

/// Distances between due times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// Equal distances.
    Even,
    /// Distances as of many independent clients (a Poisson process).
    Random,
}

/// Due times of operations.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Operations per second.
    pub per_second: f64,
    /// Distances between them.
    pub spacing: Spacing,
    /// Seed of random distances.
    pub seed: u64,
}

/// Event upon which a batch is sent.
#[derive(Clone, Copy, Debug)]
pub enum Arrival {
    /// Last reply of the previous batch on the same connection: a closed loop.
    Closed,
    /// As in a closed loop, but not before the pace allows it; time lost to a slow server is not
    /// made up for.
    Limited(Pace),
    /// Pace alone: an open loop.
    Open(Pace),
}

impl Arrival {
    /// Returns the arrival for one of several threads that share the rate.
    #[must_use]
    pub fn for_thread(self, thread: usize, threads: usize) -> Self {
        let share = |pace: Pace| Pace {
            per_second: pace.per_second / threads as f64,
            seed: pace.seed.wrapping_add(thread as u64),
            ..pace
        };
        match self {
            Self::Closed => Self::Closed,
            Self::Limited(pace) => Self::Limited(share(pace)),
            Self::Open(pace) => Self::Open(share(pace)),
        }
    }
}

/// Delay of an open loop behind its schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lag {
    /// Length of the schedule.
    pub schedule: Duration,
    /// Longest time between the due time of a request and its sending.
    pub most: Duration,
    /// Waiting time of the oldest unsent request at the end of the schedule.
    pub at_end: Duration,
    /// Operations that were unsent at the end of the schedule.
    pub unsent: u64,
}

impl Lag {
    /// Returns true if the server kept up: at the end it is behind by at most a fiftieth of the
    /// schedule, or by a short time that is always allowed.
    pub fn is_held(&self) -> bool {
        self.at_end <= (self.schedule / 50).max(LAG_ALLOWED)
    }

    /// Returns the delay in words, if the server was too slow.
    pub fn complaint(&self) -> Option<String> {
        let (schedule, late) = (self.schedule.as_secs_f64(), self.at_end.as_secs_f64());
        let what = match self.unsent {
            0 => format!("the last request was sent {late:.3} s late"),
            unsent => format!("{unsent} operations had not been sent, the oldest for {late:.3} s"),
        };
        (!self.is_held()).then(|| {
            format!(
                "behind schedule: the server was too slow for the rate; when the schedule of \
                 {schedule:.3} s was over, {what}"
            )
        })
    }

    /// Returns all fields as JSON, times in seconds.
    pub fn as_json(&self) -> Value {
        json!({
            "seconds": self.schedule.as_secs_f64(),
            "late_seconds_most": self.most.as_secs_f64(),
            "late_seconds_at_end": self.at_end.as_secs_f64(),
            "unsent_at_end": self.unsent,
        })
    }

    /// Adds the delay that another thread saw on the same schedule.
    pub fn merge(&mut self, other: &Self) {
        self.schedule = self.schedule.max(other.schedule);
        self.most = self.most.max(other.most);
        self.at_end = self.at_end.max(other.at_end);
        self.unsent += other.unsent;
    }
}

/// Due times, in ascending order.
#[derive(Clone)]
struct DueTimes {
    spacing: Spacing,
    /// Average distance in nanoseconds; at high rates it is not a whole number.
    gap: f64,
    /// Next due time, in nanoseconds since the start.
    next: f64,
    random: SmallRng,
}

impl DueTimes {
    fn step(&mut self) {
        self.next += match self.spacing {
            Spacing::Even => self.gap,
            Spacing::Random => -self.gap * (1.0 - self.random.random::<f64>()).ln(),
        };
    }
}

/// Due times of batches, and the number that wait. Due times of waiting batches are not kept, but
/// drawn a second time when the batches are sent.
pub(crate) struct Schedule {
    pace: Pace,
    pipeline: usize,
    is_open: bool,
    begin: Instant,
    /// End of the schedule, in nanoseconds since the start.
    end: Option<f64>,
    /// Batches that will still become due, if their number is limited.
    left: Option<u64>,
    /// Due times of batches that will still become due.
    coming: DueTimes,
    /// Due times of unsent batches, from the oldest on.
    unsent: DueTimes,
    /// Due batches that wait for a connection.
    waiting: u64,
    lag: Lag,
}

impl Schedule {
    /// Creates the schedule; `None` for a closed loop without a pace.
    pub(crate) fn new(
        arrival: Arrival,
        pipeline: usize,
        begin: Instant,
        stop: Stop,
    ) -> Result<Option<Schedule>> {
        let (pace, is_open) = match arrival {
            Arrival::Closed => return Ok(None),
            Arrival::Limited(pace) => (pace, false),
            Arrival::Open(pace) => (pace, true),
        };
        let gap = pipeline as f64 / pace.per_second * 1e9;
        ensure!(pace.per_second > 0.0 && gap < GAP_MAX_NS, "a pace needs a rate");
        ensure!(
            pace.per_second <= RATE_MAX,
            "a rate of {} operations per second: a thread makes at most {RATE_MAX}",
            pace.per_second
        );
        let (end, left) = match stop {
            Stop::After(time) => (Some(time.as_nanos() as f64), None),
            Stop::Operations(count) => (None, Some(count.div_ceil(pipeline as u64))),
        };
        let random = SmallRng::seed_from_u64(pace.seed);
        let coming = DueTimes { spacing: pace.spacing, gap, next: 0.0, random };
        Ok(Some(Schedule {
            pace,
            pipeline,
            is_open,
            begin,
            end,
            left,
            unsent: coming.clone(),
            coming,
            waiting: 0,
            lag: Lag::default(),
        }))
    }

    pub(crate) fn lag(&self) -> Option<Lag> {
        self.is_open.then_some(self.lag)
    }

    /// Returns the nanoseconds since the start.
    fn nanos_at(&self, now: Instant) -> f64 {
        now.saturating_duration_since(self.begin).as_nanos() as f64
    }

    /// Returns true if the next batch is due, and moves on to the one behind it.
    fn becomes_due(&mut self, now: f64) -> bool {
        let is_due = self.coming.next <= now && !self.is_over();
        if is_due {
            self.coming.step();
            self.left = self.left.map(|left| left - 1);
        }
        is_due
    }

    /// Returns true if nothing more becomes due.
    pub(crate) fn is_over(&self) -> bool {
        self.left == Some(0) || self.end.is_some_and(|end| self.coming.next >= end)
    }

    /// Counts due batches in an open loop. In a closed loop nothing waits, and only a little of the
    /// missed time is made up for.
    pub(crate) fn advance(&mut self, now: Instant) {
        let nanos = self.nanos_at(now);
        if !self.is_open {
            self.coming.next = self.coming.next.max(nanos - BURST_NS);
            return;
        }
        let was_over = self.is_over();
        while self.becomes_due(nanos) {
            self.waiting += 1;
        }
        if self.is_over() && !was_over {
            self.note_lag(Duration::from_nanos(self.coming.next as u64), now);
        }
    }

    /// Returns the time from which the next batch counts, if one may be sent.
    pub(crate) fn take(&mut self, now: Instant) -> Option<Instant> {
        if !self.is_open {
            return self.becomes_due(self.nanos_at(now)).then_some(now);
        }
        let behind = self.behind(now)?;
        self.unsent.step();
        self.waiting -= 1;
        self.lag.most = self.lag.most.max(behind);
        Some(now - behind)
    }

    /// Returns the waiting time of the oldest unsent batch.
    fn behind(&self, now: Instant) -> Option<Duration> {
        let due = self.begin + Duration::from_nanos(self.unsent.next as u64);
        (self.waiting > 0).then(|| now.saturating_duration_since(due))
    }

    pub(crate) fn until_next(&self, now: Instant) -> Duration {
        Duration::from_nanos((self.coming.next - self.nanos_at(now)) as u64)
    }

    fn note_lag(&mut self, schedule: Duration, now: Instant) {
        let at_end = self.behind(now).unwrap_or_default();
        let unsent = self.waiting * self.pipeline as u64;
        self.lag = Lag { schedule, at_end, unsent, ..self.lag };
    }

    /// Fails if an open loop is hopelessly behind.
    pub(crate) fn check(&mut self, now: Instant) -> Result<()> {
        let behind = self.behind(now).unwrap_or_default();
        if behind >= BEHIND_MAX {
            if !self.is_over() {
                self.note_lag(now - self.begin, now);
            }
            self.lag.most = self.lag.most.max(behind);
            bail!(
                "the server is too slow for {} operations per second: requests wait for {} s",
                self.pace.per_second,
                behind.as_secs(),
            );
        }
        Ok(())
    }
}

/// Delay that is always allowed.
const LAG_ALLOWED: Duration = Duration::from_millis(20);
/// Longest time that a request may wait before the run ends.
const BEHIND_MAX: Duration = Duration::from_secs(20);
/// Highest rate, in operations per second; no thread reaches it.
const RATE_MAX: f64 = 1e8;
/// Nanoseconds that a limited pace makes up for after a pause.
const BURST_NS: f64 = 1e7;
const GAP_MAX_NS: f64 = 1e15;

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Arrival, Lag, Pace, Schedule, Spacing, Stop};

    fn pace(per_second: f64, spacing: Spacing) -> Pace {
        Pace { per_second, spacing, seed: 1 }
    }

    fn schedule(arrival: Arrival, stop: Stop) -> (Schedule, Instant) {
        let begin = Instant::now();
        (Schedule::new(arrival, 1, begin, stop).unwrap().unwrap(), begin)
    }

    fn millis(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn an_open_loop_queues_all_that_was_due() {
        let arrival = Arrival::Open(pace(1000.0, Spacing::Even));
        let (mut schedule, begin) = schedule(arrival, Stop::After(millis(100)));
        schedule.advance(begin + millis(50));
        let due = std::iter::from_fn(|| schedule.take(begin + millis(50))).count();
        assert_eq!(due, 51);
        assert_eq!(schedule.lag.most, millis(50));
        schedule.advance(begin + millis(200));
        assert!(schedule.is_over());
        let lag = schedule.lag().unwrap();
        assert_eq!((lag.unsent, lag.at_end), (49, millis(149)));
        assert!(!lag.is_held());
    }

    #[test]
    fn random_distances_keep_the_rate() {
        let arrival = Arrival::Open(pace(1000.0, Spacing::Random));
        let (mut schedule, begin) = schedule(arrival, Stop::After(Duration::from_secs(100)));
        schedule.advance(begin + Duration::from_secs(100));
        let due = schedule.waiting as f64;
        assert!((due - 100_000.0).abs() < 1500.0, "{due}");
    }

    #[test]
    fn a_high_rate_is_kept_though_its_distances_are_no_whole_nanoseconds() {
        let arrival = Arrival::Open(pace(70_000_000.0, Spacing::Even));
        let (mut schedule, begin) = schedule(arrival, Stop::After(millis(10)));
        schedule.advance(begin + millis(10));
        assert!(schedule.is_over());
        assert!(schedule.waiting.abs_diff(700_000) <= 1, "{}", schedule.waiting);
        assert!(schedule.lag.schedule.abs_diff(millis(10)) < Duration::from_nanos(15));
    }

    #[test]
    fn a_rate_that_is_none_or_that_nothing_reaches_is_refused() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-7, 1e12] {
            for arrive in [Arrival::Open, Arrival::Limited] {
                let arrival = arrive(pace(rate, Spacing::Even));
                let stop = Stop::After(millis(1));
                let schedule = Schedule::new(arrival, 1, Instant::now(), stop);
                assert!(schedule.is_err(), "{rate} operations per second");
            }
        }
    }

    #[test]
    fn a_limit_makes_up_for_little() {
        let arrival = Arrival::Limited(pace(1000.0, Spacing::Even));
        let (mut schedule, begin) = schedule(arrival, Stop::After(Duration::from_secs(10)));
        let now = begin + millis(5000);
        schedule.advance(now);
        let sent: Vec<_> = std::iter::from_fn(|| schedule.take(now)).collect();
        assert_eq!(sent, vec![now; 11]);
        assert!(schedule.lag().is_none());
    }

    #[test]
    fn a_count_ends_a_schedule() {
        let arrival = Arrival::Open(pace(1000.0, Spacing::Even));
        let (mut schedule, begin) = schedule(arrival, Stop::Operations(7));
        schedule.advance(begin + millis(6));
        assert!(schedule.is_over());
        assert_eq!(schedule.waiting, 7);
    }

    #[test]
    fn a_fiftieth_of_the_schedule_is_no_lag() {
        let lag = |seconds, at_end| {
            let schedule = Duration::from_secs(seconds);
            Lag { schedule, at_end: Duration::from_millis(at_end), ..Lag::default() }.is_held()
        };
        assert!(lag(10, 200) && !lag(10, 201));
        assert!(lag(0, 20) && !lag(0, 21));
    }
}
