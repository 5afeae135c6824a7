//! One run of a script for a client.

use super::host::{CommandHost, Granted};
use super::rules::Rules;
use super::watch::{Name, Watch};
use crate::admission::{STALE_REPLICA, is_fresh};
use crate::call::Environment;
use crate::client_line;
use crate::row::{Call, Outcome};
use crate::waiting::{self, Gathered, Touch};
use base::Millis;
use heap::RECORD_OVERHEAD_MAX;
use script::{Input, Protocol};
use session::{Needs, Parts, Room};
use store::ShardSet;

/// What runs, and with what.
pub struct Program<'p> {
    /// The interpreter, and the function that it has compiled.
    pub parts: Parts<'p>,
    /// What it is called.
    pub name: Name<'p>,
    /// What it may do.
    pub rules: Rules,
    /// Keys that it is given.
    pub keys: &'p [&'p [u8]],
    /// Arguments that it is given.
    pub arguments: &'p [&'p [u8]],
    /// True if it may call commands that close the gate.
    pub closes_gate: bool,
    /// True if it reaches the shards of its keys alone.
    pub reaches_only_keys: bool,
}

/// Runs a script, and writes its reply. It is one unit, for which time stands still.
/// Errors of the script are its reply.
///
/// # Errors
/// That it may not run on old data.
pub fn run(call: &mut Call<'_>, program: Program<'_>) -> Outcome {
    if !program.rules.allows_stale && !is_fresh(call) {
        return Err(STALE_REPLICA.into());
    }
    let is_in_unit = call.thread.lends_locks();
    if !is_in_unit && !program.rules.only_reads {
        let room = call.reserve(call.args.bytes() + RECORD_OVERHEAD_MAX);
        crate::own_changes::send_eviction_invalidations(call);
        // Whether memory is used up is for the first write to find out.
        drop(room);
    }
    let counts = &call.statistics.server;
    if is_in_unit {
        // Waiters are served by the transaction, which expects any to be woken.
        execute(call, program, &mut Gathered::default());
    } else if program.closes_gate {
        counts.scripts_one_at_a_time.add(1);
        run_alone(call, program);
    } else if program.reaches_only_keys {
        counts.scripts_beside_others.add(1);
        run_with_its_keys(call, program);
    } else {
        counts.scripts_one_at_a_time.add(1);
        let mut shards = ShardSet::new();
        program.keys.iter().for_each(|key| shards.add(call.instance.store.hash(key)));
        waiting::run_gathering(call, shards, |call, woken| execute(call, program, woken));
    }
    Ok(())
}

/// Runs a script while no other thread is inside the gate.
fn run_alone(call: &mut Call<'_>, program: Program<'_>) {
    let store = &call.instance.store;
    let (thread, mut outer) = call.split();
    let invocation = outer.invocation;
    store.alone(thread, |thread| {
        outer.nested(thread, invocation, |call| {
            let act = |call: &mut Call<'_>, woken: &mut _| execute(call, program, woken);
            waiting::run_gathering(call, ShardSet::all(), act);
        });
    });
}

/// Runs a script under the locks of its keys, beside others.
fn run_with_its_keys(call: &mut Call<'_>, program: Program<'_>) {
    let hashes = program.keys.iter().map(|key| (*key, call.instance.store.hash(key)));
    let touch = Touch { anywhere: hashes.collect(), words: call.args.len(), ..Touch::default() };
    let mut shards = ShardSet::new();
    touch.anywhere.iter().for_each(|(_, hash)| shards.add(*hash));
    waiting::run_unit(call, shards, &touch, |call| {
        // Waiters are served by the unit, which expects those of its keys.
        execute(call, program, &mut Gathered::default());
    });
}

/// Runs a script under locks that its thread lends.
fn execute(call: &mut Call<'_>, program: Program<'_>, woken: &mut Gathered) {
    let Program { parts, name, rules, keys, arguments, .. } = program;
    let protocol = protocol_of(call.reply.protocol());
    let (stopped_at, now) = moment_of(call);
    let mut session = call.session.of_script();
    client_line::note_command(call);
    session.stopped_at = Some(stopped_at);
    let granted = Granted { needs: memory_for(call, rules), closes_gate: call.thread.is_alone() };
    let Room { request, spans, reply } = &mut *parts.room;
    let environment = Environment { now, ..call.environment() };
    let watch = Watch::new(call.instance, name, call.args, call.is_obeyed());
    let script = (&mut *call.thread, &mut session);
    let mut host =
        CommandHost::new(environment, script, (rules, granted, watch), (request, spans), woken);
    let input = Input { keys, arguments, protocol };
    parts.lua.run(parts.function, input, &mut host, reply);
    let has_error = host.has_error();
    drop(host);
    call.session.lines.append(&mut session.lines);
    if session.counts_from_now.get() {
        call.session.counts_from_now.set(true);
    }
    call.session.yield_if_subscriber();
    call.reply.raw(reply);
    parts.room.clear();
    if has_error {
        call.statistics.commands[call.row.id].failed.add(1);
    }
}

/// The moment at which a script runs: for TIME, and for deadlines. In a transaction both are its
/// own, and in a file or a primary's stream those of its reader.
fn moment_of(call: &Call<'_>) -> (u64, Millis) {
    match call.session.stopped_at {
        Some(micros) => (micros, call.now),
        None if call.is_obeyed() => (call.now.0.saturating_mul(1000), call.now),
        None => {
            let micros = call.instance.clock.micros();
            (micros, Millis(micros / 1000))
        }
    }
}

/// The need for memory, if the script may write as far as memory is concerned.
fn memory_for(call: &Call<'_>, rules: Rules) -> Needs {
    let has_memory = rules.ignores_memory || call.is_obeyed() || call.instance.has_memory();
    if has_memory { Needs::MEMORY } else { Needs::empty() }
}

fn protocol_of(protocol: wire::Protocol) -> Protocol {
    match protocol {
        wire::Protocol::Resp2 => Protocol::Resp2,
        wire::Protocol::Resp3 => Protocol::Resp3,
    }
}
