//! Execution of a request: admits it, and runs the handler of its row or what happens instead.

use crate::admission::{self, Purpose, Rejection, is_admitted_as_usual};
use crate::exec::exec;
use crate::flags::Flags;
use crate::meanwhile::run_meanwhile;
use crate::monitor_lines::note_and_send;
use crate::own_changes::{send_eviction_invalidations, send_invalidations_behind_reply};
use crate::row::Call;
use crate::run::{Execution, finish, reply_with};
use crate::waiting;
use heap::RECORD_OVERHEAD_MAX;
use session::{Needs, Refusal};
use settings::general::HIDE_USER_DATA_FROM_LOG;

/// Runs a call and writes one reply, which is the refusal if there is one. `granted` is the result
/// of `granted_for_batch`.
pub fn execute(call: &mut Call<'_>, granted: Needs) -> Execution {
    if let Err(rejection) = admit(call, granted) {
        return reject(call, rejection);
    }
    run(call)
}

#[inline(always)]
fn run(call: &mut Call<'_>) -> Execution {
    let waiters = &call.instance.waiters;
    let may_wake = call.row.spec.flags.contains(Flags::WRITE);
    if may_wake && waiters.count() > 0 {
        return waiting::run(call);
    }
    let mark = call.reply.mark();
    let outcome = (call.row.spec.run)(call);
    let execution = finish(call, outcome, mark);
    if may_wake && waiters.count() > 0 {
        waiting::look_again(call);
    }
    execution
}

#[inline]
fn admit(call: &mut Call<'_>, granted: Needs) -> Result<(), Rejection> {
    if !is_admitted_as_usual(call, granted) {
        admit_behind_others(call, granted)?;
    }
    make_room(call).map_err(Rejection::Refused)
}

/// Admits a command some of whose needs are not granted. If a pause has ended, the waiters that
/// were postponed by it run first, since they came first.
#[cold]
#[inline(never)]
fn admit_behind_others(call: &mut Call<'_>, granted: Needs) -> Result<(), Rejection> {
    if granted.contains(Needs::MAY_WAIT) && call.instance.waiters.postponed.is_any() {
        let environment = call.environment();
        waiting::resume_postponed(environment, call.thread);
    }
    admission::look_closely(call, granted, Purpose::Fresh)
}

/// Makes room for what the command may append.
#[inline(always)]
fn make_room(call: &mut Call<'_>) -> Result<(), Refusal> {
    if call.row.spec.flags.contains(Flags::DENYOOM) {
        call.reserve(call.args.bytes() + RECORD_OVERHEAD_MAX)?;
    }
    Ok(())
}

/// Finishes a request that does not run by its handler.
#[cold]
#[inline(never)]
fn reject(call: &mut Call<'_>, rejection: Rejection) -> Execution {
    send_eviction_invalidations(call);
    let execution = finish_rejected(call, rejection);
    // A transaction may have begun to track.
    if call.session.tracking.is_some() {
        send_invalidations_behind_reply(call, execution);
    }
    execution
}

fn finish_rejected(call: &mut Call<'_>, rejection: Rejection) -> Execution {
    match rejection {
        Rejection::Postponed => return Execution::Postponed,
        Rejection::Queued => {
            let needs = admission::needs_of(call, Purpose::Queued);
            call.session.enqueue((call.row.id, needs), call.args, call.first_hash);
            follow_select(call);
            call.reply.queued();
        }
        Rejection::RunsQueue => {
            let mut mark = call.reply.mark();
            let outcome = exec(call, &mut mark);
            let execution = finish(call, outcome, mark);
            show(call);
            return execution;
        }
        Rejection::Observed => {
            let room = make_room(call);
            send_eviction_invalidations(call);
            if let Err(refusal) = room {
                return finish_rejected(call, Rejection::Refused(refusal));
            }
            let execution = run(call);
            if execution != Execution::GoesOn {
                show(call);
            }
            return execution;
        }
        Rejection::Meanwhile => {
            let execution = run_meanwhile(call);
            if execution != Execution::Postponed {
                show(call);
            }
            return execution;
        }
        Rejection::Refused(_) if call.session.line.passes_over_part() => {}
        Rejection::Refused(refusal) => {
            let refusal = spoiling(call, refusal);
            reply_with(call, &refusal);
            call.statistics.commands[call.row.id].rejected.add(1);
        }
        Rejection::NoClient => {
            let hides = HIDE_USER_DATA_FROM_LOG.get(&call.instance.settings);
            let client = call.session.client.for_log(hides);
            tracing::warn!(
                "closing a client that speaks HTTP, perhaps a web page made it do so: {client}"
            );
            call.session.close_after_reply = true;
        }
    }
    Execution::Aside
}

/// Has the commands that are queued behind a SELECT be asked for rights in its database, unless
/// none will run: then Valkey drops them unread.
fn follow_select(call: &mut Call<'_>) {
    if call.row.spec.flags.contains(Flags::SELECTS)
        && let Some(number) = text::parse_i64(call.args.get(1))
        && let Ok(number) = usize::try_from(number)
        && call.instance.store.keyspace(number).is_some()
        && !call.session.client.is_void()
        && let Some(queue) = call.session.open_queue().filter(|queue| !queue.is_spoiled())
    {
        queue.database = number;
    }
}

/// Notes a refusal in the open transaction, so that EXEC will run nothing. If EXEC itself is
/// refused, the transaction ends, and the refusal says that it was aborted, as in Valkey even where
/// there is no transaction.
fn spoiling(call: &mut Call<'_>, refusal: Refusal) -> Refusal {
    if call.row.spec.flags.contains(Flags::RUNS_QUEUE) {
        call.session.discard_queue();
        call.session.forget_watches(&call.instance.watches);
        show(call);
        // Valkey sends such a client elsewhere without a word about its transaction.
        return if refusal.code() == "REDIRECT" { refusal } else { refusal.aborting() };
    }
    call.session.spoil_queue();
    refusal
}

/// Shows a command to clients that run MONITOR, after it has run.
fn show(call: &mut Call<'_>) {
    if call.instance.is_monitored() {
        note_and_send(call);
    }
}
