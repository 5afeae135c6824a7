//! Commands about the server itself: what it does, what it is set to, what it can be asked.
//!
//! | file | what it answers |
//! |---|---|
//! | `databases.rs` | DBSIZE, FLUSHDB, FLUSHALL, SWAPDB, TIME, SHUTDOWN |
//! | `info/` | INFO, one file per kind of section |
//! | `config.rs` | CONFIG; the work is done by `settings` |
//! | `command/` | COMMAND, all of it derived from the rows of the table |
//! | `memory.rs` | MEMORY, with the list of segments |
//! | `debug/` | DEBUG, as far as test suites call it |
//! | `function.rs` | FUNCTION, of which there are none |
//! | `local.rs` | which clients are on this machine |
//! | `help.rs` | HELP of any command with subcommands, from its rows |

mod command;
mod config;
mod databases;
mod debug;
mod function;
pub(crate) mod help;
mod info;
mod local;
mod memory;

use crate::call::{Call, Outcome};
use crate::refusal::Refusal;
use crate::spec::{CommandSpec, Flags, Group, KeyFlags, KeySpec};

/// Answered at any time.
const ALWAYS: Flags = Flags::LOADING.union(Flags::STALE);
const ADMIN: Flags = ALWAYS.union(Flags::ADMIN).union(Flags::NOSCRIPT);
const NO_FLAGS: Flags = Flags::empty();

/// A row without keys.
const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    since: &'static str,
    syntax: &'static str,
    run: crate::spec::Run,
    summary: &'static str,
) -> CommandSpec {
    CommandSpec {
        name,
        arity,
        flags,
        keys: KeySpec::NONE,
        group: Group::Server,
        since,
        summary,
        syntax,
        run,
        subcommands: &[],
    }
}

/// A row that only has subcommands.
const fn parent(
    name: &'static str,
    since: &'static str,
    summary: &'static str,
    subcommands: &'static [CommandSpec],
) -> CommandSpec {
    CommandSpec {
        subcommands,
        ..row(name, -2, NO_FLAGS, since, "subcommand [arg ...]", unreachable, summary)
    }
}

/// Handler of rows whose subcommands do everything: what is no subcommand was refused before.
fn unreachable(_: &mut Call<'_>) -> Outcome {
    Err(Refusal::SYNTAX)
}

/// Rows of the family.
pub const TABLE: &[CommandSpec] = &[
    CommandSpec {
        subcommands: COMMAND,
        ..row(
            "COMMAND",
            -1,
            ALWAYS,
            "2.8.13",
            "[subcommand [arg ...]]",
            command::command,
            "Describes every command.",
        )
    },
    parent("CONFIG", "2.0.0", "Reads and changes settings.", CONFIG),
    row(
        "DBSIZE",
        1,
        Flags::READONLY.union(Flags::FAST),
        "1.0.0",
        "",
        databases::dbsize,
        "Counts the keys of the database.",
    ),
    row(
        "DEBUG",
        -2,
        ADMIN,
        "1.0.0",
        "subcommand [arg ...]",
        debug::debug,
        "Looks inside, for tests of the server.",
    ),
    row(
        "FLUSHALL",
        -1,
        Flags::WRITE,
        "1.0.0",
        "[ASYNC | SYNC]",
        databases::flushall,
        "Removes all keys of all databases.",
    ),
    row(
        "FLUSHDB",
        -1,
        Flags::WRITE,
        "1.0.0",
        "[ASYNC | SYNC]",
        databases::flushdb,
        "Removes all keys of the database.",
    ),
    CommandSpec {
        group: Group::Scripting,
        ..parent("FUNCTION", "7.0.0", "Manages functions, of which there are none.", FUNCTION)
    },
    row(
        "INFO",
        -1,
        ALWAYS,
        "1.0.0",
        "[section [section ...]]",
        info::info,
        "Tells what the server is and does.",
    ),
    parent("MEMORY", "4.0.0", "Tells where memory goes.", MEMORY),
    row(
        "SHUTDOWN",
        -1,
        ADMIN.union(Flags::NO_MULTI).union(Flags::ALLOW_BUSY),
        "1.0.0",
        "[NOSAVE | SAVE] [NOW] [FORCE] [SAFE] [FAILOVER] [ABORT]",
        databases::shutdown,
        "Ends the server.",
    ),
    row(
        "SWAPDB",
        3,
        Flags::WRITE.union(Flags::FAST),
        "4.0.0",
        "index1 index2",
        databases::swapdb,
        "Exchanges two databases.",
    ),
    row(
        "TIME",
        1,
        ALWAYS.union(Flags::FAST),
        "2.6.0",
        "",
        databases::time,
        "Tells the time of the server.",
    ),
];

