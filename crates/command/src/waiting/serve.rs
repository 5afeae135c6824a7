//! Serving of waiters by the thread that writes to their keys, before it releases the locks of the
//! keys.
//!
//! ```text
//! locks of the request's keys, and of all keys of those who wait for them or for what these write
//!   the command ──▶ the first in line ──▶ the next ... ──▶ those who wait for what these wrote
//! locks go: all that is one unit
//! ```
//! No other client takes an element between a push and the look at the line. If its keys have no
//! waiters, a command runs as usual and looks again at its end: a waiter that came in between,
//! while the key was still empty, is served then.

#[cfg(test)]
mod tests;

use super::touched::{Request, Touch, Touched, begin_of_lines};
use super::{Waiter, Waiters};
use crate::call::{Call, Outcome, Row, Turn, Unanswered};
use crate::clients::{Answer, Client, ClientFlags, Notice, Pause};
use crate::commands::table;
use crate::database_key::DatabaseKey;
use crate::instance::Instance;
use crate::needs::Needs;
use crate::observing::{Observer, Seen};
use crate::refusal::Refusal;
use crate::run::{Execution, finish};
use crate::session::Session;
use crate::spec::{Flags, Wakes};
use crate::statistics::WorkerStatistics;
use base::{Millis, PositionHash};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use settings::limits::CLIENT_OUTPUT_BUFFER_LIMIT;
use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use store::{Author, Key, Kind, ShardSet, ThreadContext};
use wire::Reply;

/// Number of waiters in a line whose keys are locked at once, unless the request has more
/// arguments.
const SERVED_AT_ONCE: usize = 16;

/// Kind of value whose loss waiters mind.
const MINDED: Kind = Kind::Stream;

/// Runs a command that may wake waiters, while there are any. One that does is counted before they
/// are served: it stands ahead of them in the command log, and their time is not its own.
#[cold]
pub fn run(call: &mut Call<'_>) -> Execution {
    if call.row.spec.wakes == Wakes::Nobody {
        return run_alone(call);
    }
    if call.row.spec.wakes == Wakes::AnyoneAfterwards {
        let began = call.instance.stopwatch.read();
        let execution = run_counted(call, began);
        look_again(call);
        return execution;
    }
    let arrivals = call.instance.waiters.arrivals();
    let mut shards = ShardSet::new();
    let touched = match touches_no_line(call) {
        true => Touched::new(),
        false => Request::of(call).touched(call.instance, &mut shards),
    };
    if !touched.is_empty() {
        let request = Request::of(call);
        let touch = |instance: &Instance| request.touched(instance, &mut ShardSet::new());
        let began = call.instance.stopwatch.read();
        let act = |call: &mut Call<'_>| run_counted(call, began);
        return run_and_serve(call, Server::of(call), arrivals, (touched, shards), touch, act);
    }
    let execution = run_alone(call);
    if call.instance.waiters.arrivals() != arrivals {
        look_again(call);
    }
    execution
}

/// Runs a command, and nobody whom it wakes.
fn run_alone(call: &mut Call<'_>) -> Execution {
    let mark = call.reply.mark();
    let outcome = (call.row.spec.run)(call);
    finish(call, outcome, mark)
}

/// Runs a command that began at a reading of the stopwatch, and counts it.
fn run_counted(call: &mut Call<'_>, began: u64) -> Execution {
    let ahead = call.reply.written().len();
    let execution = run_alone(call);
    if execution != Execution::Done {
        return execution;
    }
    observer(call).count(call, seen(call, began, ahead));
    Execution::Counted
}

fn observer(call: &Call<'_>) -> Observer {
    Observer::of(&call.instance.settings)
}

/// Returns what a run took that began at a reading of the stopwatch, with its reply behind `ahead`
/// bytes.
fn seen(call: &Call<'_>, began: u64, ahead: usize) -> Seen {
    let stopwatch = &call.instance.stopwatch;
    let nanos = stopwatch.nanos_between(began, stopwatch.read());
    Seen { nanos, reply_bytes: call.reply.written().len().saturating_sub(ahead) as u64 }
}

