//! FCALL and FCALL_RO.

use super::NO_MEMORY;
use super::eval::{RO_OF_WRITER, Words, keeps_to_keys, keys};
use command::script::{
    Name, Program, Rules, closes_gate, has_gate_word, reach_of, reaches_only_keys, run, show,
};
use command::{Call, Flags, Outcome, RunsScript};
use session::{Args, Library, OwnLibraries, Reach, Refusal, library_options};

const NOT_FOUND: Refusal = Refusal::of("ERR Function not found");

/// Handler of both.
pub(super) fn fcall(call: &mut Call<'_>) -> Outcome {
    show(call);
    let (libraries, thread) = (&call.instance.libraries, call.thread.number());
    let made = libraries
        .interpreters
        .take(thread, || OwnLibraries::new(&library_options(&call.instance.settings)));
    let mut taken = made.map_err(|_| NO_MEMORY)?;
    let outcome = run_function(call, &mut taken.own);
    libraries.interpreters.put_back(thread, taken, call.now);
    outcome
}

/// What is to be known of a function before it runs.
pub(super) const OF_FUNCTION: RunsScript = RunsScript {
    declares: |instance, args| Some(instance.libraries.table().find(args.get(1))?.1.flags),
    closes_gate: |call, args| {
        let table = call.instance.libraries.table();
        table.find(args.get(1)).is_some_and(|(library, _)| is_for_gate(call, args, library))
    },
    reaches_only_keys: |call, args| {
        let table = call.instance.libraries.table();
        let found = table.find(args.get(1));
        found.is_some_and(|(library, _)| keeps_to_keys(call, args, reach(call, library)))
    },
};

/// Returns what the functions of a library may reach.
fn reach<'l>(call: &Call<'_>, library: &'l Library) -> &'l Reach {
    let table = call.row.table();
    library.reach(|sites| reach_of(table, sites))
}

/// Returns true if a function of a library has to run behind the closed gate.
fn is_for_gate(call: &Call<'_>, args: &Args<'_>, library: &Library) -> bool {
    let table = call.row.table();
    closes_gate(call, args, library.closes_gate(|source| has_gate_word(table, source)))
}

fn run_function(call: &mut Call<'_>, own: &mut OwnLibraries) -> Outcome {
    let libraries = &call.instance.libraries;
    let found = own.find(call.args.get(1), libraries.version(), || libraries.table());
    let callee = found.ok_or(NOT_FOUND)?;
    let keys = keys(call, Refusal::of("ERR Bad number of keys provided"))?;
    let flags = callee.library.functions[callee.at].flags;
    let only_reads = call.row.spec.flags.contains(Flags::READONLY);
    if only_reads && !flags.no_writes {
        return Err(RO_OF_WRITER.into());
    }
    let words: Words<'_> = call.args.from(3).collect();
    let (keys, arguments) = words.split_at(keys);
    let reach = reach(call, &callee.library);
    let settings = &call.instance.settings;
    let reaches_only_keys = reaches_only_keys(call.row.table(), settings, reach, arguments);
    let program = Program {
        parts: own.parts(&callee)?,
        name: Name::Function(call.args.get(1)),
        rules: Rules::of(Some(flags), only_reads),
        keys,
        arguments,
        closes_gate: !reaches_only_keys && is_for_gate(call, &call.args, &callee.library),
        reaches_only_keys,
    };
    run(call, program)
}
