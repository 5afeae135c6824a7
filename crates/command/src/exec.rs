//! EXEC: all queued commands as one unit.
//!
//! ```text
//! Plan::of      room, shards and keys of all commands, with SELECT followed
//! reserve       what could never fit is refused whole
//! run_unit      locks: keys of the commands, watched keys, keys of the waiters they wake
//!   is_void?    a watched key has changed, or is past its deadline
//!   run_all     the commands, one by one, which borrow the locks
//! ```
//! With a command that closes the gate among them, all of it runs behind the closed gate.
//!
//! Room is made before the locks are taken; watched keys are looked at before that, and again under
//! the locks. At the end the waiters that the commands wake are served once, the unit goes to the
//! journal, and the locks go. A thread that changes a watched key marks its clients from the change
//! point, under the lock of the key.

use crate::admission::{Purpose, Rejection, UNKNOWN_NEED, admit};
use crate::call::Invocation;
use crate::flags::{Flags, Locks, Wakes};
use crate::monitor_lines::note;
use crate::observer::{Observer, Seen};
use crate::own_changes::send_eviction_invalidations;
use crate::row::{Call, Outcome, Row, Turn, Unanswered};
use crate::run::{reply_with, run_row};
use crate::waiting::{self, Touch};
use base::{PositionHash, Stopwatch, meanwhile};
use heap::RECORD_OVERHEAD_MAX;
use session::{
    Answer, Args, ClientFlags, FailoverPhase, Instance, Needs, Notice, Queue, Refusal, ReplyMode,
};
use smallvec::SmallVec;
use std::sync::atomic::Ordering::Relaxed;
use store::{ShardSet, Sought};
use wire::Mark;

const WITHOUT_MULTI: Refusal = Refusal::of("ERR EXEC without MULTI");
const SPOILED: Refusal = Refusal::of("EXECABORT Transaction discarded because of previous errors.");

/// Runs what the client has queued, and ends its transaction. Its reply begins at `mark`, which is
/// moved if something comes before it.
///
/// # Errors
/// When there is none, when a command was refused, or when there is no room for all of them.
pub fn exec(call: &mut Call<'_>, mark: &mut Mark) -> Outcome {
    let queue = call.session.take_queue().ok_or(WITHOUT_MULTI)?;
    call.session.show_command(call.row.id);
    let position = call.thread.journal_position();
    call.session.stopped_at = Some(call.instance.clock.micros());
    let outcome = if queue.is_spoiled() { Err(SPOILED.into()) } else { run(call, &queue, mark) };
    call.session.stopped_at = None;
    call.session.forget_watches(&call.instance.watches);
    call.session.keep_queue(queue);
    if let Some(wanted) = call.session.wants_role.take() {
        let (instance, replicas) = (call.instance, &call.instance.replicas);
        let may_change = || match wanted.gives_up {
            true => instance.end_failover(FailoverPhase::GivenUp).is_some(),
            false => !replicas.failover.is_active(),
        };
        if !replicas.change_role_if(&instance.store, call.thread, wanted.primary, may_change) {
            tracing::warn!("The role stays: a failover has begun during the transaction.");
        }
    }
    if call.session.answers_by_mail {
        return answer_by_mail(call, *mark, position);
    }
    outcome
}

/// Sends the client the reply behind `mark` as mail. Its unit, if there is one, was put behind
/// `before` in the journal.
#[cold]
fn answer_by_mail(call: &mut Call<'_>, mark: Mark, before: u64) -> Outcome {
    if call.session.close_after_reply || call.reply.is_over_limit() {
        call.session.answers_by_mail = false;
        return Ok(());
    }
    let (behind, client) = (call.thread.journal_position(), &call.session.client);
    let answer = Answer {
        reply: call.reply.take(mark),
        position: if behind == before { 0 } else { behind },
        unserved: None,
    };
    call.session.mailed_bytes = answer.reply.len();
    client.notify(Notice::Answer(client.id, answer));
    Err(Unanswered::ByMail)
}

fn run(call: &mut Call<'_>, queue: &Queue, mark: &mut Mark) -> Outcome {
    if is_void(call) {
        call.reply.null_array();
        return Ok(());
    }
    let plan = Plan::of(call, queue);
    // What only reads or removes is never refused, even if this thread has nothing left to reserve.
    let room = if plan.bytes == 0 { Ok(()) } else { call.reserve(plan.bytes) };
    send_eviction_invalidations(call);
    *mark = call.reply.mark();
    room.map_err(|refusal| refusal.aborting())?;
    if plan.closes_gate {
        return run_alone(call, queue, &plan);
    }
    call.instance.store.prefetch_keys(&plan.sought);
    waiting::run_unit(call, plan.shards, &plan.touch, |call| run_unless_void(call, queue))
}

/// Runs the commands while no other thread is inside the gate.
fn run_alone(call: &mut Call<'_>, queue: &Queue, plan: &Plan<'_>) -> Outcome {
    let store = &call.instance.store;
    let (thread, mut outer) = call.split();
    let exec = outer.invocation.with_turn(Turn::Only);
    store.alone(thread, |thread| {
        outer.nested(thread, exec, |call| {
            let act = |call: &mut Call<'_>| run_unless_void(call, queue);
            waiting::run_unit(call, ShardSet::all(), &plan.touch, act)
        })
    })
}