/// Returns true if nobody waits for the only key of a command, as is mostly so.
fn touches_no_line(call: &Call<'_>) -> bool {
    let row = call.row;
    row.has_one_key && row.spec.wakes == Wakes::ItsKeys && {
        let key = call.key(row.first_key);
        !call.instance.waiters.lines.has(call.session.database, key.bytes, key.hash)
    }
}

/// Serves waiters that may have begun to wait for the keys of a command while it ran.
#[cold]
pub fn look_again(call: &mut Call<'_>) {
    if call.row.spec.wakes != Wakes::Nobody {
        let touched = Request::of(call).touched(call.instance, &mut ShardSet::new());
        Server::of(call).serve(call.thread, touched);
    }
}

/// Serves waiters that mind the loss of their keys, if these have expired or been evicted, and
/// those whom a pause has held back. A key that is still there is looked at without a trace.
pub fn recheck(
    instance: &Instance,
    thread: &mut ThreadContext,
    statistics: &WorkerStatistics,
    now: Millis,
) {
    let answers = RefCell::default();
    let server = Server { instance, statistics, now, most: SERVED_AT_ONCE, answers };
    let mut lost = instance.waiters.lines.minded();
    lost.retain(|key| server.kind_at(thread, key) != Some(MINDED));
    let mut touched = begin_of_lines(lost);
    if instance.clients.paused(now) == Pause::Nothing {
        touched.extend(begin_of_lines(instance.waiters.take_held_back()));
    }
    server.serve(thread, touched);
}

/// Runs several commands under one hold of the locks of `shards`, and then the waiters that they
/// wake: all that is one unit.
pub fn run_unit(
    call: &mut Call<'_>,
    shards: ShardSet,
    touch: &Touch<'_>,
    act: impl FnOnce(&mut Call<'_>) -> Outcome,
) -> Outcome {
    let arrivals = call.instance.waiters.arrivals();
    let touched = touch.touched(call.instance);
    let server = Server::behind(call, touch);
    let again = |instance: &Instance| touch.touched(instance);
    run_and_serve(call, server, arrivals, (touched, shards), again, act)
}

/// Runs what `act` does and serves the waiters that it wakes, under one hold of locks: those of
/// `shards`, and of all keys that those in the lines of the `touched` keys name.
fn run_and_serve<'c, T>(
    call: &mut Call<'c>,
    mut server: Server<'c>,
    mut arrivals: u64,
    (mut touched, shards): (Touched, ShardSet),
    touch: impl Fn(&Instance) -> Touched,
    act: impl FnOnce(&mut Call<'_>) -> T,
) -> T {
    let mut held = server.shards_of(&touched, shards);
    let mut hold = loop {
        let hold = call.instance.store.hold(call.thread, held);
        // All waiters that have come stand in line; more can come only after the locks are
        // released.
        let came = server.waiters().arrivals();
        if came == arrivals {
            break hold;
        }
        arrivals = came;
        touched = touch(call.instance);
        let all = server.shards_of(&touched, held);
        if all == held {
            break hold;
        }
        drop(hold);
        held = all;
    };
    let mut inner = Call {
        instance: call.instance,
        thread: hold.thread(),
        session: call.session,
        statistics: call.statistics,
        args: call.args,
        reply: call.reply.reborrow(),
        now: call.now,
        row: call.row,
        first_hash: call.first_hash,
        turn: call.turn,
    };
    let outcome = act(&mut inner);
    let (is_cut, protocol) = (inner.reply.is_cut(), inner.reply.protocol());
    if call.row.spec.flags.contains(Flags::RUNS_QUEUE) {
        // Time stood still for the transaction, but not for those who wait.
        server.now = call.instance.clock.now();
    }
    let rest = server.serve_held(hold.thread(), &held, touched);
    drop(hold);
    server.send_answers(call.thread.journal_position());
    call.reply.take_over(is_cut, protocol);
    server.serve(call.thread, rest);
    outcome
}

/// Reply to a waiter that was served.
struct Served {
    client: Arc<Client>,
    reply: Vec<u8>,
    /// True if the client is told which keys change that it may have cached.
    is_told: bool,
}

/// What has been seen of those who may be served.
#[derive(Default)]
struct Reached {
    /// Keys that they may write to.
    keys: HashTable<(usize, PositionHash)>,
    /// Their tickets.
    waiters: HashSet<u64>,
}

/// State that is needed to serve waiters.
struct Server<'s> {
    instance: &'s Instance,
    statistics: &'s WorkerStatistics,
    now: Millis,
    /// Maximum number of waiters in a line whose keys are locked at once.
    most: usize,
    /// Replies to waiters that were served under the present hold: they leave behind its unit,
    /// whose position they wait for.
    answers: RefCell<Vec<Served>>,
}

