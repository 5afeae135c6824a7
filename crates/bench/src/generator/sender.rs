//! The client that sends a load.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rand::SeedableRng;
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;

use super::template::{Chance, Template, requests};
use super::{
    Answer, Arrival, Batch, Client, Heard, Keys, Load, Monitor, Next, Outcome, Protocol, Schedule,
    Stop, Turn,
};
use crate::process;

/// Client that sends one thread's part of a load and measures it.
pub struct Sender {
    requests: Vec<(Template, Vec<Answer>)>,
    /// Requests in the order in which they are sent, from the start again at its end: their shares
    /// are exact, and shuffled.
    order: Vec<usize>,
    at: usize,
    keys: Keys,
    chance: Chance,
    pipeline: usize,
    arrival: Arrival,
    seed: u64,
    schedule: Schedule,
    monitor: Arc<Monitor>,
    outcome: Outcome,
    started: Instant,
    cpu_started: Duration,
    last_heard: Instant,
}

impl Sender {
    /// Prepares thread `thread` of the load's threads; the same seed gives the same requests.
    pub fn new(protocol: Protocol, load: &Load, thread: usize) -> Result<Self> {
        ensure!(load.pipeline > 0, "pipeline: at least 1");
        let (threads, seed) = (load.threads, load.seed.wrapping_add((thread as u64) << 32));
        let parse = |(_, request): &(u32, String)| {
            let answers = requests(request).map(Answer::to).collect();
            Ok((Template::parse(protocol, request)?, answers))
        };
        let mut order = Vec::new();
        let whole: u32 = load.requests.iter().map(|(share, _)| share).sum();
        for (number, (share, _)) in load.requests.iter().enumerate() {
            let repeats = if load.requests.len() == 1 { 1 } else { share * ORDER / whole };
            order.extend((0..repeats).map(|_| number));
        }
        order.shuffle(&mut SmallRng::seed_from_u64(seed));
        let (number, count) = (thread as u64, threads as u64);
        let (arrival, started) = (load.arrival.shared_by(threads), Instant::now());
        Ok(Self {
            requests: load.requests.iter().map(parse).collect::<Result<_>>()?,
            order,
            at: 0,
            keys: Keys::for_thread(&load.keys, load.key_count, load.seed, number, count)?,
            chance: Chance::new(seed),
            pipeline: load.pipeline,
            arrival,
            seed,
            schedule: Schedule::new(arrival, load.pipeline, started, load.stop_of(thread), seed)?,
            monitor: Arc::default(),
            outcome: Outcome::empty(),
            started,
            cpu_started: process::cpu_time_of_this_thread(),
            last_heard: started,
        })
    }

    /// Starts to measure anew, on the thread that runs the load; requests go on where they were.
    pub fn restart(&mut self, stop: Stop, monitor: Arc<Monitor>) -> Result<()> {
        self.started = Instant::now();
        self.last_heard = self.started;
        self.cpu_started = process::cpu_time_of_this_thread();
        self.schedule = Schedule::new(self.arrival, self.pipeline, self.started, stop, self.seed)?;
        (self.monitor, self.outcome) = (monitor, Outcome::empty());
        Ok(())
    }

    /// Returns what was measured since the last start.
    pub fn finish(&mut self) -> Outcome {
        Outcome {
            elapsed: self.last_heard - self.started,
            client_cpu: process::cpu_time_of_this_thread() - self.cpu_started,
            lag: self.schedule.lag(),
            ..std::mem::replace(&mut self.outcome, Outcome::empty())
        }
    }

    /// Writes `count` requests.
    fn write(&mut self, count: usize, batch: &mut Batch) {
        for _ in 0..count {
            let (template, answers) = &self.requests[self.order[self.at]];
            self.at = if self.at + 1 == self.order.len() { 0 } else { self.at + 1 };
            template.write(self.keys.draw(), &mut self.chance, &mut batch.bytes);
            answers.iter().for_each(|answer| batch.expected.count(*answer));
        }
    }
}

impl Client for Sender {
    fn next(&mut self, _: usize, now: Instant, batch: &mut Batch) -> Result<Next> {
        if self.monitor.is_halted() {
            return Ok(Next::Rest);
        }
        match self.schedule.turn(now)? {
            Turn::Over => Ok(Next::Rest),
            Turn::At(due) => Ok(Next::At(due)),
            Turn::Send(since, count) => {
                batch.since = since;
                self.write(count, batch);
                Ok(Next::Send)
            }
        }
    }

    fn heard(&mut self, _: usize, heard: &Heard<'_>) -> Result<bool> {
        self.last_heard = heard.now;
        self.monitor.add(heard.replies.total());
        self.outcome.record(heard);
        Ok(false)
    }
}

/// Requests in the order of a mix: shares are exact to this part.
const ORDER: u32 = 2000;
