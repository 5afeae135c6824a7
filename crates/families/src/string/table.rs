//! The rows of the string family.

use super::{lcs, many, number, range, read, set};
use command::ArgumentFact::{Since, Type};
use command::{Command, Flags, Group, Handler, KeyFlags, KeySpec, tips};

const READ: Flags = Flags::READONLY;
const READ_FAST: Flags = READ.union(Flags::FAST);
const WRITE: Flags = Flags::WRITE.union(Flags::DENYOOM);
const WRITE_FAST: Flags = WRITE.union(Flags::FAST);
/// Flags of writes that need no memory.
const FREE_FAST: Flags = Flags::WRITE.union(Flags::FAST);

const CHANGES: KeyFlags = KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::UPDATE);
const READS: KeyFlags = KeyFlags::RO.union(KeyFlags::ACCESS);
const SETS: KeyFlags = KeyFlags::OW.union(KeyFlags::UPDATE);
const ADDS: KeyFlags = KeyFlags::OW.union(KeyFlags::INSERT);

/// Rows of the family.
pub const TABLE: &[Command] = &[
    Command {
        keys: &[KeySpec::one(KeyFlags::RW.union(KeyFlags::INSERT))],
        summary: "Appends bytes to the string of a key, creating it if there is none.",
        syntax: "key value",
        complexity: "O(N), N bytes written",
        ..row("APPEND", 3, WRITE_FAST, "2.0.0", range::append)
    },
    Command {
        keys: &[KeySpec::one(CHANGES)],
        summary: "Subtracts one from the integer of a key, where none counts as zero.",
        syntax: "key",
        complexity: "O(1)",
        ..row("DECR", 2, WRITE_FAST, "1.0.0", number::decr)
    },
    Command {
        keys: &[KeySpec::one(CHANGES)],
        summary: "Subtracts a number from the integer of a key, where none counts as zero.",
        syntax: "key decrement",
        complexity: "O(1)",
        ..row("DECRBY", 3, WRITE_FAST, "1.0.0", number::decrby)
    },
    Command {
        keys: &[KeySpec::one(KeyFlags::RM.union(KeyFlags::DELETE))],
        summary: "Removes a key if its string has the given bytes.",
        syntax: "key value",
        complexity: "O(1)",
        ..row("DELIFEQ", 3, FREE_FAST, "9.0.0", read::delifeq)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Returns the string of a key.",
        syntax: "key",
        complexity: "O(1)",
        ..row("GET", 2, READ_FAST, "1.0.0", read::get)
    },
    Command {
        keys: &[KeySpec::one(KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::DELETE))],
        summary: "Returns the string of a key and removes the key.",
        syntax: "key",
        complexity: "O(1)",
        ..row("GETDEL", 2, FREE_FAST, "6.2.0", read::getdel)
    },
    Command {
        keys: &[KeySpec::one(CHANGES)],
        summary: "Returns the string of a key and sets or takes away its deadline.",
        syntax: "key [EX seconds | PX milliseconds | EXAT unix-time-seconds | PXAT \
                 unix-time-milliseconds | PERSIST]",
        complexity: "O(1)",
        ..row("GETEX", -2, FREE_FAST, "6.2.0", read::getex)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Returns the bytes of a string between two positions, both included.",
        syntax: "key start end",
        complexity: "O(N), N bytes returned",
        ..row("GETRANGE", 4, READ, "2.4.0", range::getrange)
    },
    Command {
        keys: &[KeySpec::one(CHANGES)],
        summary: "Sets a key and returns the string that it held.",
        syntax: "key value",
        complexity: "O(1)",
        value_apart: 2,
        ..row("GETSET", 3, WRITE_FAST, "1.0.0", set::getset)
    },
    Command {
        keys: &[KeySpec::one(CHANGES)],
        summary: "Adds one to the integer of a key, where none counts as zero.",
        syntax: "key",
        complexity: "O(1)",
        ..row("INCR", 2, WRITE_FAST, "1.0.0", number::incr)
    },
    Command {
        keys: &[KeySpec::one(CHANGES)],
        summary: "Adds a number to the integer of a key, where none counts as zero.",
        syntax: "key increment",
        complexity: "O(1)",
        ..row("INCRBY", 3, WRITE_FAST, "1.0.0", number::incrby)
    },
    Command {
        keys: &[KeySpec::one(CHANGES)],
        summary: "Adds a decimal number to that of a key, where none counts as zero.",
        syntax: "key increment",
        arguments: &[("increment", Type("double"))],
        complexity: "O(1)",
        ..row("INCRBYFLOAT", 3, WRITE_FAST, "2.6.0", number::incrbyfloat)
    },
    Command {
        keys: &[KeySpec::range(1, 2, 1, READS)],
        summary: "Finds the longest subsequence that two strings have in common.",
        syntax: "key1 key2 [LEN] [IDX] [MINMATCHLEN min-match-len] [WITHMATCHLEN]",
        complexity: "O(N*M), N and M bytes of the strings",
        ..row("LCS", -3, READ, "7.0.0", lcs::lcs)
    },
    Command {
        keys: &[KeySpec::all(READS)],
        tips: tips::MULTI_SHARD_GATHERED,
        summary: "Returns the strings of several keys, all as they are at one moment.",
        syntax: "key [key ...]",
        complexity: "O(N), N keys",
        ..row("MGET", -2, READ_FAST, "1.0.0", many::mget)
    },
    Command {
        keys: &[KeySpec::range(1, -1, 2, SETS)],
        tips: tips::MULTI_SHARD,
        summary: "Sets several keys at one moment.",
        syntax: "key value [key value ...]",
        complexity: "O(N), N keys",
        ..row("MSET", -3, WRITE, "1.0.1", many::mset)
    },
    Command {
        keys: &[KeySpec::counted(1, 2, SETS)],
        tips: tips::MULTI_SHARD,
        summary: "Sets several keys at one moment, on a condition and with a deadline.",
        syntax: "numkeys key value [key value ...] [NX | XX] [EX seconds | PX milliseconds | \
                 EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]",
        complexity: "O(N), N keys",
        ..row("MSETEX", -4, WRITE, "9.1.0", many::msetex)
    },
    Command {
        keys: &[KeySpec::range(1, -1, 2, ADDS)],
        summary: "Sets several keys at one moment, unless one of them exists.",
        syntax: "key value [key value ...]",
        complexity: "O(N), N keys",
        ..row("MSETNX", -3, WRITE, "1.0.1", many::msetnx)
    },
    Command {
        keys: &[KeySpec::one(SETS)],
        summary: "Sets a key that ends after a number of milliseconds.",
        syntax: "key milliseconds value",
        complexity: "O(1)",
        value_apart: 3,
        ..row("PSETEX", 4, WRITE, "2.6.0", set::psetex)
    },
    Command {
        keys: &[KeySpec::one(
            KeyFlags::RW.union(KeyFlags::ACCESS).union(KeyFlags::UPDATE).union(KeyFlags::VARIABLE),
        )],
        find_keys: set::keys,
        summary: "Sets a key, on conditions and with a deadline if wanted.",
        syntax: "key value [NX | XX | IFEQ comparison-value] [GET] [EX seconds | PX \
                 milliseconds | EXAT unix-time-seconds | PXAT unix-time-milliseconds | KEEPTTL]",
        arguments: &[
            ("NX", Since("2.6.12")),
            ("XX", Since("2.6.12")),
            ("IFEQ", Since("8.1.0")),
            ("GET", Since("6.2.0")),
            ("EX", Since("2.6.12")),
            ("PX", Since("2.6.12")),
            ("EXAT", Since("6.2.0")),
            ("PXAT", Since("6.2.0")),
            ("KEEPTTL", Since("6.0.0")),
        ],
        complexity: "O(1)",
        history: &[
            ("2.6.12", "EX, PX, NX and XX."),
            ("6.0.0", "KEEPTTL."),
            ("6.2.0", "GET, EXAT and PXAT."),
            ("7.0.0", "NX together with GET."),
            ("8.1.0", "IFEQ."),
        ],
        value_apart: 2,
        ..row("SET", -3, WRITE, "1.0.0", set::set)
    },
    Command {
        keys: &[KeySpec::one(SETS)],
        summary: "Sets a key that ends after a number of seconds.",
        syntax: "key seconds value",
        complexity: "O(1)",
        value_apart: 3,
        ..row("SETEX", 4, WRITE, "2.0.0", set::setex)
    },
    Command {
        keys: &[KeySpec::one(ADDS)],
        summary: "Sets a key unless it exists.",
        syntax: "key value",
        complexity: "O(1)",
        value_apart: 2,
        ..row("SETNX", 3, WRITE_FAST, "1.0.0", set::setnx)
    },
    Command {
        keys: &[KeySpec::one(KeyFlags::RW.union(KeyFlags::UPDATE))],
        summary: "Writes over a part of a string, which grows if need be.",
        syntax: "key offset value",
        complexity: "O(N), N bytes written",
        ..row("SETRANGE", 4, WRITE, "2.2.0", range::setrange)
    },
    Command {
        keys: &[KeySpec::one(KeyFlags::RO)],
        summary: "Returns the number of bytes of a string.",
        syntax: "key",
        complexity: "O(1)",
        ..row("STRLEN", 2, READ_FAST, "2.2.0", read::strlen)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Does what GETRANGE does, under its former name.",
        syntax: "key start end",
        complexity: "O(N), N bytes returned",
        ..row("SUBSTR", 4, READ, "1.0.0", range::getrange)
    },
];

const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    since: &'static str,
    run: Handler,
) -> Command {
    Command::plain(Group::String, name, arity, flags, since, run)
}
