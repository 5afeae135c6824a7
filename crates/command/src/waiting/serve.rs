//! Serving those who wait for keys, by whoever writes to them, before the locks of the keys go.
//!
//! ```text
//! locks of the request's keys, and of all keys of those who wait for them (BLMOVE has another one)
//!   the command ──▶ the first in line ──▶ the next ... ──▶ those who wait for what these wrote
//! locks go: all that is one unit
//! ```
//! Nobody takes an element between a push and the look at the line. Where nobody waits for its keys
//! a command runs as ever, and looks once more when it is through: who came in between, while the
//! key was still empty, is served then.

use super::waiter::Place;
use super::{Waiter, Waiters};
use crate::args::Args;
use crate::call::{Call, Outcome, Row, Unanswered};
use crate::clients::Client;
use crate::commands::table;
use crate::instance::Instance;
use crate::session::Session;
use crate::spec::Wakes;
use crate::statistics::WorkerStatistics;
use base::{KeyspaceId, Millis};
use settings::limits::CLIENT_OUTPUT_BUFFER_LIMIT;
use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use store::{Kind, Lane, ShardSet};
use wire::Reply;

/// Of those in a line so many have their keys locked at first, or as many as the request has words.
const SERVED_AT_ONCE: usize = 16;

/// Keys to look at, and the ticket of the last in the line of each who was looked at already.
type Touched = VecDeque<(Place, u64)>;

/// Runs a command that may wake somebody, while somebody waits.
///
/// # Errors
/// Those of the command.
#[cold]
pub fn run(call: &mut Call<'_>) -> Outcome {
    let waiters = &call.instance.waiters;
    let (touched, shards) = match call.row.spec.wakes {
        Wakes::Nobody => return (call.row.spec.run)(call),
        Wakes::AnyoneAfterwards => {
            let outcome = (call.row.spec.run)(call);
            serve(call, begin_of_lines(waiters.places(|_| true)));
            return outcome;
        }
        Wakes::Anyone => (waiters.places(|_| true), ShardSet::all()),
        Wakes::ItsKeys | Wakes::ItsKeysAnywhere => named(call),
    };
    if !touched.iter().any(|place| waiters.has(place)) {
        let outcome = (call.row.spec.run)(call);
        serve(call, begin_of_lines(touched));
        return outcome;
    }
    run_and_serve(call, begin_of_lines(touched), shards)
}

/// For after a command during which somebody may have begun to wait for its keys.
#[cold]
pub fn look_again(call: &mut Call<'_>) {
    let touched = match call.row.spec.wakes {
        Wakes::Nobody => return,
        Wakes::AnyoneAfterwards | Wakes::Anyone => call.instance.waiters.places(|_| true),
        Wakes::ItsKeys | Wakes::ItsKeysAnywhere => named(call).0,
    };
    serve(call, begin_of_lines(touched));
}

/// Looks after those who mind the loss of their keys, which may have expired or been evicted.
pub fn recheck(instance: &Instance, lane: &mut Lane, statistics: &WorkerStatistics, now: Millis) {
    let lost = instance.waiters.places(|line| line.minding > 0);
    Server { instance, statistics, now, most: SERVED_AT_ONCE }.serve(lane, begin_of_lines(lost));
}

/// The places of the keys that a request names, and their shards.
fn named(call: &Call<'_>) -> (Vec<Place>, ShardSet) {
    let mut places = places_named(call.row, call.args, call.session.database);
    let mut shards = ShardSet::new();
    places.iter().for_each(|place| add_shard(call.instance, &mut shards, place));
    if call.row.spec.wakes == Wakes::ItsKeysAnywhere {
        let names: HashSet<Vec<u8>> = places.into_iter().map(|(_, key)| key).collect();
        places = call.instance.waiters.places(|_| true);
        places.retain(|(_, key)| names.contains(key));
    }
    (places, shards)
}