/// Returns true if a watched key has changed, or has passed its deadline. What it says holds while
/// the locks of these keys are held.
fn is_void(call: &Call<'_>) -> bool {
    let Some(watching) = &call.session.watching else { return false };
    call.session.client.flags().contains(ClientFlags::CHANGED)
        || watching.has_expired(call.visited_at())
}

fn run_unless_void(call: &mut Call<'_>, queue: &Queue) -> Outcome {
    if is_void(call) {
        call.reply.null_array();
    } else {
        call.session.forget_watches(&call.instance.watches);
        run_all(call, queue);
    }
    Ok(())
}

/// Runs the commands; each writes one reply, whatever becomes of it.
fn run_all(call: &mut Call<'_>, queue: &Queue) {
    call.reply.array(queue.len());
    let mut observation = Observation::of(call.instance);
    let commands = &call.session.client.commands;
    commands.fetch_add(queue.len() as u64, Relaxed);
    for (queued, args) in queue.commands() {
        let (row, begin) = (row_of(call, queued.command), call.reply.mark());
        let is_closing = call.session.close_after_reply;
        if row.spec.flags.intersects(Flags::PUBSUB.union(Flags::ADMIN)) {
            // Events before it are delivered as settings and subscriptions were then, and ahead of
            // its messages.
            call.instance.store.deliver_events(call.thread);
        } else {
            call.instance.store.deliver_events_if_many(call.thread);
        }
        let invocation = Invocation::new(row, args).with_hash(queued.first_hash);
        let invocation = invocation.with_turn(Turn::Only);
        if row.spec.replies_by_push() && call.session.reply_mode != ReplyMode::On {
            run_and_push(call, invocation, &mut observation);
        } else {
            call.nested(invocation, |inner| observation.run(inner));
        }
        if is_closing {
            // The client has ended itself by a command before.
            call.reply.truncate(begin);
        }
        if observation.is_break_due() {
            observation.serve_others(call);
        }
    }
    if observation.is_rejected {
        // As in Valkey, where an error behind the last command that ran is that of EXEC.
        call.statistics.commands[call.row.id].failed.add(1);
    }
}

/// Runs a command for a client that wants no replies: it gets what is pushed all the same, and not
/// as a part of the reply of EXEC.
#[cold]
#[inline(never)]
fn run_and_push(
    call: &mut Call<'_>,
    invocation: Invocation<'_>,
    observation: &mut Observation<'_>,
) {
    let is_closing = call.session.close_after_reply;
    let (mut push, (thread, mut outer)) = (Vec::new(), call.split());
    let is_done = outer.beside(thread, invocation, &mut push, |inner| observation.run(inner));
    if is_done && !is_closing {
        call.session.behind_exec.append(&mut push);
    }
}

/// Nanoseconds for which a transaction has its thread before others are served, at least.
const BREAK_NANOS: u64 = meanwhile::PATIENCE.subsec_nanos() as u64;

/// What observes the commands of a transaction, of which each begins where the one before it ended.
struct Observation<'i> {
    observer: Observer,
    stopwatch: &'i Stopwatch,
    began: u64,
    is_monitored: bool,
    /// Reading of the stopwatch when others were served last, and nanoseconds until they are again.
    served: u64,
    break_nanos: u64,
    /// True if the newest command was rejected before it ran.
    is_rejected: bool,
}

