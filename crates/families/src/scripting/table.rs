//! Rows of the family.

use super::{cache, eval, fcall, function};
use crate::server::help::help;
use command::ArgumentFact::{Since, Type};
use command::{Command, Flags, Group, Handler, KeyFlags, KeySpec, Locks, Wakes, tips};

const RUNS: Flags =
    Flags::NOSCRIPT.union(Flags::STALE).union(Flags::SKIP_MONITOR).union(Flags::NO_MANDATORY_KEYS);
/// What a script does to others is not known before it has run.
const WRITES: Flags = RUNS.union(Flags::MAY_REPLICATE);
const READS: Flags = RUNS.union(Flags::READONLY);
const ANY_TIME: Flags = Flags::NOSCRIPT.union(Flags::STALE);

const CHANGES: Flags = ANY_TIME.union(Flags::CHANGES_SCRIPTS);

const REMOVES: Flags = Flags::WRITE.union(Flags::NOSCRIPT).union(Flags::CHANGES_SCRIPTS);
const ADDS: Flags = REMOVES.union(Flags::DENYOOM);

const CHANGED: KeyFlags = KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::UPDATE);
const READ: KeyFlags = KeyFlags::RO.union(KeyFlags::ACCESS);

/// Rows of the family.
pub const TABLE: &[Command] = &[
    Command {
        keys: &[KeySpec::counted(2, 1, CHANGED)],
        summary: "Runs a script.",
        runs_script: Some(eval::OF_SOURCE),
        syntax: "script numkeys [key [key ...]] [arg [arg ...]]",
        ..runs("EVAL", WRITES, "2.6.0", eval::eval)
    },
    Command {
        keys: &[KeySpec::counted(2, 1, CHANGED)],
        summary: "Runs a script that the server has, by the SHA-1 of its source.",
        runs_script: Some(eval::OF_DIGEST),
        syntax: "sha1 numkeys [key [key ...]] [arg [arg ...]]",
        ..runs("EVALSHA", WRITES, "2.6.0", eval::evalsha)
    },
    Command {
        keys: &[KeySpec::counted(2, 1, READ)],
        summary: "Runs a script that changes nothing, by the SHA-1 of its source.",
        runs_script: Some(eval::OF_DIGEST),
        syntax: "sha1 numkeys [key [key ...]] [arg [arg ...]]",
        ..runs("EVALSHA_RO", READS, "7.0.0", eval::evalsha)
    },
    Command {
        keys: &[KeySpec::counted(2, 1, READ)],
        summary: "Runs a script that changes nothing.",
        runs_script: Some(eval::OF_SOURCE),
        syntax: "script numkeys [key [key ...]] [arg [arg ...]]",
        ..runs("EVAL_RO", READS, "7.0.0", eval::eval)
    },
    Command {
        keys: &[KeySpec::counted(2, 1, CHANGED)],
        summary: "Calls a function.",
        runs_script: Some(fcall::OF_FUNCTION),
        syntax: "function numkeys [key [key ...]] [arg [arg ...]]",
        ..runs("FCALL", WRITES, "7.0.0", fcall::fcall)
    },
    Command {
        keys: &[KeySpec::counted(2, 1, READ)],
        summary: "Calls a function that changes nothing.",
        runs_script: Some(fcall::OF_FUNCTION),
        syntax: "function numkeys [key [key ...]] [arg [arg ...]]",
        ..runs("FCALL_RO", READS, "7.0.0", fcall::fcall)
    },
    Command {
        summary: "Manages libraries of functions.",
        ..Command::parent(Group::Scripting, "FUNCTION", "7.0.0", FUNCTION)
    },
    Command {
        summary: "Manages the scripts that the server has.",
        ..Command::parent(Group::Scripting, "SCRIPT", "2.6.0", SCRIPT)
    },
];