/// Every key that a request names.
fn places_named(row: &Row, args: Args<'_>, database: usize) -> Vec<Place> {
    let words: Vec<&[u8]> = args.from(0).collect();
    let found = (row.spec.find_keys)(row.spec.keys, &words).unwrap_or_default();
    found.into_iter().map(|(key, _)| (database, key.to_vec())).collect()
}

fn begin_of_lines(places: Vec<Place>) -> Touched {
    places.into_iter().map(|place| (place, 0)).collect()
}

/// Adds the shard of a key, which is the same in every database.
fn add_shard(instance: &Instance, shards: &mut ShardSet, (_, key): &Place) {
    shards.add(instance.store.key(KeyspaceId(0), key).hash);
}

/// Serves those who wait for some keys, after a command.
fn serve(call: &mut Call<'_>, touched: Touched) {
    Server::of(call).serve(call.lane, touched);
}

/// Runs a command and serves those whom it woke, under one hold of locks.
fn run_and_serve(call: &mut Call<'_>, mut touched: Touched, shards: ShardSet) -> Outcome {
    let server = Server::of(call);
    let shards = server.shards_of(&touched, shards);
    let mut hold = call.instance.store.hold(call.lane, shards);
    // Whoever came until now stands in line: more of them come only after the locks have gone.
    let held = server.shards_of(&touched, shards);
    if held != shards {
        drop(hold);
        return run_and_serve(call, touched, held);
    }
    let mut inner = Call {
        instance: call.instance,
        lane: hold.lane(),
        session: call.session,
        statistics: call.statistics,
        args: call.args,
        reply: call.reply.reborrow(),
        now: call.now,
        row: call.row,
        first_hash: call.first_hash,
        is_again: call.is_again,
    };
    let outcome = (inner.row.spec.run)(&mut inner);
    let (is_cut, protocol) = (inner.reply.is_cut(), inner.reply.protocol());
    let rest = server.serve_held(hold.lane(), &held, &mut touched);
    drop(hold);
    call.reply.take_over(is_cut, protocol);
    server.serve(call.lane, rest);
    outcome
}

/// What a worker serves with.
struct Server<'s> {
    instance: &'s Instance,
    statistics: &'s WorkerStatistics,
    now: Millis,
    /// How many of a line have their keys locked at once.
    most: usize,
}

