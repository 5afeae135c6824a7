//! An open loop: requests are due at times that do not depend on the server.
//!
//! A request waits from the moment at which it was due, also while all connections wait for
//! answers, so a server that stands still is seen by everything that was due meanwhile. A closed
//! loop asks nothing then, and leaves out what its clients would have seen.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, Event};
use serde_json::{Value, json};

use super::outcome::Outcome;
use super::run::{Generator, SILENCE_MAX, Stop, Tally};
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

/// What decides when a batch is sent.
#[derive(Clone, Copy, Debug)]
pub enum Arrival {
    /// The last reply of the batch before it on the same connection: a closed loop.
    Closed,
    /// As in a closed loop, but no earlier than the pace allows; what a slow server misses is not
    /// made up for.
    Limited(Pace),
    /// The pace alone: an open loop.
    Open(Pace),
}

impl Arrival {
    /// For one of several threads that share the rate.
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

    /// When nothing more may be sent. With a schedule, time is what the schedule ends by, and what
    /// was due before is still sent.
    pub(super) fn stop_sending(self, stop: Stop) -> Stop {
        match (self, stop) {
            (Self::Limited(_) | Self::Open(_), Stop::After(_)) => Stop::After(Duration::MAX),
            _ => stop,
        }
    }
}

/// How far an open loop was behind its schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lag {
    /// How long the schedule was.
    pub schedule: Duration,
    /// How much later than due a request was sent, at most.
    pub most: Duration,
    /// How long the oldest request had waited to be sent when the schedule was over.
    pub at_end: Duration,
    /// Operations that waited to be sent then.
    pub unsent: u64,
}

impl Lag {
    /// Whether the server kept up: it may be a little behind at the end, but not by a fiftieth of
    /// the schedule.
    pub fn is_held(&self) -> bool {
        self.at_end <= (self.schedule / 50).max(LAG_ALLOWED)
    }

    /// By how much the server was too slow, in words, if it was.
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

    /// All of it, in seconds.
    pub fn as_json(&self) -> Value {
        json!({
            "seconds": self.schedule.as_secs_f64(),
            "late_seconds_most": self.most.as_secs_f64(),
            "late_seconds_at_end": self.at_end.as_secs_f64(),
            "unsent_at_end": self.unsent,
        })
    }

    /// Adds what another thread saw of the same schedule.
    pub fn merge(&mut self, other: &Self) {
        self.schedule = self.schedule.max(other.schedule);
        self.most = self.most.max(other.most);
        self.at_end = self.at_end.max(other.at_end);
        self.unsent += other.unsent;
    }
}

