//! When batches are sent, until when, and how far an open loop is behind.
//!
//! In an open loop a request waits from its due time on, also while all connections wait for
//! replies, so every request that falls due during a stall sees it. A closed loop sends nothing
//! then and leaves out what its clients would have seen.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rand::RngExt;
use rand::rngs::SmallRng;

use super::{Arrival, Load, Stop};

/// Delay of an open loop behind its schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lag {
    /// Length of the schedule.
    pub schedule: Duration,
    /// Longest time between the due time of a request and its sending.
    pub most: Duration,
    /// Waiting time of the oldest unsent request at the end of the schedule.
    pub at_end: Duration,
    /// Operations that were unsent at the end of the schedule, as many as its rate says.
    pub unsent: u64,
}

impl Lag {
    /// Returns true if the server kept up: at the end it is behind by at most a fiftieth of the
    /// schedule, or by a short time that is always allowed.
    pub fn is_kept(&self) -> bool {
        self.at_end <= (self.schedule / 50).max(LAG_ALLOWED)
    }

    /// Returns the delay in words, if the server was too slow.
    pub fn complaint(&self) -> Option<String> {
        let (schedule, late) = (self.schedule.as_secs_f64(), self.at_end.as_secs_f64());
        (!self.is_kept()).then(|| {
            format!(
                "behind schedule: the server was too slow for the rate; when the schedule of \
                 {schedule:.3} s was over, {} operations had not been sent, the oldest for \
                 {late:.3} s",
                self.unsent
            )
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

/// What a connection does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It sends so many operations, whose latency counts from this time.
    Send(Instant, usize),
    /// It, and all others of its kind, is asked again at this time.
    At(Instant),
    /// It is done with this run.
    Over,
}

/// Due times of batches, in ascending order.
pub(super) struct Schedule {
    arrival: Arrival,
    pipeline: usize,
    begin: Instant,
    /// Average distance of due times in nanoseconds; at high rates it is not a whole number.
    gap: f64,
    /// Due time of the next batch, in nanoseconds since the start.
    next: f64,
    /// Time from which nothing is due, if time ends the run.
    end: f64,
    /// Operations that may still be sent.
    left: u64,
    random: SmallRng,
    lag: Lag,
    /// True if the delay at the end of the schedule is noted.
    has_ended: bool,
}

impl Schedule {
    /// Creates the schedule of one of the threads of a load, which share its rate; the same seed
    /// gives the same due times.
    pub(super) fn new(load: &Load, thread: usize, begin: Instant, stop: Stop) -> Result<Self> {
        let Load { arrival, pipeline, .. } = *load;
        let gap = match arrival {
            Arrival::Closed => 0.0,
            Arrival::Limited(rate) | Arrival::Even(rate) | Arrival::Poisson(rate) => {
                let rate = rate / load.threads as f64;
                let gap = pipeline as f64 / rate * 1e9;
                let is_sound = rate > 0.0 && gap < GAP_MAX_NS && rate <= RATE_MAX;
                ensure!(is_sound, "{rate} operations per second: above 0, at most {RATE_MAX}");
                gap
            }
        };
        let (end, left) = match stop {
            Stop::After(time) => (time.as_nanos() as f64, u64::MAX),
            Stop::Operations(count) => (f64::INFINITY, count),
            Stop::Within(count, time) => (time.as_nanos() as f64, count),
        };
        let all = end.min(left.div_ceil(pipeline as u64) as f64 * gap);
        let lag = Lag { schedule: Duration::from_nanos(all as u64), ..Lag::default() };
        let (random, next, has_ended) = (load.random_of(thread), 0.0, false);
        Ok(Self { arrival, pipeline, begin, gap, next, end, left, random, lag, has_ended })
    }

    pub(super) fn lag(&self) -> Option<Lag> {
        matches!(self.arrival, Arrival::Even(_) | Arrival::Poisson(_)).then_some(self.lag)
    }

    /// Decides what is sent now, and counts it as sent. Fails if an open loop is hopelessly behind.
    pub(super) fn turn(&mut self, now: Instant) -> Result<Turn> {
        let nanos = now.saturating_duration_since(self.begin).as_nanos() as u64 as f64;
        match self.arrival {
            Arrival::Closed => self.next = nanos,
            Arrival::Limited(_) => self.next = self.next.max(nanos - BURST_NS),
            Arrival::Even(_) | Arrival::Poisson(_) => self.note_lag(nanos)?,
        }
        if self.is_over() {
            return Ok(Turn::Over);
        }
        let due = self.begin + Duration::from_nanos(self.next as u64);
        if self.next > nanos {
            return Ok(Turn::At(due));
        }
        let since = if self.lag().is_some() { due } else { now };
        self.next += match self.arrival {
            Arrival::Poisson(_) => -self.gap * (1.0 - self.random.random::<f64>()).ln(),
            _ => self.gap,
        };
        let count = self.left.min(self.pipeline as u64);
        self.left -= count;
        Ok(Turn::Send(since, count as usize))
    }

    fn is_over(&self) -> bool {
        self.left == 0 || self.next >= self.end
    }

    fn note_lag(&mut self, nanos: f64) -> Result<()> {
        if self.is_over() {
            return Ok(());
        }
        let behind = Duration::from_nanos((nanos - self.next).max(0.0) as u64);
        let all = self.lag.schedule.as_nanos() as f64;
        if !self.has_ended && (nanos >= all || behind >= BEHIND_MAX) {
            self.has_ended = true;
            let due = (nanos.min(all) - self.next) / self.gap;
            self.lag.schedule = Duration::from_nanos(nanos.min(all) as u64);
            self.lag.unsent = (due.ceil() as u64).saturating_mul(self.pipeline as u64);
            self.lag.unsent = self.lag.unsent.min(self.left);
            self.lag.at_end = behind;
        }
        self.lag.most = self.lag.most.max(behind);
        let waiting = behind.as_secs();
        ensure!(behind < BEHIND_MAX, "the server is too slow: requests wait for {waiting} s");
        Ok(())
    }
}

/// Delay that is always allowed.
const LAG_ALLOWED: Duration = Duration::from_millis(20);
/// Longest time that a request may wait before the run ends.
const BEHIND_MAX: Duration = Duration::from_secs(20);
/// Highest rate, in operations per second; no thread reaches it.
const RATE_MAX: f64 = 1e8;
/// Nanoseconds that a limited rate makes up for after a pause.
const BURST_NS: f64 = 1e7;
const GAP_MAX_NS: f64 = 1e15;

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: Stop = Stop::After(Duration::from_secs(100));

    fn schedule(arrival: Arrival, stop: Stop) -> Result<(Schedule, Instant)> {
        let (load, begin) = (Load { arrival, pipeline: 1, ..Load::get(1) }, Instant::now());
        Ok((Schedule::new(&load, 0, begin, stop)?, begin))
    }

    fn millis(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    /// Returns the times from which all batches count that are sent at a moment.
    fn sent(schedule: &mut Schedule, now: Instant) -> Vec<Instant> {
        let mut turn = || match schedule.turn(now).unwrap() {
            Turn::Send(since, 1) => Some(since),
            _ => None,
        };
        std::iter::from_fn(&mut turn).collect()
    }

    #[test]
    fn an_open_loop_queues_all_that_was_due() {
        for stop in [Stop::After(millis(100)), Stop::Operations(100)] {
            let (mut schedule, begin) = schedule(Arrival::Even(1000.0), stop).unwrap();
            let due: Vec<_> = (0..=50).map(|ms| begin + millis(ms)).collect();
            assert_eq!(sent(&mut schedule, begin + millis(50)), due);
            assert_eq!(schedule.turn(begin + millis(50)).unwrap(), Turn::At(begin + millis(51)));
            assert_eq!(sent(&mut schedule, begin + millis(200)).len(), 49);
            assert_eq!(schedule.turn(begin + millis(200)).unwrap(), Turn::Over);
            let (at_end, unsent) = (millis(149), 49);
            let lag = Lag { schedule: millis(100), most: millis(149), at_end, unsent };
            assert_eq!(schedule.lag(), Some(lag));
            assert!(!lag.is_kept());
        }
    }

    #[test]
    fn rates_are_kept_by_chance_and_though_distances_are_no_whole_nanoseconds() {
        for (arrival, time, count, within) in [
            (Arrival::Poisson(1000.0), Duration::from_secs(15), 15_000, 600),
            (Arrival::Even(70_000_000.0), millis(10), 700_000, 1),
        ] {
            let (mut schedule, begin) = schedule(arrival, LONG).unwrap();
            let sent = sent(&mut schedule, begin + time).len();
            assert!(sent.abs_diff(count) <= within, "{sent} of {count}");
        }
    }

    #[test]
    fn a_rate_that_is_none_or_that_nothing_reaches_is_refused() {
        for rate in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-7, 1e12] {
            for arrival in [Arrival::Even(rate), Arrival::Limited(rate)] {
                assert!(schedule(arrival, LONG).is_err(), "{rate} operations per second");
            }
        }
    }

    #[test]
    fn a_limit_makes_up_for_little() {
        let (mut schedule, begin) = schedule(Arrival::Limited(1000.0), LONG).unwrap();
        let now = begin + millis(5000);
        assert_eq!(sent(&mut schedule, now), vec![now; 11]);
        assert!(schedule.lag().is_none());
    }

    #[test]
    fn a_client_that_waits_for_very_long_ends_the_run() {
        let (mut schedule, begin) = schedule(Arrival::Even(1000.0), LONG).unwrap();
        assert!(schedule.turn(begin + BEHIND_MAX).is_err());
        let lag = schedule.lag().unwrap();
        assert_eq!((lag.schedule, lag.unsent), (BEHIND_MAX, 20_000));
    }

    #[test]
    fn a_fiftieth_of_the_schedule_is_no_lag() {
        let lag = |seconds, at_end| {
            let schedule = Duration::from_secs(seconds);
            Lag { schedule, at_end: Duration::from_millis(at_end), ..Lag::default() }.is_kept()
        };
        assert!(lag(10, 200) && !lag(10, 201));
        assert!(lag(0, 20) && !lag(0, 21));
    }
}
