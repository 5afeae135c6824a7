//! The connections of a phase, and the checks after it.

use super::carriers::Carrier;
use super::collections::Collections;
use super::disturb::{Disturber, Reader};
use super::items::{self, Shared, play_evicted, play_own, play_shared};
use super::line::{Part, drive};
use super::memory::{Peak, watch};
use super::mine::Mine;
use super::phase::Place;
use super::process::Server;
use super::rough::be_rough;
use super::streams::{self, Consumer};
use super::strings::Strings;
use super::sums::{self, Counting, Sums};
use super::swapped::{self, Swapped};
use super::tokens::{self, Tokens};
use crate::client::Client;
use anyhow::{Context, Result};
use std::sync::Mutex;
use std::thread::{Scope, scope};

/// Knowledge of the connections at the end.
#[derive(Default)]
struct Known {
    sums: Mutex<Vec<Sums>>,
    swapped: Mutex<Vec<Sums>>,
    consumers: Mutex<Vec<Consumer>>,
    items: Shared,
}

/// Limits of resident memory, in bytes.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    /// Allowance above `maxmemory`.
    pub(super) slack: u64,
    /// Limit in all phases.
    pub(super) most: u64,
}

/// Plays a phase and checks it; failures are recorded in the place.
pub(super) fn play(
    server: &Server,
    place: &Place,
    connections: usize,
    bounds: Bounds,
    peak: &Peak,
) -> Result<()> {
    let shape = &place.shape;
    let tokens = Tokens::new(shape.tokens, shape.token_bytes, place.seed);
    let known = Known::default();
    if !place.evicts() {
        let mut client = Client::open(place.addresses.next(), place.patience)?;
        tokens::lay_out(&mut client, &tokens, shape.collections)?;
        streams::lay_out(&mut client)?;
        swapped::lay_out(&mut client)?;
    }
    scope(|threads| {
        threads.spawn(|| watch(server, place, peak, bounds.slack, bounds.most));
        let stage = Stage { threads, place };
        stage.disturb(&tokens);
        if place.evicts() {
            stage.evict(connections);
        } else {
            stage.everything(connections, &tokens, &known);
        }
    });
    if place.has_failed() || place.evicts() {
        return Ok(());
    }
    let mut client = Client::open(place.addresses.next(), place.patience)?;
    verify(&mut client, &tokens, known)
}

fn verify(client: &mut Client, tokens: &Tokens, known: Known) -> Result<()> {
    tokens::verify(client, tokens).context("tokens")?;
    let all = |sums: Mutex<Vec<Sums>>| sums::together(sums.into_inner().unwrap_or_default());
    sums::verify(client, &all(known.sums)).context("sums")?;
    swapped::verify(client, &all(known.swapped)).context("swapped databases")?;
    let consumers = known.consumers.into_inner().unwrap_or_default();
    streams::verify(client, &consumers).context("streams")?;
    items::verify(client, known.items).context("items")
}

/// Starter of connections, each in a thread of its own.
struct Stage<'scope, 'place> {
    threads: &'scope Scope<'scope, 'place>,
    place: &'place Place,
}

impl<'scope, 'place: 'scope> Stage<'scope, 'place> {
    fn disturb(&self, tokens: &'place Tokens) {
        let place = self.place;
        self.start(100, move || Disturber::new(place), |_| {});
        for number in [101, 102] {
            self.start(number, Reader::new, |_| {});
        }
        for number in [103, 104] {
            self.threads.spawn(move || {
                if let Err(error) = be_rough(place, tokens, number) {
                    place.fail(format!("rough connection {number}: {error:#}"));
                }
            });
        }
    }

    fn evict(&self, connections: usize) {
        let place = self.place;
        for number in [105, 106] {
            self.start_items(number, move || play_evicted(place, number));
        }
        for number in 0..connections as u64 {
            match number % 2 {
                0 => self.start(number, move || Strings::new(place), |_| {}),
                _ => self.start(number, move || Collections::new(place), |_| {}),
            }
        }
    }

    fn everything(&self, connections: usize, tokens: &'place Tokens, known: &'place Known) {
        let place = self.place;
        for number in [105, 106, 107] {
            self.start_items(number, move || play_shared(place, number, &known.items));
        }
        for number in [108, 109] {
            self.start_items(number, move || play_own(place, number));
        }
        for number in 0..connections as u64 {
            match number % 8 {
                0 | 1 => self.start(number, move || Carrier::new(place, tokens, number), |_| {}),
                2 => self.start(
                    number,
                    move || Counting::new(place),
                    |counting| {
                        keep(&known.sums, counting.added);
                    },
                ),
                3 => self.start(number, move || Strings::new(place), |_| {}),
                4 => self.start(number, move || Collections::new(place), |_| {}),
                5 => self.start(
                    number,
                    move || Consumer::new(place, number),
                    |consumer| {
                        keep(&known.consumers, consumer);
                    },
                ),
                6 => self.start(number, move || Mine::new(place, number), |_| {}),
                _ => self.start(
                    number,
                    move || Swapped::new(place),
                    |swapped| {
                        keep(&known.swapped, swapped.sums());
                    },
                ),
            }
        }
    }

    /// Starts a connection to the port of Memcached's protocol.
    fn start_items(&self, number: u64, play: impl FnOnce() -> Result<()> + Send + 'scope) {
        let place = self.place;
        self.threads.spawn(move || {
            if let Err(error) = play() {
                place.fail(format!("connection {number} of items: {error:#}"));
            }
        });
    }

    fn start<P: Part>(
        &self,
        number: u64,
        part: impl FnOnce() -> P + Send + 'scope,
        done: impl FnOnce(P) + Send + 'scope,
    ) {
        let place = self.place;
        self.threads.spawn(move || match drive(part(), place, number) {
            Ok(part) => done(part),
            Err(error) => place.fail(format!("{error:#}")),
        });
    }
}

fn keep<T>(all: &Mutex<Vec<T>>, one: T) {
    if let Ok(mut all) = all.lock() {
        all.push(one);
    }
}