/// Due times, one after the other.
#[derive(Clone)]
struct DueTimes {
    spacing: Spacing,
    /// Nanoseconds from one to the next, on average. At high rates they are no whole ones.
    gap: f64,
    /// Nanoseconds from the begin to the next one.
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

/// When batches are due, and how many wait. What waits is not kept: its due times are drawn a
/// second time when it is sent.
pub(super) struct Schedule {
    pace: Pace,
    pipeline: usize,
    is_open: bool,
    begin: Instant,
    /// Nanoseconds from the begin to the end.
    end: Option<f64>,
    /// Batches that are still to become due, if they are counted.
    left: Option<u64>,
    /// Those that are still to become due.
    coming: DueTimes,
    /// Those that are still to be sent, from the oldest on.
    unsent: DueTimes,
    /// Batches that are due and wait for a connection.
    waiting: u64,
    lag: Lag,
}

impl Schedule {
    /// None for a closed loop without a pace.
    pub(super) fn new(
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

    pub(super) fn lag(&self) -> Option<Lag> {
        self.is_open.then_some(self.lag)
    }

    /// Nanoseconds since the begin.
    fn nanos_at(&self, now: Instant) -> f64 {
        now.saturating_duration_since(self.begin).as_nanos() as f64
    }

    /// Whether the next batch is due; then the one behind it is the next.
    fn becomes_due(&mut self, now: f64) -> bool {
        let is_due = self.coming.next <= now && !self.is_over();
        if is_due {
            self.coming.step();
            self.left = self.left.map(|left| left - 1);
        }
        is_due
    }

    /// Whether nothing more becomes due.
    fn is_over(&self) -> bool {
        self.left == Some(0) || self.end.is_some_and(|end| self.coming.next >= end)
    }

    /// In an open loop, counts what is due; in a closed one nothing waits, and only little of what
    /// was missed is made up for.
    fn advance(&mut self, now: Instant) {
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

    /// From when the next batch counts, if one may be sent.
    fn take(&mut self, now: Instant) -> Option<Instant> {
        if !self.is_open {
            return self.becomes_due(self.nanos_at(now)).then_some(now);
        }
        let behind = self.behind(now)?;
        self.unsent.step();
        self.waiting -= 1;
        self.lag.most = self.lag.most.max(behind);
        Some(now - behind)
    }

    /// How long the oldest batch that was not sent has waited.
    fn behind(&self, now: Instant) -> Option<Duration> {
        let due = self.begin + Duration::from_nanos(self.unsent.next as u64);
        (self.waiting > 0).then(|| now.saturating_duration_since(due))
    }

    fn until_next(&self, now: Instant) -> Duration {
        Duration::from_nanos((self.coming.next - self.nanos_at(now)) as u64)
    }

    fn note_lag(&mut self, schedule: Duration, now: Instant) {
        let at_end = self.behind(now).unwrap_or_default();
        let unsent = self.waiting * self.pipeline as u64;
        self.lag = Lag { schedule, at_end, unsent, ..self.lag };
    }

    /// Ends an open loop that has no hope.
    fn check(&mut self, now: Instant) -> Result<()> {
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
        let stop = Stop::After(time);
        let ended = self.drive_to_end(source, Arrival::Open(pace), stop, &Arc::default())?;
        ended.failure.map_or(Ok(ended.outcome), Err)
    }

    pub(super) fn paced_loop(
        &mut self,
        source: &mut impl Source,
        schedule: &mut Schedule,
        tally: &mut Tally,
    ) -> Result<()> {
        let mut idle: VecDeque<usize> = (0..self.len()).collect();
        let mut events: Vec<Event> = Vec::with_capacity(self.len().max(1));
        let mut last_turn = Instant::now();
        loop {
            let now = Instant::now();
            let is_halted = tally.is_halted();
            if !is_halted {
                schedule.advance(now);
                while let Some(slot) = idle.front().copied()
                    && let Some(due) = schedule.take(now)
                {
                    idle.pop_front();
                    self.send_due(slot, source, tally, Some(due))?;
                    last_turn = now;
                }
                schedule.check(now)?;
            }
            let is_over = is_halted || schedule.is_over();
            if is_over && tally.is_idle() {
                return Ok(());
            }
            let silence = if tally.is_idle() { Duration::ZERO } else { now - last_turn };
            let longest = SILENCE_MAX.tv_sec.unsigned_abs();
            ensure!(silence.as_secs() < longest, "no reply for {longest} s");
            let is_late = is_over || idle.is_empty();
            let until_next = schedule.until_next(now);
            self.wait_for(if is_late { LONGEST_WAIT } else { until_next }, &mut events)?;
            for event in &events {
                last_turn = now;
                if self.hear(*event, tally)? {
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
pub const SHORTEST_SLEEP: Duration = Duration::from_micros(100);
/// Operations per second that no thread reaches.
const RATE_MAX: f64 = 1e8;
/// What a pace with a limit makes up for after a pause.
const BURST_NS: f64 = 1e7;
const LAG_ALLOWED: Duration = Duration::from_millis(20);
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
            Lag { schedule, at_end: millis(at_end), ..Lag::default() }.is_held()
        };
        assert!(lag(10, 200) && !lag(10, 201));
        assert!(lag(0, 20) && !lag(0, 21));
    }
}