impl<'s> Server<'s> {
    fn of(call: &Call<'s>) -> Server<'s> {
        let most = call.args.len().max(SERVED_AT_ONCE);
        let Call { instance, statistics, now, .. } = *call;
        Server { instance, statistics, now, most, answers: RefCell::default() }
    }

    /// As `of`, for a unit that touches these keys.
    fn behind(call: &Call<'s>, touch: &Touch<'_>) -> Server<'s> {
        let server = Server::of(call);
        Server { most: server.most.max(touch.words), ..server }
    }

    /// Returns `shards`, and the shards of all keys that those name who may be served: the waiters
    /// of some keys, those of the keys that these may write to, and so on.
    fn shards_of(&self, touched: &Touched, mut shards: ShardSet) -> ShardSet {
        let mut reached = Reached::default();
        let mut next = Vec::new();
        for (key, ticket) in touched {
            shards.add(key.hash);
            self.reach((key, *ticket), &mut shards, &mut reached, &mut next);
        }
        while let Some(key) = next.pop() {
            self.reach((&key, 0), &mut shards, &mut reached, &mut next);
        }
        shards
    }

    /// Adds the shards of all keys of a key's waiters, which are locked while these are served, and
    /// to `next` the keys that they may write to, unless they have been seen. From the keys that it
    /// waits for a waiter only takes, which serves nobody: their lines are not looked at. Keys of
    /// one database with the same hash count as one: a waiter whose shards are missed by that is
    /// served in another hold. Each waiter is looked at once, though it stands in the lines of all
    /// of its keys.
    fn reach(
        &self,
        (key, ticket): (&DatabaseKey, u64),
        shards: &mut ShardSet,
        reached: &mut Reached,
        next: &mut Vec<DatabaseKey>,
    ) {
        self.waiters().lines.show(key, ticket, self.most, |waiter| {
            if !reached.waiters.insert(waiter.ticket) {
                return;
            }
            waiter.all_keys().for_each(|key| shards.add(key.hash));
            for other in waiter.others.iter().filter(|other| *other != key) {
                let mark = (other.database, other.hash);
                let entry = reached.keys.entry(mark.1.0, |it| *it == mark, |it| it.1.0);
                if let Entry::Vacant(entry) = entry {
                    entry.insert(mark);
                    next.push(other.clone());
                }
            }
        });
    }

    /// Serves the waiters of some keys, in as many holds of locks as it takes.
    fn serve(&self, thread: &mut ThreadContext, mut touched: Touched) {
        touched.retain(|(key, _)| self.waiters().lines.has(key.database, &key.bytes, key.hash));
        let mut shards = ShardSet::new();
        while !touched.is_empty() {
            let arrivals = self.waiters().arrivals();
            shards = self.shards_of(&touched, shards);
            let mut hold = self.instance.store.hold(thread, shards);
            // As in `run_and_serve`.
            let held = match self.waiters().arrivals() == arrivals {
                true => shards,
                false => self.shards_of(&touched, shards),
            };
            if held == shards {
                touched = self.serve_held(hold.thread(), &held, touched);
                shards = ShardSet::new();
                drop(hold);
                self.send_answers(thread.journal_position());
            } else {
                shards = held;
            }
        }
    }

