//! Execution of a request: admits it, and runs the handler of its row or what happens instead.

use crate::admission::{self, Purpose, Rejection, is_admitted};
use crate::call::Call;
use crate::exec::exec;
use crate::monitor_lines::note_and_tell;
use crate::needs::Needs;
use crate::own_changes::{tell_behind, tell_evicted};
use crate::refusal::Refusal;
use crate::run::{Execution, finish, tell};
use crate::spec::Flags;
use crate::waiting;
use heap::RECORD_OVERHEAD_MAX;
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
    if !is_admitted(call, granted, Purpose::Fresh) {
        admit_behind_others(call, granted)?;
    }
    make_room(call).map_err(Rejection::Refused)
}

/// Admits a command that may lack a need. If a pause is over, the waiters that it has held back run
/// first.
#[cold]
#[inline(never)]
fn admit_behind_others(call: &mut Call<'_>, granted: Needs) -> Result<(), Rejection> {
    let (thread, outer) = call.split();
    waiting::resume_held_back(outer.environment, outer.invocation.row.table(), thread);
    admission::admit(call, granted, Purpose::Fresh)
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
    tell_evicted(call);
    let execution = finish_rejected(call, rejection);
    // A transaction may have begun to track.
    if call.session.tracking.is_some() {
        tell_behind(call, execution);
    }
    execution
}

fn finish_rejected(call: &mut Call<'_>, rejection: Rejection) -> Execution {
    match rejection {
        Rejection::Held => return Execution::Held,
        Rejection::Queued => {
            let needs = Purpose::Queued.asks(call.row);
            call.session.enqueue((call.row.id, needs), call.args, call.first_hash);
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
            tell_evicted(call);
            if let Err(refusal) = room {
                return finish_rejected(call, Rejection::Refused(refusal));
            }
            let execution = run(call);
            show(call);
            return execution;
        }
        Rejection::Refused(refusal) => {
            let refusal = spoiling(call, refusal);
            tell(call, &refusal);
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

/// Makes EXEC run nothing since a command was refused. The refusal of EXEC itself ends the
/// transaction and says so, also where there is none.
fn spoiling(call: &mut Call<'_>, refusal: Refusal) -> Refusal {
    if call.row.spec.flags.contains(Flags::RUNS_QUEUE) {
        call.session.discard_queue();
        call.session.forget_watches(&call.instance.watches);
        show(call);
        return refusal.aborting();
    }
    call.session.spoil_queue();
    refusal
}

/// Shows a command to those who run MONITOR, after it has run.
fn show(call: &mut Call<'_>) {
    if call.instance.is_monitored() {
        note_and_tell(call);
    }
}

#[cfg(test)]
mod tests {
    use crate::commands::table;
    use crate::needs::Needs;
    use crate::pause::Pause;
    use crate::refusal::Refusal;
    use crate::testing::{STARTED, World, check};
    use std::sync::atomic::Ordering::Relaxed;

    const UNKNOWN: &str = "-ERR unknown command 'NOSUCH', with args beginning with: ";

    fn arity_of(name: &str) -> String {
        format!("-ERR wrong number of arguments for '{name}' command")
    }

    /// Returns the counts of a command: calls, rejections, failures.
    fn counts(world: &World, name: &str) -> (u64, u64, u64) {
        let row = table().find(name.as_bytes()).expect("it exists");
        let counts = &world.statistics.commands[row.id];
        (counts.calls.get(), counts.rejected.get(), counts.failed.get())
    }

    #[test]
    fn a_stranger_hears_of_a_password_before_anything_else() {
        let no_auth = "-NOAUTH Authentication required.";
        let mut world = World::new();
        world.session.set_authenticated(false);
        world.instance.pause(Pause::Everything, STARTED.after(1000));
        let lines = ["NOSUCH", "GET", "GET k", "CONFIG NOSUCH", "CLIENT PAUSE"];
        lines.iter().for_each(|line| check(&mut world, &[(line, no_auth)]));
    }

    #[test]
    fn what_needs_no_password_is_refused_for_its_words() {
        let mut world = World::new();
        world.session.set_authenticated(false);
        for name in ["auth", "reset"] {
            let line = format!("{name}{}", if name == "reset" { " x" } else { "" });
            check(&mut world, &[(&line, &arity_of(name))]);
        }
    }

    #[test]
    fn what_could_not_run_anyway_is_not_held_back() {
        let mut world = World::new();
        world.instance.pause(Pause::Everything, STARTED.after(1000));
        check(&mut world, &[("NOSUCH", UNKNOWN.trim_end()), ("GET", &arity_of("get"))]);
        assert!(world.is_held("GET k") && world.is_held("SET k v"));
    }

    #[test]
    fn a_pause_of_writes_holds_back_what_may_change_data() {
        let mut world = World::new();
        world.instance.pause(Pause::Writes, STARTED.after(1000));
        check(&mut world, &[("GET k", "$-1"), ("PING", "+PONG")]);
        assert!(world.is_held("SET k v") && world.is_held("PFCOUNT k"));
        assert_eq!(counts(&world, "set"), (0, 0, 0));
    }

    #[test]
    fn a_pause_that_is_over_costs_no_second_look() {
        let mut world = World::new();
        world.instance.pause(Pause::Everything, STARTED);
        assert!(!world.instance.grants.get().contains(Needs::UNPAUSED));
        check(&mut world, &[("PING", "+PONG")]);
        assert_eq!(world.instance.grants.get(), Needs::OF_SERVER);
    }

    #[test]
    fn without_memory_writes_are_refused_but_not_in_a_pause() {
        let oom = String::from_utf8_lossy(Refusal::OUT_OF_MEMORY.text()).into_owned();
        let mut world = World::new();
        check(&mut world, &[("CONFIG SET maxmemory 1 maxmemory-policy noeviction", "+OK")]);
        world.instance.other_bytes.store(2, Relaxed);
        check(&mut world, &[("SET k v", &format!("-{oom}")), ("SET", &arity_of("set"))]);
        world.instance.pause(Pause::Writes, STARTED.after(1000));
        assert!(world.is_held("SET k v"));
    }

    #[test]
    fn a_rejection_counts_for_the_command_that_is_named() {
        let mut world = World::new();
        check(&mut world, &[("GET", &arity_of("get")), ("NOSUCH", UNKNOWN.trim_end())]);
        check(&mut world, &[("CONFIG", &arity_of("config"))]);
        assert_eq!(counts(&world, "get"), (0, 1, 0));
        assert_eq!(counts(&world, "config"), (0, 1, 0));
        assert_eq!(world.instance.statistics.errors()["ERR"], 3);
    }

    #[test]
    fn a_web_page_is_not_answered() {
        let mut world = World::new();
        check(&mut world, &[("POST /", "")]);
        assert!(world.session.close_after_reply);
    }
}
