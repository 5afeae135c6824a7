//! Rows of the family.

use super::{cache, eval};
use crate::server::help::help;
use command::ArgumentFact::Since;
use command::{Command, Flags, Group, Handler, KeyFlags, KeySpec, Locks, Wakes, tips};

const RUNS: Flags =
    Flags::NOSCRIPT.union(Flags::STALE).union(Flags::SKIP_MONITOR).union(Flags::NO_MANDATORY_KEYS);
/// What a script does to others is not known before it has run.
const WRITES: Flags = RUNS.union(Flags::MAY_REPLICATE);
const READS: Flags = RUNS.union(Flags::READONLY);
const ANY_TIME: Flags = Flags::NOSCRIPT.union(Flags::STALE);

const CHANGES: Flags = ANY_TIME.union(Flags::CHANGES_SCRIPTS);

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
        summary: "Manages the scripts that the server has.",
        ..Command::parent(Group::Scripting, "SCRIPT", "2.6.0", SCRIPT)
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