    /// Serves the waiters of some keys, which are locked. Returns the lines whose next waiter has
    /// keys that are not.
    fn serve_held(
        &self,
        thread: &mut ThreadContext,
        held: &ShardSet,
        mut touched: Touched,
    ) -> Touched {
        let mut rest = Touched::new();
        while let Some((key, ticket)) = touched.pop_front() {
            if let Some(ticket) = self.serve_line(thread, held, (&key, ticket), &mut touched) {
                rest.push_back((key, ticket));
            }
        }
        rest
    }

    /// Serves the line of a key as long as the key holds what its waiters want. Returns the ticket
    /// of the last waiter that was looked at, if the keys of the next one are not all locked.
    fn serve_line(
        &self,
        thread: &mut ThreadContext,
        held: &ShardSet,
        (key, mut ticket): (&DatabaseKey, u64),
        touched: &mut Touched,
    ) -> Option<u64> {
        // Kind of the key's value; the outer `None` while it is unknown.
        let mut known = None;
        while let Some((waiter, is_minded)) = self.waiters().lines.next(key, ticket) {
            let kind = *known.get_or_insert_with(|| self.kind_at(thread, key));
            let is_for = waiter.wants.minds_loss || kind == Some(waiter.wants.kind);
            if kind.is_none() && !is_minded {
                return None;
            }
            if is_for {
                if !waiter.all_keys().all(|key| held.has(key.hash.shard())) {
                    return Some(ticket);
                }
                if self.is_held_back(row_of(&waiter)) {
                    self.waiters().hold_back(key);
                    return None;
                }
                if self.try_again(thread, &waiter) {
                    // The request may have written to keys beside those that it waited for, and
                    // taken the last element of this one.
                    let others = waiter.others.iter().filter(|other| *other != key);
                    touched.extend(others.map(|other| (other.clone(), 0)));
                    known = None;
                }
            }
            ticket = waiter.ticket;
        }
        None
    }

    fn waiters(&self) -> &Waiters {
        &self.instance.waiters
    }

    /// Returns the present kind of a key's value, if there is one.
    fn kind_at(&self, thread: &mut ThreadContext, key: &DatabaseKey) -> Option<Kind> {
        let store = &self.instance.store;
        let keyspace = store.keyspace(key.database)?;
        let key = Key { bytes: &key.bytes, hash: key.hash, keyspace };
        store.lock(thread, &key, self.now).lookup_without_touch(&key).map(|value| value.kind)
    }

    /// Bytes that a reply to a client may take before the client is over its limit.
    fn reply_room(&self, client: &Client) -> usize {
        let limits = CLIENT_OUTPUT_BUFFER_LIMIT.get(&self.instance.settings);
        match limits.normal.hard_output() {
            None => usize::MAX,
            Some(hard) => {
                narrow::to_usize(hard.saturating_sub(client.output_bytes.load(Relaxed)).max(1))
            }
        }
    }

    /// Returns true if a pause holds back commands of a row.
    fn is_held_back(&self, row: &Row) -> bool {
        let missing = row.needs.difference(self.instance.grants.get());
        missing.intersects(Needs::WRITES_FLOW | Needs::UNPAUSED)
            && match self.instance.clients.paused(self.now) {
                Pause::Nothing => false,
                Pause::Writes => row.needs.contains(Needs::WRITES_FLOW),
                Pause::Everything => true,
            }
    }

    /// Returns the refusal of a command that was admitted when its client came, and is not now.
    fn refusal_of(&self, row: &Row) -> Option<Refusal> {
        if row.needs.contains(Needs::MEMORY) && !self.instance.has_memory() {
            return Some(Refusal::OUT_OF_MEMORY);
        }
        let lacks_disk = !self.instance.grants.get().contains(row.needs & Needs::DISK);
        lacks_disk.then(|| self.instance.refusal_of_writes()).flatten()
    }

