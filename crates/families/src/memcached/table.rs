//! The rows of Memcached's commands, and of two by which other programs read and write what items
//! have besides their values. They stand in no list of commands; each needs the right to the
//! command that does the same in RESP.

use super::{
    change, dump, get, meta_arithmetic, meta_get, meta_set, noted, server, stats, storage,
};
use command::{
    Categories, Command, Flags, Group, Handler, KeyFlags, KeySpec, LAST_WORD, Locks, every_argument,
};

const READ: Flags = Flags::READONLY.union(Flags::FAST);
const WRITE: Flags = SLOW_WRITE.union(Flags::FAST);
const SLOW_WRITE: Flags = Flags::WRITE.union(Flags::DENYOOM);
/// Flags of writes that need no memory.
const FREE: Flags = Flags::WRITE.union(Flags::FAST);

const READS: KeyFlags = KeyFlags::RO.union(KeyFlags::ACCESS);
const SETS: KeyFlags = KeyFlags::OW.union(KeyFlags::UPDATE);
const CHANGES: KeyFlags = KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::UPDATE);
const DELETES: KeyFlags = KeyFlags::RM.union(KeyFlags::DELETE);

/// Those that requests of RESP may name.
pub const HIDDEN: &[Command] = &[
    Command {
        keys: KEY_READ,
        right_of: "get",
        summary: "Returns the attributes of a string.",
        syntax: "key",
        complexity: "O(1)",
        ..Command::plain(Group::String, "VARVE.ATTRIBUTES", 2, READ, "9.1.2", noted::attributes)
    },
    Command {
        keys: &[KeySpec::at(3, CHANGES)],
        right_of: "restore",
        summary: "Executes a command by which a string gets these attributes.",
        syntax: "attributes command key [argument ...]",
        complexity: "That of the command",
        ..Command::plain(Group::String, "VARVE.NOTED", -4, SLOW_WRITE, "9.1.2", noted::noted)
    },
];

/// The commands, each at the place of its variant in `memcached::Command`; then those of files and
/// replicas. The last one is mg where it may write.
pub const COMMANDS: Command = Command::parent(
    Group::String,
    "mc",
    "1.0.0",
    &[
        of_keys("GET", READ, READS, 1, get::get),
        of_keys("GETS", READ, READS, 1, get::gets),
        Command { right_of: "getex", ..of_keys("GAT", FREE, CHANGES, 2, get::gat) },
        Command { right_of: "getex", ..of_keys("GATS", FREE, CHANGES, 2, get::gats) },
        storing("SET", storage::set),
        storing("ADD", storage::add),
        storing("REPLACE", storage::replace),
        Command { right_of: "append", ..changing("APPEND", WRITE, CHANGES, storage::append) },
        Command { right_of: "append", ..changing("PREPEND", WRITE, CHANGES, storage::prepend) },
        storing("CAS", storage::cas),
        Command { right_of: "expire", ..changing("TOUCH", FREE, CHANGES, change::touch) },
        Command { right_of: "del", ..changing("DELETE", FREE, DELETES, change::delete) },
        Command { right_of: "incrby", ..changing("INCR", WRITE, CHANGES, change::increment) },
        Command { right_of: "incrby", ..changing("DECR", WRITE, CHANGES, change::decrement) },
        Command {
            locks: Locks::Gate,
            categories: Categories::DANGEROUS,
            right_of: "flushdb",
            ..Command::plain(Group::Server, "FLUSH_ALL", -1, Flags::WRITE, "1.0.0", server::flush)
        },
        Command { locks: Locks::AllFree, ..about_server("STATS", "info", stats::stats) },
        plain("VERSION", "ping", server::version),
        about_server("VERBOSITY", "config|set", server::verbosity),
        about_server("CACHE_MEMLIMIT", "config|set", server::set_memory_limit),
        plain("QUIT", "ping", server::quit),
        walking("METADUMP", dump::metadump),
        walking("MGDUMP", dump::mgdump),
        meta("MG", "get", READ, KEY_READ, meta_get::mg),
        Command { value_apart: LAST_WORD, ..meta("MS", "set", WRITE, KEY_SET, meta_set::ms) },
        meta("MD", "del", FREE, KEY_DELETED, meta_set::md),
        meta("MA", "incrby", WRITE, KEY_CHANGED, meta_arithmetic::ma),
        meta("ME", "get", READ, KEY_READ, meta_get::me),
        plain("MN", "ping", server::noop),
        Command {
            secrets: every_argument,
            right_of: "auth",
            ..Command::plain(
                Group::Connection,
                "AUTHENTICATE",
                3,
                Flags::NO_AUTH.union(Flags::LOADING).union(Flags::STALE),
                "1.0.0",
                server::authenticate,
            )
        },
        noted("ITEM", -4, "SET", noted::set),
        noted("MARK", 3, "EXISTS", noted::mark),
        noted("RESTORED", -5, "RESTORE", noted::restore),
        meta("MG-WRITING", "getex", FREE, KEY_CHANGED, meta_get::mg),
    ],
);

