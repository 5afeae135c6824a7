//! An open loop: requests are due at times that do not depend on the server.
//!
//! A request waits from its due time on, also while all connections wait for answers, so every
//! request that falls due during a stall sees it. A closed loop sends nothing then and leaves out
//! what its clients would have seen.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, Event};

use super::arrival::{Arrival, Pace, Stop};
use super::monitor::Monitor;
use super::outcome::{Ended, Outcome};
use super::run::{Generator, SILENCE_MAX};
use super::schedule::Schedule;
use super::source::Source;
use super::tally::Tally;

impl Generator {
    /// Runs until the end or until something breaks; the measurements are returned in any case.
    ///
    /// # Errors
    /// If the rate is not positive or is above what a thread can reach, or if an earlier run failed
    /// and left batches in flight.
    pub fn drive_to_end(
        &mut self,
        source: &mut impl Source,
        arrival: Arrival,
        stop: Stop,
        monitor: &Arc<Monitor>,
    ) -> Result<Ended> {
        self.check_idle()?;
        let mut tally = Tally::start(arrival.stop_sending(stop), Arc::clone(monitor))?;
        let schedule = Schedule::new(arrival, source.pipeline(), Instant::now(), stop)?;
        let (result, lag) = match schedule {
            None => (self.closed_loop(source, &mut tally, |_| Ok(())), None),
            Some(mut schedule) => {
                let result = self.paced_loop(source, &mut schedule, &mut tally);
                (result, schedule.lag())
            }
        };
        let outcome = tally.finish(self.first_error());
        Ok(Ended { outcome, lag, failure: result.err() })
    }

    /// Sends batches when they are due, for `time`, and waits for all replies. Latencies count from
    /// the due times.
    ///
    /// # Errors
    /// As [`Generator::run`]; and if the server is so slow that requests wait for twenty seconds.
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

    fn paced_loop(
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

    /// Waits for replies; returns at once where the sleep would probably last too long.
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

const LONGEST_WAIT: Duration = Duration::from_millis(100);
/// Shortest sleep, since the kernel may sleep this much longer than asked.
pub const SHORTEST_SLEEP: Duration = Duration::from_micros(100);