    /// Runs the request of a waiter again; returns true if that has answered it. A client that is
    /// to be closed takes nothing.
    fn try_again(&self, thread: &mut ThreadContext, waiter: &Arc<Waiter>) -> bool {
        let mut is_answered = waiter.is_answered();
        if *is_answered || waiter.client.is_doomed() {
            return false;
        }
        let (row, mut reply) = (row_of(waiter), Vec::new());
        let most = self.reply_room(&waiter.client);
        let mut session = session_of(waiter);
        let mut call = Call {
            instance: self.instance,
            thread,
            session: &mut session,
            statistics: self.statistics,
            args: waiter.args(),
            reply: Reply::with_limit(&mut reply, waiter.client_state.protocol, most),
            now: self.now,
            row,
            first_hash: None,
            turn: Turn::Again,
        };
        let (mark, began) = (call.reply.mark(), self.instance.stopwatch.read());
        let author = Author { client: waiter.client.id, is_served: true };
        let others = std::mem::replace(&mut call.thread.author, author);
        let rejection = self.refusal_of(row);
        let is_rejected = rejection.is_some();
        let outcome = match rejection {
            Some(refusal) => Err(refusal.into()),
            None => (row.spec.run)(&mut call),
        };
        call.thread.author = others;
        match outcome {
            Ok(()) => {}
            Err(Unanswered::ByMail | Unanswered::Waits) => return false,
            Err(Unanswered::Refused(refusal)) => {
                call.reply.truncate(mark);
                call.reply.error(refusal.text());
                self.instance.statistics.count_error(refusal.code());
                let counts = &self.statistics.commands[row.id];
                let count = if is_rejected { &counts.rejected } else { &counts.failed };
                count.add(1);
            }
        }
        if !is_rejected {
            observer(&call).count(&call, seen(&call, began, 0));
        }
        if call.reply.is_cut() {
            self.statistics.server.output_limit_closed.add(1);
            waiter.client.kill();
        }
        *is_answered = true;
        drop(is_answered);
        self.waiters().remove_answered(waiter);
        let is_told = waiter.client.flags().contains(ClientFlags::TRACKING);
        if is_told {
            self.instance.tracking.begin_answer();
        }
        let client = Arc::clone(&waiter.client);
        self.answers.borrow_mut().push(Served { client, reply, is_told });
        true
    }

    /// Sends the replies to those who were served, which leave once `position` is safe.
    fn send_answers(&self, position: u64) {
        for Served { client, reply, is_told } in self.answers.take() {
            let answer = Answer { reply, position, unserved: None };
            client.notify(Notice::Answer(client.id, answer));
            if is_told {
                self.instance.tracking.end_answer();
            }
        }
    }
}

/// Counts the command of a waiter whose wait ended without another run of it: its time was over, or
/// CLIENT UNBLOCK ended it.
pub fn count_unserved(
    instance: &Instance,
    thread: &mut ThreadContext,
    statistics: &WorkerStatistics,
    now: Millis,
    waiter: &Waiter,
    seen: Seen,
) {
    let (mut session, mut reply) = (session_of(waiter), Vec::new());
    let call = Call {
        instance,
        thread,
        session: &mut session,
        statistics,
        args: waiter.args(),
        reply: Reply::new(&mut reply, waiter.client_state.protocol),
        now,
        row: row_of(waiter),
        first_hash: None,
        turn: Turn::Again,
    };
    observer(&call).count(&call, seen);
}

/// Returns a session in the state in which the client began to wait.
fn session_of(waiter: &Waiter) -> Session {
    let mut session = Session::new(Arc::clone(&waiter.client), true);
    session.database = waiter.client_state.database;
    session.protocol = waiter.client_state.protocol;
    session.modes = waiter.client_state.modes;
    session
}

fn row_of(waiter: &Waiter) -> &'static Row {
    &table().rows()[waiter.command]
}