impl<'s> Server<'s> {
    fn of(call: &Call<'s>) -> Server<'s> {
        let most = call.args.len().max(SERVED_AT_ONCE);
        Server { instance: call.instance, statistics: call.statistics, now: call.now, most }
    }

    /// `shards`, and those of all keys that may be reached by serving those who wait for some keys:
    /// each of them may write to other keys, for which others wait.
    fn shards_of(&self, touched: &Touched, mut shards: ShardSet) -> ShardSet {
        let mut seen: HashSet<Place> = touched.iter().map(|(place, _)| place.clone()).collect();
        let mut next = touched.clone();
        while let Some((place, ticket)) = next.pop_front() {
            add_shard(self.instance, &mut shards, &place);
            for waiter in self.waiters().line(&place, ticket, self.most) {
                for place in all_places(&waiter) {
                    if seen.insert(place.clone()) {
                        next.push_back((place, 0));
                    }
                }
            }
        }
        shards
    }

    /// Serves those who wait for some keys, in as many holds of locks as it takes.
    fn serve(&self, lane: &mut Lane, mut touched: Touched) {
        touched.retain(|(place, _)| self.waiters().has(place));
        let mut shards = ShardSet::new();
        while !touched.is_empty() {
            shards = self.shards_of(&touched, shards);
            let mut hold = self.instance.store.hold(lane, shards);
            let held = self.shards_of(&touched, shards);
            if held == shards {
                touched = self.serve_held(hold.lane(), &held, &mut touched);
                shards = ShardSet::new();
            } else {
                shards = held;
            }
        }
    }

    /// Serves those who wait for some keys, which are locked; returns the lines in which somebody
    /// comes whose keys are not.
    fn serve_held(&self, lane: &mut Lane, held: &ShardSet, touched: &mut Touched) -> Touched {
        let mut rest = Touched::new();
        while let Some((place, ticket)) = touched.pop_front() {
            if let Some(ticket) = self.serve_line(lane, held, (&place, ticket), touched) {
                rest.push_back((place, ticket));
            }
        }
        rest
    }

    /// Serves those in the line of a key, as long as it holds what they wait for. Returns the
    /// ticket of the last who was looked at, if the next one's keys are not all locked.
    fn serve_line(
        &self,
        lane: &mut Lane,
        held: &ShardSet,
        (place, mut ticket): (&Place, u64),
        touched: &mut Touched,
    ) -> Option<u64> {
        let mut kind = self.kind_at(lane, place);
        while let Some((waiter, is_minded)) = self.waiters().next(place, ticket) {
            let is_for = waiter.wants.minds_loss || kind == Some(waiter.wants.kind);
            if is_for {
                let places = all_places(&waiter);
                let mut wanted = ShardSet::new();
                places.iter().for_each(|place| add_shard(self.instance, &mut wanted, place));
                if !held.has_all(&wanted) {
                    return Some(ticket);
                }
                if self.try_again(lane, &waiter) {
                    // It may have written to other keys, and taken the last of what was here.
                    touched.extend(begin_of_lines(places));
                    kind = self.kind_at(lane, place);
                }
            }
            ticket = waiter.ticket;
            if kind.is_none() && !is_minded {
                return None;
            }
        }
        None
    }

    fn waiters(&self) -> &Waiters {
        &self.instance.waiters
    }

    /// What the key at a place holds now.
    fn kind_at(&self, lane: &mut Lane, (database, key): &Place) -> Option<Kind> {
        let store = &self.instance.store;
        let key = store.key(store.keyspace(*database)?, key);
        store.lock(lane, &key, self.now).peek(&key).map(|value| value.kind)
    }

    /// Bytes that a reply to a client may take before the client is over its limit.
    fn reply_room(&self, client: &Client) -> usize {
        let limits = CLIENT_OUTPUT_BUFFER_LIMIT.get(&self.instance.settings);
        match limits.normal.hard_bytes {
            0 => usize::MAX,
            hard => narrow::to_usize(hard.saturating_sub(client.output_bytes.load(Relaxed)).max(1)),
        }
    }

    /// Runs a command again; whether it has its answer now.
    fn try_again(&self, lane: &mut Lane, waiter: &Arc<Waiter>) -> bool {
        let mut is_answered = waiter.is_answered();
        if *is_answered {
            return false;
        }
        let (row, mut reply) = (row_of(waiter), Vec::new());
        let most = self.reply_room(&waiter.client);
        let mut session = Session::new(Arc::clone(&waiter.client), true);
        session.database = waiter.manner.database;
        session.protocol = waiter.manner.protocol;
        session.no_touch = waiter.manner.no_touch;
        session.import_source = waiter.manner.import_source;
        let mut call = Call {
            instance: self.instance,
            lane,
            session: &mut session,
            statistics: self.statistics,
            args: waiter.args(),
            reply: Reply::with_limit(&mut reply, waiter.manner.protocol, most),
            now: self.now,
            row,
            first_hash: None,
            is_again: true,
        };
        let mark = call.reply.mark();
        match (row.spec.run)(&mut call) {
            Ok(()) => {}
            Err(Unanswered::Waits) => return false,
            Err(Unanswered::Refused(refusal)) => {
                call.reply.truncate(mark);
                call.reply.error(refusal.text());
                self.instance.statistics.count_error(refusal.code());
                self.statistics.commands[row.id].failed.add(1);
            }
        }
        if call.reply.is_cut() {
            self.statistics.server.output_limit_closed.add(1);
            waiter.client.kill();
        }
        *is_answered = true;
        drop(is_answered);
        self.waiters().let_go(waiter, reply);
        true
    }
}

fn row_of(waiter: &Waiter) -> &'static Row {
    &table().rows()[waiter.command]
}

/// Every key that the request of a waiter names: those that it does not wait for too.
fn all_places(waiter: &Waiter) -> Vec<Place> {
    places_named(row_of(waiter), waiter.args(), waiter.manner.database)
}
