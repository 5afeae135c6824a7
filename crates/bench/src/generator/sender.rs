//! The client that sends a load.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, ensure};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;

use super::outcome::Tally;
use super::schedule::Schedule;
use super::template::{Chance, Template};
use super::{
    Answer, Arrival, Batch, Client, Heard, Keys, Load, Monitor, Next, Outcome, Protocol, Stop,
};

/// Client that sends one thread's part of a load and measures it.
pub struct Sender {
    requests: Vec<(Template, Answer)>,
    /// Requests in the order in which they are sent, from the start again at its end: their shares
    /// are exact, and shuffled.
    order: Vec<usize>,
    at: usize,
    keys: Keys,
    chance: Chance,
    pipeline: usize,
    arrival: Arrival,
    stop: Stop,
    schedule: Option<Schedule>,
    tally: Tally,
}

impl Sender {
    /// Prepares thread `thread` of the load's threads; the same seed gives the same requests.
    pub fn new(protocol: Protocol, load: &Load, thread: usize) -> Result<Self> {
        ensure!(load.pipeline > 0, "pipeline: at least 1");
        let (threads, seed) = (load.threads, load.seed.wrapping_add((thread as u64) << 32));
        let stop = load.stop_of(thread);
        let parse = |(_, request): &(u32, String)| {
            Ok((Template::parse(protocol, request)?, Answer::to(request)))
        };
        let mut order = Vec::new();
        let whole: u32 = load.requests.iter().map(|(share, _)| share).sum();
        for (number, (share, _)) in load.requests.iter().enumerate() {
            let repeats = if load.requests.len() == 1 { 1 } else { share * ORDER / whole };
            order.extend((0..repeats).map(|_| number));
        }
        order.shuffle(&mut SmallRng::seed_from_u64(seed));
        let (number, count) = (thread as u64, threads as u64);
        let mut sender = Self {
            requests: load.requests.iter().map(parse).collect::<Result<_>>()?,
            order,
            at: 0,
            keys: Keys::for_thread(&load.keys, load.key_count, load.seed, number, count)?,
            chance: Chance::new(seed),
            pipeline: load.pipeline,
            arrival: load.arrival.for_thread(thread, threads),
            stop,
            schedule: None,
            tally: Tally::start(stop, Arc::default()),
        };
        sender.restart(stop, Arc::default())?;
        Ok(sender)
    }

    /// Starts to measure anew; requests go on where they were.
    pub fn restart(&mut self, stop: Stop, monitor: Arc<Monitor>) -> Result<()> {
        self.stop = stop;
        self.schedule = Schedule::new(self.arrival, self.pipeline, Instant::now(), stop)?;
        // With a pace, time ends the schedule, and batches that were due before are still sent.
        let sends = match (&self.schedule, stop) {
            (Some(_), Stop::After(_)) => Stop::Operations(u64::MAX),
            _ => stop,
        };
        self.tally = Tally::start(sends, monitor);
        Ok(())
    }

    /// Returns what was measured since the last start, and starts anew.
    pub fn finish(&mut self) -> Result<Outcome> {
        let lag = self.schedule.as_ref().and_then(Schedule::lag);
        let fresh = Tally::start(self.stop, Arc::default());
        let outcome = std::mem::replace(&mut self.tally, fresh).finish(lag);
        self.restart(self.stop, Arc::default())?;
        Ok(outcome)
    }

    /// Writes `count` requests.
    #[inline]
    fn write(&mut self, count: usize, batch: &mut Batch) {
        for _ in 0..count {
            let (template, answer) = &self.requests[self.order[self.at]];
            self.at = if self.at + 1 == self.order.len() { 0 } else { self.at + 1 };
            template.write(self.keys.draw(), &mut self.chance, &mut batch.bytes);
            batch.expect(*answer);
        }
    }
}

impl Client for Sender {
    #[inline]
    fn next(&mut self, _: usize, now: Instant, batch: &mut Batch) -> Result<Next> {
        if let Some(schedule) = &mut self.schedule
            && !self.tally.is_halted()
        {
            schedule.advance(now);
            schedule.check(now)?;
            match schedule.take(now) {
                Some(due) => batch.since = due,
                None if schedule.is_over() => return Ok(Next::Rest),
                None => return Ok(Next::At(now + schedule.until_next(now))),
            }
        }
        match self.tally.allowance(self.pipeline) {
            0 => Ok(Next::Rest),
            count => {
                self.write(count, batch);
                Ok(Next::Send)
            }
        }
    }

    #[inline]
    fn heard(&mut self, _: usize, heard: &Heard<'_>) -> Result<()> {
        self.tally.record(heard);
        Ok(())
    }
}

/// Requests in the order of a mix: shares are exact to this part.
const ORDER: u32 = 2000;
