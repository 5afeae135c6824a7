//! Serving of waiters by the thread that writes to their keys, before it releases the locks of the
//! keys.
//!
//! ```text
//! locks of the request's keys, of all keys of their waiters, and of keys that these may write to
//!   the command ──▶ the first in line ──▶ the next ... ──▶ waiters for what these wrote
//! locks go: all that is one unit
//! ```
//! No other client takes an element between a push and the look at the line. If its keys have no
//! waiters, a command runs as usual and looks again at its end: a waiter that came in between,
//! while the key was still empty, is served then.

pub(super) mod rerun;
use super::touched::{Gathered, Request, Touch, Touched, begin_of_lines};
use crate::call::Environment;
use crate::flags::{Flags, Wakes};
use crate::observer::{Observer, Seen};
use crate::row::{Call, Row, Turn};
use crate::run::{Execution, finish};
use base::PositionHash;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use session::{Answer, Client, DatabaseKey, Instance, Notice, Pause, Waiter, Waiters};
use std::cell::RefCell;
use std::collections::HashSet;
use std::sync::Arc;
use store::{Key, Kind, ShardSet, ThreadContext};

/// Number of waiters in a line whose keys are locked at once, unless the request has more arguments
/// or the requests of the unit have.
const SERVED_AT_ONCE: usize = 16;

/// Kind of value whose loss waiters mind.
const MINDED: Kind = Kind::Stream;

/// Runs a command that may wake waiters, while there are any.
#[inline(never)]
pub fn run(call: &mut Call<'_>) -> Execution {
    let arrivals = call.instance.waiters.arrivals();
    if !touches_no_line(call) {
        return run_before_lines(call, arrivals);
    }
    let execution = run_alone(call);
    if call.instance.waiters.arrivals() != arrivals {
        look_again(call);
    }
    execution
}

/// Runs a command that may have lines before it, when so many waiters had come. One that wakes
/// somebody is counted before they are served: it stands ahead of them in the command log, and
/// their time is not its own.
#[cold]
fn run_before_lines(call: &mut Call<'_>, arrivals: u64) -> Execution {
    if call.row.spec.wakes == Wakes::AnyoneAfterwards {
        let began = call.instance.stopwatch.read();
        let execution = run_counted(call, began);
        look_again(call);
        return execution;
    }
    let (request, mut shards) = (Request::of(call), ShardSet::new());
    let touched = request.touched(call.instance, &mut shards);
    if !touched.is_empty() {
        let touch = |instance: &Instance| request.touched(instance, &mut ShardSet::new());
        let began = call.instance.stopwatch.read();
        let act = |call: &mut Call<'_>| run_counted(call, began);
        return run_and_serve(call, Waker::of(call), arrivals, (touched, shards), touch, act);
    }
    let execution = run_alone(call);
    if call.instance.waiters.arrivals() != arrivals {
        look_again(call);
    }
    execution
}

/// Runs a command, and no waiter that it wakes.
#[inline]
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

/// Returns true if a command wakes nobody, or nobody waits for its only key, as is mostly so.
#[inline]
fn touches_no_line(call: &Call<'_>) -> bool {
    match call.row.spec.wakes {
        Wakes::ItsKeys if call.row.has_one_key => {
            let key = call.key(call.row.first_key);
            !call.instance.waiters.lines.has(call.session.database, key.bytes, key.hash)
        }
        wakes => wakes == Wakes::Nobody,
    }
}

/// Returns true if clients wait for keys that a command may write. If it locks them, that stays so
/// until its locks go.
pub fn has_lines(call: &Call<'_>) -> bool {
    let may_wake = call.row.spec.flags.contains(Flags::WRITE);
    may_wake
        && call.instance.waiters.count() > 0
        && call.row.spec.wakes != Wakes::Nobody
        && !Request::of(call).touched(call.instance, &mut ShardSet::new()).is_empty()
}

/// Serves waiters that may have begun to wait for the keys of a command while it ran.
#[cold]
pub fn look_again(call: &mut Call<'_>) {
    if call.row.spec.wakes != Wakes::Nobody {
        let touched = Request::of(call).touched(call.instance, &mut ShardSet::new());
        Waker::of(call).serve(call.thread, touched);
    }
}