impl<'i> Observation<'i> {
    fn of(instance: &'i Instance) -> Observation<'i> {
        let stopwatch = &instance.stopwatch;
        let began = stopwatch.read();
        Observation {
            observer: Observer::of(&instance.settings),
            stopwatch,
            began,
            served: began,
            break_nanos: BREAK_NANOS,
            is_monitored: instance.is_monitored(),
            is_rejected: false,
        }
    }

    /// Returns true if the transaction has run for long since others were served.
    #[inline(always)]
    fn is_break_due(&self) -> bool {
        self.stopwatch.nanos_between(self.served, self.began) >= self.break_nanos
    }

    /// Serves others for a moment, between two commands: those that want none of its shards. The
    /// transaction has at least half of its thread's time.
    #[cold]
    #[inline(never)]
    fn serve_others(&mut self, call: &Call<'_>) {
        call.instance.store.stay_for_long(call.thread);
        let before = self.stopwatch.read();
        meanwhile::serve();
        self.began = self.stopwatch.read();
        self.served = self.began;
        self.break_nanos = self.stopwatch.nanos_between(before, self.began).max(BREAK_NANOS);
    }

    /// Runs a command and counts it. Returns false if it was refused.
    #[inline(always)]
    fn run(&mut self, call: &mut Call<'_>) -> bool {
        let admitted = admit(call, Needs::empty(), Purpose::InExec);
        self.is_rejected = admitted.is_err();
        if let Err(rejection) = admitted {
            reject(call, rejection);
            return false;
        }
        let mark = call.reply.written().len();
        let is_done = run_row(call);
        let ended = self.stopwatch.read();
        let nanos = self.stopwatch.nanos_between(self.began, ended);
        self.began = ended;
        let reply_bytes = call.reply.written().len().saturating_sub(mark) as u64;
        self.observer.count(call, Seen { nanos, reply_bytes });
        if self.is_monitored {
            note(call);
        }
        is_done
    }
}

/// Answers a queued command that may not run. As in Valkey, it counts as neither called nor
/// rejected.
#[cold]
fn reject(call: &mut Call<'_>, rejection: Rejection) {
    let refusal = match rejection {
        Rejection::Refused(refusal) => refusal,
        _ => UNKNOWN_NEED,
    };
    reply_with(call, &refusal);
}

fn row_of(call: &Call<'_>, command: usize) -> &'static Row {
    &call.row.table().all_rows()[command]
}

/// What the commands of a transaction need together.
#[derive(Default)]
struct Plan<'q> {
    /// Bytes that they may append.
    bytes: usize,
    /// Shards of their keys and of those watched.
    shards: ShardSet,
    /// Their first keys.
    sought: Vec<Sought>,
    /// Keys whose waiters they may wake.
    touch: Touch<'q>,
    /// True if one of them closes the gate.
    closes_gate: bool,
}

impl<'q> Plan<'q> {
    fn of(call: &Call<'_>, queue: &'q Queue) -> Plan<'q> {
        let mut plan = Plan { sought: Vec::with_capacity(queue.len()), ..Plan::default() };
        plan.touch.keys.reserve(queue.len());
        let mut database = call.session.database;
        for (queued, args) in queue.commands() {
            let row = row_of(call, queued.command);
            if row.spec.flags.contains(Flags::DENYOOM) {
                plan.bytes = plan.bytes.saturating_add(args.bytes() + RECORD_OVERHEAD_MAX);
            }
            let script = row.spec.runs_script;
            let is_bound = script.is_some_and(|script| (script.reaches_only_keys)(call, &args));
            match row.spec.locks {
                Locks::ItsKeys => {}
                Locks::All if is_bound => {}
                Locks::All | Locks::AllFree => plan.shards = ShardSet::all(),
                Locks::Gate => plan.closes_gate = true,
            }
            plan.closes_gate |= script.is_some_and(|script| (script.closes_gate)(call, &args));
            plan.add_keys(call, (row, args, queued.first_hash), database, is_bound);
            if row.spec.flags.contains(Flags::SELECTS) {
                let number = text::parse_i64(args.get(1)).and_then(|it| usize::try_from(it).ok());
                // One that does not exist is refused, and leaves the database as it is.
                let selected = number.filter(|it| call.instance.store.keyspace(*it).is_some());
                database = selected.unwrap_or(database);
            }
        }
        if let Some(watching) = &call.session.watching {
            watching.add_shards(&mut plan.shards);
        }
        plan
    }

    /// Adds the keys of a command, and the hash of the first one if it is known. A script that is
    /// bound to its keys wakes at most waiters for them.
    fn add_keys(
        &mut self,
        call: &Call<'_>,
        (row, args, first_hash): (&Row, Args<'q>, Option<PositionHash>),
        database: usize,
        is_bound: bool,
    ) {
        let store = &call.instance.store;
        let is_write = row.spec.flags.contains(Flags::WRITE);
        let may_wake = match row.spec.wakes {
            Wakes::ItsKeys => is_write,
            Wakes::ItsKeysAnywhere | Wakes::AnyoneAfterwards => true,
            Wakes::Nobody => false,
        };
        self.touch.words += if may_wake { args.len() } else { 0 };
        let known = first_hash.filter(|_| row.has_one_key);
        let Some(names) = names(row, args) else {
            self.shards = ShardSet::all();
            self.touch.all |= is_write;
            return;
        };
        for bytes in names {
            let hash = known.unwrap_or_else(|| store.hash(bytes));
            self.shards.add(hash);
            self.sought.extend(store.keyspace(database).map(|keyspace| (keyspace, hash)));
            match row.spec.wakes {
                Wakes::ItsKeys if is_write => {
                    self.touch.keys.push((database, bytes, hash));
                }
                Wakes::AnyoneAfterwards if !is_bound => {}
                Wakes::ItsKeysAnywhere | Wakes::AnyoneAfterwards => {
                    self.touch.anywhere.push((bytes, hash));
                }
                _ => {}
            }
        }
        self.touch.all |= row.spec.wakes == Wakes::AnyoneAfterwards && !is_bound;
    }
}

/// Returns the keys that a request names; `None` if it does not tell them.
pub(crate) fn names<'q>(row: &Row, args: Args<'q>) -> Option<SmallVec<[&'q [u8]; 4]>> {
    if row.has_one_key {
        return Some(SmallVec::from_slice(&[args.get(row.first_key)]));
    }
    if row.spec.keys.is_empty() {
        return Some(SmallVec::new());
    }
    let words: SmallVec<[&[u8]; 8]> = args.from(0).collect();
    let found = (row.spec.find_keys)(row.spec.keys, &words)?;
    Some(found.iter().map(|(key, _)| *key).collect())
}
