//! Rows of the family.

use super::{command_table, config, databases, debug, help, info, lolwut, memory, modules, saving};
use command::ArgumentFact::{Name, Since, Type};
use command::rights::numbers_at;
use command::{
    Categories, Command, Flags, Group, Handler, KeyFlags, KeySpec, LetsIn, Locks, ReachesDatabases,
    Wakes, tips,
};

/// Flags of commands that are answered at any time.
const ALWAYS: Flags = Flags::LOADING.union(Flags::STALE);
const ADMIN: Flags = ALWAYS.union(Flags::ADMIN).union(Flags::NOSCRIPT);
const NO_FLAGS: Flags = Flags::empty();
/// Flags of commands that make snapshots.
const SAVING: Flags = Flags::ADMIN.union(Flags::NOSCRIPT).union(Flags::NO_ASYNC_LOADING);

/// Categories of commands on whole databases.
const FLUSHING: Categories = Categories::KEYSPACE.union(Categories::DANGEROUS);

/// Rows of the family.
pub const TABLE: &[Command] = &[
    Command {
        summary: "Writes the base of the append-only file anew.",
        complexity: "O(1)",
        ..row("BGREWRITEAOF", 1, SAVING, "1.0.0", databases::bgrewriteaof)
    },
    Command {
        summary: "Makes a snapshot of all data in the background, or ends one.",
        syntax: "[SCHEDULE | CANCEL]",
        arguments: &[("SCHEDULE", Since("3.2.2")), ("CANCEL", Since("8.1.0"))],
        complexity: "O(1)",
        history: &[("3.2.2", "SCHEDULE."), ("8.1.0", "CANCEL.")],
        ..row("BGSAVE", -1, SAVING, "1.0.0", saving::bgsave)
    },
    Command {
        subcommands: COMMAND,
        categories: Categories::CONNECTION,
        tips: tips::NONDETERMINISTIC_ORDER,
        summary: "Describes every command.",
        syntax: "[subcommand [arg ...]]",
        complexity: "O(N), N commands",
        ..row("COMMAND", -1, ALWAYS, "2.8.13", command_table::command)
    },
    Command {
        summary: "Reads and changes settings.",
        ..Command::parent(Group::Server, "CONFIG", "2.0.0", CONFIG)
    },
    Command {
        locks: Locks::All,
        categories: Categories::KEYSPACE,
        tips: tips::ALL_SHARDS_SUMMED,
        summary: "Counts the keys of the database.",
        complexity: "O(1)",
        ..row("DBSIZE", 1, Flags::READONLY.union(Flags::FAST), "1.0.0", databases::dbsize)
    },
    Command {
        locks: Locks::Gate,
        lets_in: LetsIn::Debuggers,
        summary: "Looks inside, for tests of the server.",
        syntax: "subcommand [arg ...]",
        complexity: "as that of its subcommand",
        ..row("DEBUG", -2, ADMIN.union(Flags::SYSTEM), "1.0.0", debug::debug)
    },
    Command {
        locks: Locks::Gate,
        categories: FLUSHING,
        databases: ReachesDatabases::All,
        wakes: Wakes::AnyoneAfterwards,
        tips: tips::ALL_SHARDS,
        summary: "Removes all keys of all databases.",
        syntax: "[ASYNC | SYNC]",
        arguments: &[("ASYNC", Since("4.0.0")), ("SYNC", Since("6.2.0"))],
        complexity: "O(N), N keys that are removed",
        history: &[("4.0.0", "ASYNC."), ("6.2.0", "SYNC.")],
        ..row("FLUSHALL", -1, Flags::WRITE, "1.0.0", databases::flushall)
    },
    Command {
        locks: Locks::Gate,
        categories: FLUSHING,
        wakes: Wakes::AnyoneAfterwards,
        tips: tips::ALL_SHARDS,
        summary: "Removes all keys of the database.",
        syntax: "[ASYNC | SYNC]",
        arguments: &[("ASYNC", Since("4.0.0")), ("SYNC", Since("6.2.0"))],
        complexity: "O(N), N keys that are removed",
        history: &[("4.0.0", "ASYNC."), ("6.2.0", "SYNC.")],
        ..row("FLUSHDB", -1, Flags::WRITE, "1.0.0", databases::flushdb)
    },
    Command {
        locks: Locks::AllFree,
        categories: Categories::DANGEROUS,
        tips: tips::PER_SHARD,
        summary: "Tells what the server is and does.",
        syntax: "[section [section ...]]",
        complexity: "O(1)",
        history: &[("7.0.0", "Several sections.")],
        ..row("INFO", -1, ALWAYS, "1.0.0", info::info)
    },
    Command {
        categories: Categories::ADMIN.union(Categories::DANGEROUS),
        tips: tips::NONDETERMINISTIC,
        summary: "Tells when the last snapshot was made.",
        complexity: "O(1)",
        ..row("LASTSAVE", 1, ALWAYS.union(Flags::FAST), "1.0.0", saving::lastsave)
    },
    Command {
        summary: "Draws a picture, and tells the version of the server.",
        syntax: "[VERSION version]",
        arguments: &[("VERSION", Type("integer"))],
        ..row("LOLWUT", -1, Flags::READONLY.union(Flags::FAST), "5.0.0", lolwut::lolwut)
    },
    Command {
        summary: "Tells where memory goes.",
        ..Command::parent(Group::Server, "MEMORY", "4.0.0", MEMORY)
    },
    Command {
        summary: "Manages modules, of which there are none.",
        ..Command::parent(Group::Server, "MODULE", "4.0.0", MODULE)
    },
    Command {
        summary: "Makes a snapshot of all data, and answers when it is on disk.",
        complexity: "O(N), N keys of all databases",
        ..row("SAVE", 1, SAVING.union(Flags::NO_MULTI), "1.0.0", saving::save)
    },
    Command {
        summary: "Ends the server.",
        syntax: "[[NOSAVE | SAVE] [NOW] [FORCE] [SAFE] [FAILOVER] | ABORT]",
        arguments: &[
            ("operation", Name("abort-selector")),
            ("operation-now-force-safe-failover", Name("save-selector-block")),
            ("operation", Name("save-selector")),
            ("NOW", Since("7.0.0")),
            ("FORCE", Since("7.0.0")),
            ("SAFE", Since("9.0.0")),
            ("FAILOVER", Since("9.0.0")),
            ("ABORT", Since("7.0.0")),
        ],
        complexity: "O(N) with saving, N keys of all databases; otherwise O(1)",
        history: &[("7.0.0", "NOW, FORCE and ABORT."), ("9.0.0", "SAFE and FAILOVER.")],
        ..row(
            "SHUTDOWN",
            -1,
            ADMIN.union(Flags::NO_MULTI).union(Flags::ALLOW_BUSY),
            "1.0.0",
            saving::shutdown,
        )
    },
    Command {
        locks: Locks::Gate,
        categories: FLUSHING,
        databases: ReachesDatabases::Named(|args| numbers_at(args, &[1, 2])),
        wakes: Wakes::AnyoneAfterwards,
        summary: "Exchanges two databases.",
        syntax: "index1 index2",
        complexity: "O(N), N clients that watch or wait in either database",
        ..row("SWAPDB", 3, Flags::WRITE.union(Flags::FAST), "4.0.0", databases::swapdb)
    },
    Command {
        tips: tips::NONDETERMINISTIC,
        summary: "Tells the time of the server.",
        complexity: "O(1)",
        ..row("TIME", 1, ALWAYS.union(Flags::FAST), "2.6.0", databases::time)
    },
];