const COMMAND: &[CommandSpec] = &[
    row("COUNT", 2, ALWAYS, "2.8.13", "", command::count, "Counts the commands."),
    row(
        "LIST",
        -2,
        ALWAYS,
        "7.0.0",
        "[FILTERBY <MODULE module-name | ACLCAT category | PATTERN pattern>]",
        command::list,
        "Lists names of commands.",
    ),
    row(
        "INFO",
        -2,
        ALWAYS,
        "2.8.13",
        "[command-name [command-name ...]]",
        command::info,
        "Tells arity, flags and positions of keys.",
    ),
    row(
        "DOCS",
        -2,
        ALWAYS,
        "7.0.0",
        "[command-name [command-name ...]]",
        command::docs,
        "Describes commands and their arguments.",
    ),
    row(
        "GETKEYS",
        -3,
        ALWAYS,
        "2.8.13",
        "command [arg [arg ...]]",
        command::getkeys,
        "Finds the keys in a command.",
    ),
    row(
        "GETKEYSANDFLAGS",
        -3,
        ALWAYS,
        "7.0.0",
        "command [arg [arg ...]]",
        command::getkeysandflags,
        "Finds the keys in a command, and what happens to them.",
    ),
    row("HELP", 2, ALWAYS, "5.0.0", "", help::help, "Lists the subcommands."),
];

const CONFIG: &[CommandSpec] = &[
    row(
        "GET",
        -3,
        ADMIN,
        "2.0.0",
        "pattern [pattern ...]",
        config::get,
        "Returns the settings that a pattern names, and their values.",
    ),
    row(
        "SET",
        -4,
        ADMIN,
        "2.0.0",
        "directive value [directive value ...]",
        config::set,
        "Changes settings, all of them or none.",
    ),
    row(
        "RESETSTAT",
        2,
        ADMIN,
        "2.0.0",
        "",
        config::resetstat,
        "Begins anew to count what INFO tells.",
    ),
    row(
        "REWRITE",
        2,
        ADMIN,
        "2.8.0",
        "",
        config::rewrite,
        "Writes the settings in force into the configuration file.",
    ),
    row("HELP", 2, ALWAYS, "5.0.0", "", help::help, "Lists the subcommands."),
];

const MEMORY: &[CommandSpec] = &[
    row("DOCTOR", 2, NO_FLAGS, "4.0.0", "", memory::doctor, "Says what looks unhealthy."),
    row(
        "MALLOC-STATS",
        2,
        Flags::LOADING,
        "4.0.0",
        "",
        memory::malloc_stats,
        "Tells figures of the segments.",
    ),
    row(
        "PURGE",
        2,
        Flags::LOADING,
        "4.0.0",
        "",
        memory::purge,
        "Asks for memory to be given back to the system.",
    ),
    row(
        "SEGMENTS",
        -2,
        NO_FLAGS,
        "4.0.0",
        "[COUNT count]",
        memory::segments,
        "Lists the segments that records live in.",
    ),
    row("STATS", 2, NO_FLAGS, "4.0.0", "", memory::stats, "Tells where memory goes."),
    CommandSpec {
        keys: KeySpec { first: 2, last: 2, step: 1, flags: KeyFlags::RO },
        ..row(
            "USAGE",
            -3,
            Flags::READONLY,
            "4.0.0",
            "key [SAMPLES count]",
            memory::usage,
            "Tells how many bytes a key takes.",
        )
    },
    row("HELP", 2, ALWAYS, "4.0.0", "", help::help, "Lists the subcommands."),
];

const FUNCTION: &[CommandSpec] = &[
    function::row(
        "FLUSH",
        -2,
        Flags::WRITE.union(Flags::NOSCRIPT),
        "[ASYNC | SYNC]",
        function::flush,
        "Removes all functions.",
    ),
    function::row(
        "LIST",
        -2,
        Flags::NOSCRIPT,
        "[LIBRARYNAME library-name-pattern] [WITHCODE]",
        function::list,
        "Lists the libraries of functions.",
    ),
    function::row("HELP", 2, ALWAYS, "", help::help, "Lists the subcommands."),
];

#[cfg(test)]
mod tests;