const FUNCTION: &[Command] = &[
    Command {
        tips: tips::ALL_SHARDS,
        summary: "Removes a library and its functions.",
        syntax: "library-name",
        ..changes("DELETE", 3, REMOVES, "7.0.0", function::delete)
    },
    Command {
        summary: "Returns all libraries as one payload.",
        complexity: "O(N), N libraries",
        ..row("DUMP", 2, Flags::NOSCRIPT, "7.0.0", function::dump)
    },
    Command {
        tips: tips::ALL_SHARDS,
        summary: "Removes all functions.",
        syntax: "[ASYNC | SYNC]",
        complexity: "O(N), N libraries",
        ..changes("FLUSH", -2, REMOVES, "7.0.0", function::flush)
    },
    Command {
        summary: "Lists the subcommands.",
        ..row("HELP", 2, Flags::LOADING.union(Flags::STALE), "7.0.0", help)
    },
    Command {
        tips: tips::ALL_SHARDS_ONE,
        summary: "Ends a function that runs for long and has written nothing.",
        ..row("KILL", 2, Flags::NOSCRIPT.union(Flags::ALLOW_BUSY), "7.0.0", function::kill)
    },
    Command {
        tips: tips::NONDETERMINISTIC_ORDER,
        summary: "Lists the libraries of functions.",
        syntax: "[LIBRARYNAME library-name-pattern] [WITHCODE]",
        arguments: &[("LIBRARYNAME", Type("string"))],
        complexity: "O(N), N libraries",
        ..row("LIST", -2, Flags::NOSCRIPT, "7.0.0", function::list)
    },
    Command {
        tips: tips::ALL_SHARDS,
        summary: "Adds a library of functions.",
        syntax: "[REPLACE] function-code",
        complexity: "O(N), N bytes of the library",
        ..changes("LOAD", -3, ADDS, "7.0.0", function::load)
    },
    Command {
        tips: tips::ALL_SHARDS,
        summary: "Adds the libraries of a payload.",
        syntax: "serialized-value [FLUSH | APPEND | REPLACE]",
        complexity: "O(N), N libraries",
        ..changes("RESTORE", -3, ADDS, "7.0.0", function::restore)
    },
    Command {
        tips: tips::PER_SHARD,
        summary: "Tells which function runs, and how many there are.",
        ..row("STATS", 2, Flags::NOSCRIPT.union(Flags::ALLOW_BUSY), "7.0.0", function::stats)
    },
];

const SCRIPT: &[Command] = &[
    Command {
        summary: "Answers that there is no debugger of scripts.",
        syntax: "<YES | SYNC | NO> [engine]",
        arguments: &[("engine", Since("9.1.0"))],
        ..row("DEBUG", -3, Flags::NOSCRIPT, "3.2.0", cache::debug)
    },
    Command {
        tips: tips::ALL_SHARDS_AND,
        summary: "Tells which scripts the server has.",
        syntax: "sha1 [sha1 ...]",
        complexity: "O(N), N scripts that are asked for",
        ..row("EXISTS", -3, ANY_TIME, "2.6.0", cache::exists)
    },
    Command {
        tips: tips::ALL_NODES,
        summary: "Forgets all scripts.",
        syntax: "[ASYNC | SYNC]",
        complexity: "O(N), N scripts",
        history: &[("6.2.0", "ASYNC and SYNC.")],
        ..row("FLUSH", -2, CHANGES, "2.6.0", cache::flush)
    },
    Command {
        summary: "Lists the subcommands.",
        ..row("HELP", 2, Flags::LOADING.union(Flags::STALE), "5.0.0", help)
    },
    Command {
        tips: tips::ALL_SHARDS_ONE,
        summary: "Ends a script that runs for long and has written nothing.",
        ..row("KILL", 2, Flags::NOSCRIPT.union(Flags::ALLOW_BUSY), "2.6.0", cache::kill)
    },
    Command {
        tips: tips::ALL_NODES,
        summary: "Keeps a script without running it.",
        syntax: "script",
        complexity: "O(N), N bytes of the script",
        ..row("LOAD", 3, CHANGES, "2.6.0", cache::load)
    },
    Command {
        summary: "Returns the source of a script.",
        syntax: "sha1",
        ..row("SHOW", 3, ANY_TIME, "8.0.0", cache::show)
    },
];

/// A row of what changes libraries, while no other thread is inside the gate.
const fn changes(
    name: &'static str,
    arity: i16,
    flags: Flags,
    since: &'static str,
    run: Handler,
) -> Command {
    Command { locks: Locks::Gate, wakes: Wakes::Nobody, ..row(name, arity, flags, since, run) }
}

const fn runs(name: &'static str, flags: Flags, since: &'static str, run: Handler) -> Command {
    Command {
        locks: Locks::All,
        wakes: Wakes::AnyoneAfterwards,
        complexity: "That of the script",
        ..Command::plain(Group::Scripting, name, -3, flags, since, run)
    }
}

const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    since: &'static str,
    run: Handler,
) -> Command {
    Command {
        complexity: "O(1)",
        ..Command::plain(Group::Scripting, name, arity, flags, since, run)
    }
}
