//! Items that one thread alone writes, by both protocols, so that it knows all of them: their
//! values, and what is known besides to Memcached's clients alone. Other connections make the
//! server move and copy them meanwhile.

use super::super::chance::Chance;
use super::super::content::value;
use super::super::phase::{Place, Shape};
use super::super::words::shown;
use super::connection::Connection;
use super::item::{Item, Told};
use crate::client::{Client, Reply};
use anyhow::{Context, Result, ensure};
use std::collections::{BTreeMap, VecDeque};

/// What a thread knows of its items.
pub(super) struct Own {
    number: u64,
    pub(super) shape: Shape,
    pub(super) items: BTreeMap<usize, Item>,
    pub(super) told: Told,
    /// Lines that were planned.
    pub(super) lines: u64,
    /// The last requests.
    history: VecDeque<String>,
}

/// Requests that are sent at once, and what is expected of each.
pub(super) struct Burst<E> {
    pub(super) bytes: Vec<u8>,
    pub(super) due: Vec<(String, E)>,
}

/// Writes and reads items of its own until the phase is over.
pub(in super::super) fn play(place: &Place, number: u64) -> Result<()> {
    let mut chance = Chance::new(place.seed, number);
    let mut connection = Connection::open(place)?;
    let mut client = Client::open(place.addresses.next(), place.patience)?;
    let mut own = Own::new(place, number);
    while !place.is_over() {
        let depth = chance.within(1, place.shape.depth_max);
        let count = match chance.one_in(3) {
            true => own.play_commands(&mut client, &mut chance, depth)?,
            false => own.play_lines(&mut connection, &mut chance, depth)?,
        };
        place.count(count);
    }
    Ok(())
}

impl Own {
    fn new(place: &Place, number: u64) -> Self {
        let (items, told) = (BTreeMap::new(), Told::default());
        let (shape, history) = (place.shape.clone(), VecDeque::new());
        Self { number, shape, items, told, lines: 0, history }
    }

    /// Returns the name of a key.
    pub(super) fn key(&self, at: usize) -> String {
        format!("items{}:{at}", self.number)
    }

    /// Returns a new value, which is a number now and then.
    pub(super) fn value(&self, at: usize, chance: &mut Chance) -> Vec<u8> {
        if chance.one_in(3) {
            return (chance.bits() >> chance.within(1, 63)).to_string().into_bytes();
        }
        let length = chance.length(self.shape.value_bytes);
        value(at as u32, length, chance)
    }

    /// Plans so many requests, or fewer that are long.
    fn planned<E>(
        &mut self,
        chance: &mut Chance,
        depth: usize,
        plan: fn(&mut Own, &mut Burst<E>, &mut Chance),
    ) -> Burst<E> {
        let mut burst = Burst::default();
        while burst.due.len() < depth && burst.bytes.len() < BURST_BYTES {
            plan(self, &mut burst, chance);
        }
        burst
    }

    fn play_lines(
        &mut self,
        connection: &mut Connection,
        chance: &mut Chance,
        depth: usize,
    ) -> Result<u64> {
        let burst = self.planned(chance, depth, Own::plan_line);
        let count = burst.due.len() as u64;
        connection.send(&burst.bytes)?;
        for (line, expected) in burst.due {
            self.remember(line);
            let answered = connection.answer();
            let checked = answered.and_then(|answer| {
                let told = || answer[..answer.len().min(100)].escape_ascii().to_string();
                self.told.check(&expected, &answer).with_context(told)
            });
            checked.with_context(|| self.history_for_people())?;
        }
        Ok(count)
    }

    fn play_commands(
        &mut self,
        client: &mut Client,
        chance: &mut Chance,
        depth: usize,
    ) -> Result<u64> {
        let burst = self.planned(chance, depth, Own::plan_command);
        let count = burst.due.len() as u64;
        client.send(&burst.bytes)?;
        for (command, expected) in burst.due {
            self.remember(command);
            let reply = client.receive().with_context(|| self.history_for_people())?;
            let is_expected = match &expected {
                // Whatever its words are.
                Reply::Error(_) => matches!(reply, Reply::Error(_)),
                expected => reply == *expected,
            };
            let told = || format!("{} instead of {}", shown(&reply), shown(&expected));
            ensure!(is_expected, "{}{}", self.history_for_people(), told());
        }
        Ok(count)
    }

    fn remember(&mut self, request: String) {
        if self.history.len() == HISTORY {
            self.history.pop_front();
        }
        self.history.push_back(request);
    }

    /// Returns the last requests that name the key of the last one.
    fn history_for_people(&self) -> String {
        let key = |request: &String| {
            let key = request.split(' ').find(|word| word.starts_with("items"));
            key.unwrap_or_default().to_owned()
        };
        let last = self.history.back().map(key).unwrap_or_default();
        let names = |request: &&String| request.split(' ').any(|word| word == last);
        let lines: Vec<&str> = self.history.iter().filter(names).map(String::as_str).collect();
        let lines = lines[lines.len().saturating_sub(SHOWN)..].join("\n    ");
        format!("items of its own, the last requests for {last}:\n    {lines}\n  ")
    }
}

impl<E> Default for Burst<E> {
    fn default() -> Self {
        Self { bytes: Vec::new(), due: Vec::new() }
    }
}

/// Most bytes of requests that are sent at once: a server that does not read while its replies are
/// unread would wait for ever with more.
const BURST_BYTES: usize = 256 << 10;
/// Requests that are kept, and shown.
const HISTORY: usize = 1000;
const SHOWN: usize = 12;
/// Number of its keys.
pub(super) const KEYS: usize = 10;
