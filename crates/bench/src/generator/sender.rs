//! The client that sends a load.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Result, ensure};
use rand::seq::SliceRandom;

use super::template::{Chance, Template};
use super::{Batch, Client, Keys, Load, Meter, Monitor, Received, Stop, Turn};
use crate::protocol::Protocol;
use crate::replies::Value;

/// Client that sends one thread's part of a load and measures it.
pub struct Sender {
    requests: Vec<Template>,
    /// Those that store what the others have missed.
    fills: Vec<Template>,
    /// Requests in the order in which they are sent, from the start again at its end: their shares
    /// are exact, and shuffled.
    order: Vec<usize>,
    at: usize,
    keys: Keys,
    chance: Chance,
    load: Load,
    thread: usize,
    /// Requests of each connection that are not answered, or that missed what they asked for, with
    /// their numbers; only if there are fills.
    asked: Vec<Vec<(usize, u64)>>,
    /// Measures from the last start on.
    pub meter: Meter,
}

impl Sender {
    /// Prepares thread `thread` of the load's threads; the same seed gives the same requests.
    pub fn new(protocol: Protocol, load: &Load, thread: usize) -> Result<Self> {
        ensure!(load.pipeline > 0, "pipeline: at least 1");
        let count = load.requests.len();
        ensure!([0, count].contains(&load.fills.len()), "a fill for each request, or none");
        let parse = |request: &String| Template::parse(protocol, request);
        let mut order = Vec::new();
        let whole: u32 = load.requests.iter().map(|(share, _)| share).sum();
        for (number, (share, _)) in load.requests.iter().enumerate() {
            let repeats = if load.requests.len() == 1 { 1 } else { share * ORDER / whole };
            order.extend((0..repeats).map(|_| number));
        }
        order.shuffle(&mut load.random_of(thread));
        Ok(Self {
            requests: load.requests.iter().map(|(_, it)| parse(it)).collect::<Result<_>>()?,
            fills: load.fills.iter().map(parse).collect::<Result<_>>()?,
            asked: vec![Vec::new(); load.connections],
            order,
            at: 0,
            keys: Keys::new(load, thread)?,
            chance: Chance::new(load.random_of(thread)),
            load: load.clone(),
            thread,
            meter: Meter::start(load, thread, load.stop_of(thread), Arc::default())?,
        })
    }

    /// Starts to measure anew, on the thread that runs the load; requests go on where they were.
    pub fn restart(&mut self, stop: Stop, monitor: Arc<Monitor>) -> Result<()> {
        self.meter = Meter::start(&self.load, self.thread, stop, monitor)?;
        Ok(())
    }
}

impl Client for Sender {
    fn next(&mut self, connection: usize, now: Instant, batch: &mut Batch) -> Result<Turn> {
        if let missed @ 1.. = self.asked[connection].len() {
            for (request, number) in std::mem::take(&mut self.asked[connection]) {
                self.fills[request].write(number, &mut self.chance, batch);
            }
            return Ok(Turn::Send(now, missed));
        }
        let turn = self.meter.turn(now)?;
        let Turn::Send(_, count) = turn else { return Ok(turn) };
        for _ in 0..count {
            let request = self.order[self.at];
            self.at = if self.at + 1 == self.order.len() { 0 } else { self.at + 1 };
            let number = self.keys.draw();
            self.requests[request].write(number, &mut self.chance, batch);
            if !self.fills.is_empty() {
                self.asked[connection].push((request, number));
            }
        }
        Ok(turn)
    }

    fn on_replies(&mut self, connection: usize, received: &Received<'_>) -> Result<bool> {
        let asked = &mut self.asked[connection];
        if asked.is_empty() && !self.fills.is_empty() {
            self.meter.outcome.replies.add(&received.replies);
            return Ok(false);
        }
        self.meter.add(received.replies.total(), received.now);
        self.meter.outcome.record(received);
        let mut values = received.values.iter();
        asked.retain(|_| values.next() == Some(&Value::Nil));
        Ok(!asked.is_empty())
    }
}

/// Requests in the order of a mix: shares are exact to this part.
const ORDER: u32 = 2000;
