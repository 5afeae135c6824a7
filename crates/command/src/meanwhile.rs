//! A command of somebody who is served while the thread is in the middle of something long: a
//! script, or a wait for one. It runs if all that it wants is free at this moment; otherwise
//! nothing has happened, and it is tried again later. So it never waits: neither for a lock, which
//! the thread itself may hold further down its stack, nor for room, the gate or another script.

use crate::exec::names;
use crate::flags::{Flags, LetsIn, Locks};
use crate::row::{Call, Row};
use crate::run::{Execution, finish};
use crate::waiting;
use heap::RECORD_OVERHEAD_MAX;
use store::ShardSet;

/// Commands without keys that touch no data and wait for nobody have one of these flags.
const WITHOUT_DATA: Flags = Flags::LOADING.union(Flags::FAST).union(Flags::ALLOW_BUSY);
/// Commands without keys that have one of these may touch data.
const WITH_DATA: Flags = Flags::WRITE.union(Flags::READONLY).union(Flags::RUNS_QUEUE);

/// Runs a command that was admitted, if all that it wants is free.
pub(crate) fn run_meanwhile(call: &mut Call<'_>) -> Execution {
    if !call.thread.may_touch_data() {
        let may_run = call.row.spec.flags.contains(Flags::ALLOW_BUSY) && touches_no_data(call.row);
        return if may_run { run_row(call) } else { Execution::Postponed };
    }
    if touches_no_data(call.row) {
        return run_row(call);
    }
    if call.row.spec.flags.contains(Flags::WRITE) && call.instance.waiters.postponed.is_any() {
        // Waiters that a pause has postponed come first.
        return Execution::Postponed;
    }
    let is_by_keys = call.row.spec.locks == Locks::ItsKeys && !call.row.spec.keys.is_empty();
    if !is_by_keys || call.row.spec.runs_script.is_some() || !has_room(call) {
        return Execution::Postponed;
    }
    match run_on_keys(call) {
        Some(execution) => execution,
        // WATCH, which then takes what is free.
        None if call.row.spec.flags.contains(Flags::ALLOW_BUSY) && call.instance.is_busy() => {
            run_row(call)
        }
        None => Execution::Postponed,
    }
}

/// Returns true for a command that neither touches data nor waits for anybody.
fn touches_no_data(row: &Row) -> bool {
    let (spec, flags) = (&row.spec, row.spec.flags);
    spec.keys.is_empty()
        && matches!(spec.locks, Locks::ItsKeys | Locks::AllFree)
        && spec.runs_script.is_none()
        && spec.lets_in == LetsIn::Everybody
        && flags.intersects(WITHOUT_DATA)
        && !flags.intersects(WITH_DATA)
}

/// Makes room for what the command may append, if that takes no cleaning.
fn has_room(call: &mut Call<'_>) -> bool {
    if !call.row.spec.flags.contains(Flags::DENYOOM) {
        return true;
    }
    let bytes = call.args.bytes() + RECORD_OVERHEAD_MAX;
    call.instance.store.reserve_at_once(call.thread, bytes, call.now)
}

/// Runs a command under the locks of its keys; `None` if one of them is taken, or if clients wait
/// for what it may write.
fn run_on_keys(call: &mut Call<'_>) -> Option<Execution> {
    let mut shards = ShardSet::new();
    names(call.row, call.args)?
        .into_iter()
        .for_each(|key| shards.add(call.instance.store.hash(key)));
    let store = &call.instance.store;
    let (thread, mut outer) = call.split();
    let mut hold = store.try_hold(thread, shards)?;
    outer.nested(hold.thread(), outer.invocation, |call| {
        // The lines of its keys stand still under their locks.
        (!waiting::has_lines(call)).then(|| run_row(call))
    })
}

fn run_row(call: &mut Call<'_>) -> Execution {
    let mark = call.reply.mark();
    let outcome = (call.row.spec.run)(call);
    finish(call, outcome, mark)
}
