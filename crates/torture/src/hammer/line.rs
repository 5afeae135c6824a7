//! A connection that sends bursts of requests and checks each reply.

use super::chance::Chance;
use super::phase::Place;
use super::words::{Words, shown, shown_request, words};
use crate::client::{Client, Reply, encoded};
use anyhow::{Context, Result};
use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::sleep;
use std::time::Duration;

/// Behaviour of one connection: it plans requests and checks their replies.
pub(super) trait Part: Sized {
    /// Name in messages.
    const NAME: &'static str;

    /// Most requests that it sends at once.
    const DEPTH_MAX: usize = usize::MAX;

    /// Pause between two bursts.
    const REST: Duration = Duration::ZERO;

    /// Adds a few requests.
    fn plan(&mut self, burst: &mut Burst<Self>, chance: &mut Chance);

    /// Adds requests that finish its work; none if it is finished.
    fn close(&mut self, _burst: &mut Burst<Self>) {}
}

type Check<P> = Box<dyn FnOnce(&mut P, Reply) -> Result<()>>;

/// Requests that are sent at once, and the checks of their replies.
pub(super) struct Burst<P> {
    bytes: Vec<u8>,
    due: VecDeque<(Words, Check<P>)>,
}

impl<P> Default for Burst<P> {
    fn default() -> Self {
        Self { bytes: Vec::new(), due: VecDeque::new() }
    }
}

impl<P> Burst<P> {
    /// Adds a request, and a check of its reply.
    pub(super) fn ask(
        &mut self,
        words: Words,
        check: impl FnOnce(&mut P, Reply) -> Result<()> + 'static,
    ) {
        self.bytes.extend(encoded(&words));
        self.due.push_back((words, Box::new(check)));
    }
}

/// Runs one part on a connection of its own until the phase is over.
pub(super) fn drive<P: Part>(part: P, place: &Place, number: u64) -> Result<P> {
    let mut line = Line::open(part, place, number)?;
    let outcome = line.run(place);
    outcome.with_context(|| line.history_for_people())?;
    Ok(line.part)
}

/// Returns the requests that a part plans, for a connection whose replies are not checked.
pub(super) fn requests<P: Part>(part: &mut P, chance: &mut Chance, count: usize) -> Vec<Words> {
    planned(part, chance, count).due.into_iter().map(|(words, _)| words).collect()
}

fn planned<P: Part>(part: &mut P, chance: &mut Chance, depth: usize) -> Burst<P> {
    let mut burst = Burst::default();
    while burst.due.len() < depth && burst.bytes.len() < BURST_BYTES {
        part.plan(&mut burst, chance);
    }
    burst
}

struct Line<P> {
    client: Client,
    part: P,
    chance: Chance,
    number: u64,
    history: VecDeque<(Words, String)>,
}

impl<P: Part> Line<P> {
    fn open(part: P, place: &Place, number: u64) -> Result<Self> {
        let mut client = Client::open(place.addresses.next(), place.patience)?;
        let mut chance = Chance::new(place.seed, number);
        // Half of the connections, at random, use RESP3.
        if chance.one_in(2) {
            client.ask(&words!["HELLO", 3])?;
        }
        Ok(Self { client, part, chance, number, history: VecDeque::new() })
    }

    fn run(&mut self, place: &Place) -> Result<()> {
        while !place.is_over() {
            let depth = self.chance.within(1, place.shape.depth_max);
            let burst = planned(&mut self.part, &mut self.chance, depth.min(P::DEPTH_MAX));
            self.play(burst, place)?;
            sleep(P::REST);
        }
        loop {
            let mut burst = Burst::default();
            self.part.close(&mut burst);
            if burst.due.is_empty() || place.has_failed() {
                return Ok(());
            }
            self.play(burst, place)?;
        }
    }

    fn play(&mut self, burst: Burst<P>, place: &Place) -> Result<()> {
        let count = burst.due.len() as u64;
        // If sending fails, the server may have replied with the reason.
        let sent = self.client.send(&burst.bytes);
        for (words, check) in burst.due {
            let reply = match self.client.receive() {
                Ok(reply) => reply,
                Err(error) => {
                    self.remember(words, "no reply".to_owned());
                    return sent.and(Err(error));
                }
            };
            let told = shown(&reply);
            let outcome = check(&mut self.part, reply);
            self.remember(words, told);
            outcome?;
        }
        place.commands.fetch_add(count, Relaxed);
        sent
    }

    fn remember(&mut self, words: Words, reply: String) {
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        self.history.push_back((words, reply));
    }

    fn history_for_people(&self) -> String {
        let lines = self.history.iter();
        let lines = lines.map(|(words, reply)| format!("    {} -> {reply}", shown_request(words)));
        let lines: Vec<_> = lines.collect();
        format!(
            "connection {} ({}), its last requests:\n{}\n  ",
            self.number,
            P::NAME,
            lines.join("\n")
        )
    }
}

/// Most bytes of requests that are sent at once: a server that does not read while its replies are
/// unread would wait for ever with more.
const BURST_BYTES: usize = 256 << 10;

const HISTORY: usize = 12;