/// Flags of commands that change which modules there are.
const MODULES: Flags = SAVING;

const MODULE: &[Command] = &[
    Command {
        summary: "Lists the subcommands.",
        complexity: "O(1)",
        ..row("HELP", 2, ALWAYS, "5.0.0", help::help)
    },
    Command {
        tips: tips::NONDETERMINISTIC_ORDER,
        summary: "Lists the modules.",
        complexity: "O(N), N modules",
        ..row("LIST", 2, Flags::ADMIN.union(Flags::NOSCRIPT), "4.0.0", modules::list)
    },
    Command {
        lets_in: LetsIn::Nobody,
        summary: "Loads a module, which is always refused.",
        syntax: "path [arg [arg ...]]",
        complexity: "O(1)",
        ..row("LOAD", -3, MODULES, "4.0.0", modules::refuse)
    },
    Command {
        lets_in: LetsIn::Nobody,
        summary: "Loads a module with settings, which is always refused.",
        syntax: "path [CONFIG name value [CONFIG name value ...]] [ARGS args [args ...]]",
        complexity: "O(1)",
        arguments: &[("CONFIG", Name("configs"))],
        ..row("LOADEX", -3, MODULES, "7.0.0", modules::refuse)
    },
    Command {
        lets_in: LetsIn::Nobody,
        summary: "Unloads a module, which is always refused.",
        syntax: "name",
        complexity: "O(1)",
        ..row("UNLOAD", 3, MODULES, "4.0.0", modules::refuse)
    },
];