/// Serves waiters that mind the loss of their keys, if these are gone: expired, evicted, or moved
/// to another waker. A key that is still there is looked at without a trace.
pub fn serve_losses(environment: Environment<'_>, thread: &mut ThreadContext) {
    let waker = Waker::at(environment);
    let mut lost = environment.instance.waiters.lines.minded();
    lost.retain(|key| waker.kind_at(thread, key) != Some(MINDED));
    waker.serve(thread, begin_of_lines(lost));
}

/// Serves all waiters that find what they wait for, where other data has taken the place of all
/// that there was.
pub fn serve_all(environment: Environment<'_>, thread: &mut ThreadContext) {
    let waker = Waker::at(environment);
    waker.serve(thread, begin_of_lines(environment.instance.waiters.lines.all()));
}

/// Runs the requests of the waiters that a pause has postponed, if it is over. The thread has no
/// locks.
pub fn resume_postponed(environment: Environment<'_>, thread: &mut ThreadContext) {
    let postponed = &environment.instance.waiters.postponed;
    if !postponed.is_any() || environment.instance.paused() != Pause::Nothing {
        return;
    }
    let waker = Waker::at(environment);
    postponed.run_all(|waiter| waker.resume(thread, waiter));
}

/// Runs several commands under one hold of the locks of `shards`, and then the waiters that they
/// wake: all that is one unit. If the unit ended a CLIENT PAUSE, runs the waiters that the pause
/// had postponed.
pub fn run_unit<T>(
    call: &mut Call<'_>,
    shards: ShardSet,
    touch: &Touch<'_>,
    act: impl FnOnce(&mut Call<'_>) -> T,
) -> T {
    let arrivals = call.instance.waiters.arrivals();
    let touched = touch.touched(call.instance);
    let waker = Waker::behind(call, touch);
    let again = |instance: &Instance| touch.touched(instance);
    let outcome = run_and_serve(call, waker, arrivals, (touched, shards), again, act);
    if call.instance.waiters.postponed.is_any() {
        let now = call.instance.clock.now();
        resume_postponed(Environment { now, ..call.environment() }, call.thread);
    }
    outcome
}

/// Runs a script under a hold of `shards` that grows as it reaches others, and then the waiters
/// that it has woken: all that is one unit.
pub fn run_gathering<T>(
    call: &mut Call<'_>,
    shards: ShardSet,
    act: impl FnOnce(&mut Call<'_>, &mut Gathered) -> T,
) -> T {
    let (mut waker, mut woken) = (Waker::of(call), Gathered::default());
    let instance = call.instance;
    let (thread, mut outer) = call.split();
    let mut hold = instance.store.hold_to_grow(thread, shards);
    let outcome = outer.nested(hold.thread(), outer.invocation, |call| act(call, &mut woken));
    // Time stood still for the script, but not for the waiters.
    waker.environment.now = instance.clock.now();
    waker.most = waker.most.max(woken.words);
    let held = waker.shards_of(&woken.touched, hold.held());
    instance.store.grow(hold.thread(), &held);
    let rest = waker.serve_held(hold.thread(), &held, woken.touched);
    drop(hold);
    waker.send_answers(thread.journal_position());
    waker.serve(thread, rest);
    outcome
}

/// Runs what `act` does and serves the waiters that it wakes, under one hold of locks: those of
/// `shards`, and of all keys that those in the lines of the `touched` keys name.
fn run_and_serve<'c, T>(
    call: &mut Call<'c>,
    mut waker: Waker<'c>,
    mut arrivals: u64,
    (mut touched, shards): (Touched, ShardSet),
    touch: impl Fn(&Instance) -> Touched,
    act: impl FnOnce(&mut Call<'_>) -> T,
) -> T {
    let mut held = waker.shards_of(&touched, shards);
    let instance = call.instance;
    let (thread, mut outer) = call.split();
    let mut hold = loop {
        let hold = instance.store.hold(thread, held);
        // All waiters that have come stand in line; more can come only after the locks are
        // released.
        let came = waker.waiters().arrivals();
        if came == arrivals {
            break hold;
        }
        arrivals = came;
        touched = touch(instance);
        let all = waker.shards_of(&touched, held);
        if all == held {
            break hold;
        }
        drop(hold);
        held = all;
    };
    let outcome = outer.nested(hold.thread(), outer.invocation, act);
    let spec = outer.invocation.row.spec;
    if spec.flags.contains(Flags::RUNS_QUEUE) || spec.runs_script.is_some() {
        // Time stood still for the unit, but not for the waiters.
        waker.environment.now = instance.clock.now();
    }
    let rest = waker.serve_held(hold.thread(), &held, touched);
    drop(hold);
    waker.send_answers(thread.journal_position());
    waker.serve(thread, rest);
    outcome
}

/// Reply to a waiter that was served.
struct Served {
    client: Arc<Client>,
    reply: Vec<u8>,
    /// True if the client is notified which keys change that it may have cached.
    is_tracking: bool,
}

/// Waiters that may be served, as far as they have been found.
#[derive(Default)]
struct Reached {
    /// Keys that they may write to.
    keys: HashTable<(usize, PositionHash)>,
    /// Their tickets.
    waiters: HashSet<u64>,
}

/// A thread that serves waiters.
pub struct Waker<'s> {
    environment: Environment<'s>,
    /// Maximum number of waiters in a line whose keys are locked at once.
    most: usize,
    /// Replies to waiters that were served under the present hold: they leave behind its unit,
    /// whose position they wait for.
    answers: RefCell<Vec<Served>>,
}

impl<'s> Waker<'s> {
    /// The waker of a request.
    pub fn of(call: &Call<'s>) -> Waker<'s> {
        let most = call.args.len().max(SERVED_AT_ONCE);
        Waker { most, ..Waker::at(call.environment()) }
    }

    /// Returns a waker that runs no request.
    fn at(environment: Environment<'s>) -> Waker<'s> {
        Waker { environment, most: SERVED_AT_ONCE, answers: RefCell::default() }
    }

    /// As `of`, for a unit that touches these keys.
    pub fn behind(call: &Call<'s>, touch: &Touch<'_>) -> Waker<'s> {
        let waker = Waker::of(call);
        Waker { most: waker.most.max(touch.words), ..waker }
    }

    /// Returns `shards`, and the shards of all keys that those name who may be served: the waiters
    /// of some keys, those of the keys that these may write to, and so on.
    pub fn shards_of(&self, touched: &Touched, mut shards: ShardSet) -> ShardSet {
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
        while !touched.is_empty() {
            let serve_held = |thread: &mut ThreadContext, held: &ShardSet, touched| {
                self.serve_held(thread, held, touched)
            };
            touched = self.in_hold(thread, touched, ShardSet::new(), serve_held);
        }
    }

    /// Runs what `act` does under a hold of `shards` and of the shards of all keys that those name
    /// who may be served when some keys are touched. Then the replies to those served leave.
    fn in_hold<T>(
        &self,
        thread: &mut ThreadContext,
        touched: Touched,
        mut shards: ShardSet,
        act: impl FnOnce(&mut ThreadContext, &ShardSet, Touched) -> T,
    ) -> T {
        loop {
            let arrivals = self.waiters().arrivals();
            shards = self.shards_of(&touched, shards);
            let mut hold = self.environment.instance.store.hold(thread, shards);
            // As in `run_and_serve`.
            let held = match self.waiters().arrivals() == arrivals {
                true => shards,
                false => self.shards_of(&touched, shards),
            };
            if held == shards {
                let outcome = act(hold.thread(), &held, touched);
                drop(hold);
                self.send_answers(thread.journal_position());
                return outcome;
            }
            shards = held;
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
                if self.try_again(thread, &waiter, Turn::Again) {
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

    /// The row of a waiter's command.
    fn row_of(&self, waiter: &Waiter) -> &'static Row {
        &self.environment.table.all_rows()[waiter.command]
    }

    fn waiters(&self) -> &Waiters {
        &self.environment.instance.waiters
    }

    /// Returns the present kind of a key's value, if there is one.
    fn kind_at(&self, thread: &mut ThreadContext, key: &DatabaseKey) -> Option<Kind> {
        let store = &self.environment.instance.store;
        let keyspace = store.keyspace(key.database)?;
        let key = Key { bytes: &key.bytes, hash: key.hash, keyspace };
        store
            .lock(thread, &key, self.environment.now)
            .lookup_without_touch(&key)
            .map(|value| value.kind)
    }

    /// Sends the replies to the waiters that were served. The replies leave once `position` is
    /// safe.
    fn send_answers(&self, position: u64) {
        for Served { client, reply, is_tracking } in self.answers.take() {
            let answer = Answer { reply, position, unserved: None };
            client.notify(Notice::Answer(client.id, answer));
            if is_tracking {
                self.environment.instance.tracking.end_answer();
            }
        }
    }
}