const KEYS_READ: &[KeySpec] = &[KeySpec::all(READS)];
const KEYS_TOUCHED: &[KeySpec] = &[KeySpec::from(2, CHANGES)];
const KEY_READ: &[KeySpec] = &[KeySpec::one(READS)];
const KEY_SET: &[KeySpec] = &[KeySpec::one(SETS)];
/// The key of a command before which a note stands.
const KEY_NOTED: &[KeySpec] = &[KeySpec::at(2, CHANGES)];
const KEY_CHANGED: &[KeySpec] = &[KeySpec::one(CHANGES)];
const KEY_DELETED: &[KeySpec] = &[KeySpec::one(DELETES)];

/// Row of a command on the keys from a position on.
const fn of_keys(
    name: &'static str,
    flags: Flags,
    use_of_keys: KeyFlags,
    first: i16,
    run: Handler,
) -> Command {
    let _ = use_of_keys;
    Command {
        keys: if first == 1 { KEYS_READ } else { KEYS_TOUCHED },
        right_of: "get",
        ..Command::plain(Group::String, name, -2, flags, "1.0.0", run)
    }
}

/// Row of a command that gives a key a value, its last word.
const fn storing(name: &'static str, run: Handler) -> Command {
    Command {
        keys: KEY_SET,
        value_apart: LAST_WORD,
        right_of: "set",
        ..Command::plain(Group::String, name, -6, WRITE, "1.0.0", run)
    }
}

/// Row of a command that changes the key of its first word.
const fn changing(name: &'static str, flags: Flags, use_of_key: KeyFlags, run: Handler) -> Command {
    let deletes = use_of_key.contains(KeyFlags::DELETE);
    Command {
        keys: if deletes { KEY_DELETED } else { KEY_CHANGED },
        ..Command::plain(Group::String, name, -2, flags, "1.0.0", run)
    }
}

/// Row of a meta command on the key of its first word.
const fn meta(
    name: &'static str,
    right_of: &'static str,
    flags: Flags,
    keys: &'static [KeySpec],
    run: Handler,
) -> Command {
    Command { keys, right_of, ..Command::plain(Group::String, name, -2, flags, "1.0.0", run) }
}

/// Row of a command before which a note stands.
const fn noted(name: &'static str, arity: i16, command: &'static str, run: Handler) -> Command {
    Command {
        keys: KEY_NOTED,
        right_of: "set",
        noted: command,
        ..Command::plain(Group::String, name, arity, WRITE, "1.0.0", run)
    }
}

/// Row of a command that goes over all keys.
const fn walking(name: &'static str, run: Handler) -> Command {
    Command {
        locks: Locks::All,
        right_of: "scan",
        ..Command::plain(Group::Generic, name, -1, Flags::READONLY, "1.0.0", run)
    }
}

/// Row of a command about the server, for those that have the right.
const fn about_server(name: &'static str, right_of: &'static str, run: Handler) -> Command {
    let flags = Flags::LOADING.union(Flags::STALE);
    Command { right_of, ..Command::plain(Group::Server, name, -1, flags, "1.0.0", run) }
}

/// Row of a command without keys, for everybody.
const fn plain(name: &'static str, right_of: &'static str, run: Handler) -> Command {
    let flags = Flags::FAST.union(Flags::LOADING).union(Flags::STALE).union(Flags::NO_AUTH);
    Command { right_of, ..Command::plain(Group::Connection, name, -1, flags, "1.0.0", run) }
}