const COMMAND: &[Command] = &[
    Command {
        categories: Categories::CONNECTION,
        summary: "Counts the commands.",
        complexity: "O(1)",
        ..row("COUNT", 2, ALWAYS, "2.8.13", command_table::count)
    },
    Command {
        categories: Categories::CONNECTION,
        tips: tips::NONDETERMINISTIC_ORDER,
        summary: "Lists names of commands.",
        syntax: "[FILTERBY <MODULE module-name | ACLCAT category | PATTERN pattern>]",
        complexity: "O(N), N commands",
        ..row("LIST", -2, ALWAYS, "7.0.0", command_table::list)
    },
    Command {
        categories: Categories::CONNECTION,
        tips: tips::NONDETERMINISTIC_ORDER,
        summary: "Tells arity, flags and positions of keys.",
        syntax: "[command-name [command-name ...]]",
        complexity: "O(N), N commands",
        history: &[("7.0.0", "Without names, it tells about all commands.")],
        ..row("INFO", -2, ALWAYS, "2.8.13", command_table::info)
    },
    Command {
        categories: Categories::CONNECTION,
        tips: tips::NONDETERMINISTIC_ORDER,
        summary: "Describes commands and their arguments.",
        syntax: "[command-name [command-name ...]]",
        complexity: "O(N), N commands",
        ..row("DOCS", -2, ALWAYS, "7.0.0", command_table::docs)
    },
    Command {
        categories: Categories::CONNECTION,
        summary: "Finds the keys in a command.",
        syntax: "command [arg [arg ...]]",
        complexity: "O(N), N arguments",
        ..row("GETKEYS", -3, ALWAYS, "2.8.13", command_table::getkeys)
    },
    Command {
        categories: Categories::CONNECTION,
        summary: "Finds the keys in a command, and what happens to them.",
        syntax: "command [arg [arg ...]]",
        complexity: "O(N), N arguments",
        ..row("GETKEYSANDFLAGS", -3, ALWAYS, "7.0.0", command_table::getkeysandflags)
    },
    Command {
        categories: Categories::CONNECTION,
        summary: "Lists the subcommands.",
        complexity: "O(1)",
        ..row("HELP", 2, ALWAYS, "5.0.0", help::help)
    },
];

const CONFIG: &[Command] = &[
    Command {
        summary: "Returns the settings that a pattern names, and their values.",
        syntax: "pattern [pattern ...]",
        arguments: &[("pattern", Name("parameter")), ("pattern", Type("string"))],
        complexity: "O(N), N settings",
        history: &[("7.0.0", "Several patterns.")],
        ..row("GET", -3, ADMIN, "2.0.0", config::get)
    },
    Command {
        secrets: config::secrets,
        tips: tips::ALL_NODES,
        summary: "Changes settings, all of them or none.",
        syntax: "directive value [directive value ...]",
        arguments: &[("directive", Name("parameter"))],
        complexity: "O(N), N settings that are changed",
        history: &[("7.0.0", "Several settings.")],
        ..row("SET", -4, ADMIN, "2.0.0", config::set)
    },
    Command {
        tips: tips::ALL_NODES,
        summary: "Begins anew to count what INFO tells.",
        complexity: "O(1)",
        ..row("RESETSTAT", 2, ADMIN, "2.0.0", config::resetstat)
    },
    Command {
        tips: tips::ALL_NODES,
        summary: "Writes the settings in force into the configuration file.",
        complexity: "O(1)",
        ..row("REWRITE", 2, ADMIN, "2.8.0", config::rewrite)
    },
    Command {
        summary: "Lists the subcommands.",
        complexity: "O(1)",
        ..row("HELP", 2, ALWAYS, "5.0.0", help::help)
    },
];

const MEMORY: &[Command] = &[
    Command {
        tips: tips::PER_SHARD,
        summary: "Says what looks unhealthy.",
        complexity: "O(1)",
        ..row("DOCTOR", 2, NO_FLAGS, "4.0.0", memory::doctor)
    },
    Command {
        tips: tips::PER_SHARD,
        summary: "Tells figures of the segments.",
        complexity: "O(N), N bytes allocated",
        ..row("MALLOC-STATS", 2, Flags::LOADING, "4.0.0", memory::malloc_stats)
    },
    Command {
        tips: tips::ALL_SHARDS,
        summary: "Asks for memory to be given back to the system.",
        complexity: "O(N), N bytes allocated",
        ..row("PURGE", 2, Flags::LOADING, "4.0.0", memory::purge)
    },
    Command {
        tips: tips::PER_SHARD,
        summary: "Lists the segments that records live in.",
        syntax: "[COUNT count]",
        ..row("SEGMENTS", -2, NO_FLAGS, "4.0.0", memory::segments)
    },
    Command {
        tips: tips::PER_SHARD,
        summary: "Tells where memory goes.",
        complexity: "O(1)",
        ..row("STATS", 2, NO_FLAGS, "4.0.0", memory::stats)
    },
    Command {
        keys: &[KeySpec::at(2, KeyFlags::RO)],
        summary: "Tells how many bytes a key takes.",
        syntax: "key [SAMPLES count]",
        complexity: "O(N), N samples",
        ..row("USAGE", -3, Flags::READONLY, "4.0.0", memory::usage)
    },
    Command {
        summary: "Lists the subcommands.",
        complexity: "O(1)",
        ..row("HELP", 2, ALWAYS, "4.0.0", help::help)
    },
];

const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    since: &'static str,
    run: Handler,
) -> Command {
    Command::plain(Group::Server, name, arity, flags, since, run)
}
