//! EVAL, EVALSHA, EVAL_RO, EVALSHA_RO.

use super::{NO_MEMORY, NO_SCRIPT, of_compiling, of_shebang};
use command::script::{
    Name, Program, Rules, closes_gate, has_gate_word, reach_of, reaches_only_keys, run, show,
};
use command::{Call, Flags, Outcome, RunsScript};
use session::{
    Args, Digest, Instance, OwnInterpreter, Reach, Refusal, Script, declared, script_options,
};
use smallvec::SmallVec;
use std::sync::Arc;

/// Keys and arguments of a script.
pub(super) type Words<'c> = SmallVec<[&'c [u8]; 16]>;

pub(super) const RO_OF_WRITER: Refusal =
    Refusal::of("ERR Can not execute a script with write flag using *_ro command.");

/// Handler of EVAL and EVAL_RO.
pub(super) fn eval(call: &mut Call<'_>) -> Outcome {
    show(call);
    let keys = keys(call, Refusal::NOT_INTEGER)?;
    let source = call.args.get(1);
    let digest = Digest::of(source);
    with_interpreter(call, |call, own| {
        let script = match own.find(&digest).or_else(|| call.instance.scripts.cache.get(&digest)) {
            Some(script) => script,
            None => add(call, own, digest, source)?,
        };
        run_script(call, own, &script, keys)
    })
}

/// Handler of EVALSHA and EVALSHA_RO.
pub(super) fn evalsha(call: &mut Call<'_>) -> Outcome {
    show(call);
    let digest = Digest::parse(call.args.get(1)).ok_or(NO_SCRIPT)?;
    let keys = keys(call, Refusal::NOT_INTEGER)?;
    with_interpreter(call, |call, own| {
        let script = own.find(&digest).or_else(|| call.instance.scripts.cache.get(&digest));
        run_script(call, own, &script.ok_or(NO_SCRIPT)?, keys)
    })
}

/// What is to be known of the script of EVAL before it runs.
pub(super) const OF_SOURCE: RunsScript = RunsScript {
    declares: |_, args| declared(args.get(1)).ok()?.0,
    closes_gate: |call, args| closes_gate(call, args, has_gate_word(call.row.table(), args.get(1))),
    reaches_only_keys: |call, args| is_bound(call, args, Some(Digest::of(args.get(1)))),
};

/// What is to be known of the script of EVALSHA before it runs.
pub(super) const OF_DIGEST: RunsScript = RunsScript {
    declares: |instance, args| named(instance, args)?.flags,
    closes_gate: |call, args| {
        named(call.instance, args).is_some_and(|script| is_for_gate(call, args, &script))
    },
    reaches_only_keys: |call, args| is_bound(call, args, Digest::parse(args.get(1))),
};

/// Returns true if a script is known to reach the shards of its keys alone: one that has never run
/// is not.
fn is_bound(call: &Call<'_>, args: &Args<'_>, digest: Option<Digest>) -> bool {
    let script = digest.and_then(|digest| call.instance.scripts.cache.get(&digest));
    let reach = script.as_ref().and_then(|script| script.known_reach());
    reach.is_some_and(|reach| keeps_to_keys(call, args, reach))
}

/// Returns true if a request with these arguments keeps to its keys.
pub(super) fn keeps_to_keys(call: &Call<'_>, args: &Args<'_>, reach: &Reach) -> bool {
    let keys = args.integer(2).ok().and_then(|count| usize::try_from(count).ok());
    let Some(first) = keys.and_then(|count| count.checked_add(3)) else { return false };
    if first > args.len() {
        return false;
    }
    let arguments: Words<'_> = args.from(first).collect();
    reaches_only_keys(call.row.table(), &call.instance.settings, reach, &arguments)
}

/// Returns true if a script has to run behind the closed gate.
fn is_for_gate(call: &Call<'_>, args: &Args<'_>, script: &Script) -> bool {
    closes_gate(call, args, script.has_gate_word())
}

/// Returns the script that EVALSHA names.
fn named(instance: &Instance, args: &Args<'_>) -> Option<Arc<Script>> {
    instance.scripts.cache.get(&Digest::parse(args.get(1))?)
}

/// Returns how many of the words behind the third one are keys; `not_integer` is what a number that
/// is none is answered.
pub(super) fn keys(call: &Call<'_>, not_integer: Refusal) -> Result<usize, Refusal> {
    let count = call.args.integer(2).map_err(|_| not_integer)?;
    if count > call.args.len() as i64 - 3 {
        return Err(Refusal::of("ERR Number of keys can't be greater than number of args"));
    }
    let negative = Refusal::of("ERR Number of keys can't be negative");
    usize::try_from(count).map_err(|_| negative)
}

/// Does something with the interpreter of the thread.
pub(super) fn with_interpreter(
    call: &mut Call<'_>,
    act: impl FnOnce(&mut Call<'_>, &mut OwnInterpreter) -> Outcome,
) -> Outcome {
    let (interpreters, thread) = (&call.instance.scripts.interpreters, call.thread.number());
    let mut taken = interpreters
        .take(thread, || OwnInterpreter::new(&script_options(&call.instance.settings)))
        .map_err(|_| NO_MEMORY)?;
    let outcome = act(call, &mut taken.own);
    interpreters.put_back(thread, taken, call.now);
    outcome
}

/// Compiles a script that EVAL has brought, and keeps it if that succeeds.
fn add(
    call: &Call<'_>,
    own: &mut OwnInterpreter,
    digest: Digest,
    source: &[u8],
) -> Result<Arc<Script>, Refusal> {
    let script = Arc::new(script_of(call, digest, source)?);
    own.compile(&script).map_err(|text| of_compiling(&text))?;
    Ok(call.instance.scripts.cache.add_evaluated(script))
}

/// Reads a source.
pub(super) fn script_of(call: &Call<'_>, digest: Digest, source: &[u8]) -> Result<Script, Refusal> {
    let has_gate_word = has_gate_word(call.row.table(), source);
    Script::of(digest, source, has_gate_word).map_err(|error| of_shebang(&error))
}

/// Runs a script with so many keys, and what follows them as arguments.
fn run_script(
    call: &mut Call<'_>,
    own: &mut OwnInterpreter,
    script: &Arc<Script>,
    keys: usize,
) -> Outcome {
    script.note_use(call.instance.stopwatch.read());
    if !own.has(script) {
        own.compile(script).map_err(|text| of_compiling(&text))?;
    }
    let only_reads = call.row.spec.flags.contains(Flags::READONLY);
    if only_reads && script.flags.is_some_and(|flags| !flags.no_writes) {
        return Err(RO_OF_WRITER.into());
    }
    let words: Words<'_> = call.args.from(3).collect();
    let (keys, arguments) = words.split_at(keys);
    let table = call.row.table();
    let reach = script.reach(|| reach_of(table, own.call_sites(&script.digest)));
    let reaches_only_keys = reaches_only_keys(table, &call.instance.settings, reach, arguments);
    let program = Program {
        parts: own.parts(&script.digest).ok_or(NO_SCRIPT)?,
        name: Name::Script(script.digest.as_bytes()),
        rules: Rules::of(script.flags, only_reads),
        keys,
        arguments,
        closes_gate: !reaches_only_keys && is_for_gate(call, &call.args, script),
        reaches_only_keys,
    };
    run(call, program)
}
