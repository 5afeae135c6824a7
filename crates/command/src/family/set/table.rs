//! The rows of the set family.

use super::{combine, many, member, random, scan};
use crate::spec::{CommandSpec, Flags, Group, KeyFlags, KeySpec, Run};

const READ: Flags = Flags::READONLY;
const READ_FAST: Flags = READ.union(Flags::FAST);
const WRITE: Flags = Flags::WRITE.union(Flags::DENYOOM);
const WRITE_FAST: Flags = WRITE.union(Flags::FAST);
const TAKE_FAST: Flags = Flags::WRITE.union(Flags::FAST);

const READS: KeyFlags = KeyFlags::RO.union(KeyFlags::ACCESS);
const ADDS: KeyFlags = KeyFlags::RW.union(KeyFlags::INSERT);
const REMOVES: KeyFlags = KeyFlags::RW.union(KeyFlags::DELETE);
const TAKES: KeyFlags = REMOVES.union(KeyFlags::ACCESS);
const SETS: KeySpec = KeySpec::all(READS);
const TWO_KEYS: KeySpec = KeySpec { first: 1, last: 2, step: 1, flags: TAKES };

/// Rows of the family.
pub const TABLE: &[CommandSpec] = &[
    CommandSpec {
        summary: "Adds members to a set, which is created if need be.",
        syntax: "key member [member ...]",
        ..row("SADD", -3, WRITE_FAST, ADDS, "1.0.0", member::sadd)
    },
    CommandSpec {
        summary: "Counts the members of a set.",
        syntax: "key",
        ..row("SCARD", 2, READ_FAST, KeyFlags::RO, "1.0.0", member::scard)
    },
    CommandSpec {
        keys: SETS,
        summary: "Returns the members of a set that are in none of the others.",
        syntax: "key [key ...]",
        ..row("SDIFF", -2, READ, READS, "1.0.0", combine::sdiff)
    },
    CommandSpec {
        keys: SETS,
        summary: "Stores the members of a set that are in none of the others.",
        syntax: "destination key [key ...]",
        ..row("SDIFFSTORE", -3, WRITE, READS, "1.0.0", combine::sdiffstore)
    },
    CommandSpec {
        keys: SETS,
        summary: "Returns the members that all sets have.",
        syntax: "key [key ...]",
        ..row("SINTER", -2, READ, READS, "1.0.0", combine::sinter)
    },
    CommandSpec {
        keys: KeySpec::NONE,
        summary: "Counts the members that all sets have, up to a limit if there is one.",
        syntax: "numkeys key [key ...] [LIMIT limit]",
        ..row(
            "SINTERCARD",
            -3,
            READ.union(Flags::MOVABLE_KEYS),
            READS,
            "7.0.0",
            combine::sintercard,
        )
    },
    CommandSpec {
        keys: SETS,
        summary: "Stores the members that all sets have.",
        syntax: "destination key [key ...]",
        ..row("SINTERSTORE", -3, WRITE, READS, "1.0.0", combine::sinterstore)
    },
    CommandSpec {
        summary: "Tells whether a set has a member.",
        syntax: "key member",
        ..row("SISMEMBER", 3, READ_FAST, KeyFlags::RO, "1.0.0", member::sismember)
    },
    CommandSpec {
        summary: "Returns all members of a set.",
        syntax: "key",
        ..row("SMEMBERS", 2, READ, READS, "1.0.0", many::smembers)
    },
    CommandSpec {
        summary: "Tells of each of several members whether a set has it.",
        syntax: "key member [member ...]",
        ..row("SMISMEMBER", -3, READ_FAST, READS, "6.2.0", member::smismember)
    },
    CommandSpec {
        keys: TWO_KEYS,
        summary: "Moves a member from one set to another.",
        syntax: "source destination member",
        ..row("SMOVE", 4, TAKE_FAST, TAKES, "1.0.0", member::smove)
    },
    CommandSpec {
        summary: "Takes members out of a set, chosen by chance.",
        syntax: "key [count]",
        ..row("SPOP", -2, TAKE_FAST, TAKES, "1.0.0", random::spop)
    },
    CommandSpec {
        summary: "Returns members of a set, chosen by chance; with a negative count one may come \
                  several times.",
        syntax: "key [count]",
        ..row("SRANDMEMBER", -2, READ, READS, "1.0.0", random::srandmember)
    },
    CommandSpec {
        summary: "Removes members from a set, and the set if none is left.",
        syntax: "key member [member ...]",
        ..row("SREM", -3, TAKE_FAST, REMOVES, "1.0.0", member::srem)
    },
    CommandSpec {
        summary: "Iterates over the members of a set, step by step.",
        syntax: "key cursor [MATCH pattern] [COUNT count]",
        ..row("SSCAN", -3, READ, READS, "2.8.0", scan::sscan)
    },
    CommandSpec {
        keys: SETS,
        summary: "Returns the members that any of the sets has.",
        syntax: "key [key ...]",
        ..row("SUNION", -2, READ, READS, "1.0.0", combine::sunion)
    },
    CommandSpec {
        keys: SETS,
        summary: "Stores the members that any of the sets has.",
        syntax: "destination key [key ...]",
        ..row("SUNIONSTORE", -3, WRITE, READS, "1.0.0", combine::sunionstore)
    },
];

const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    key: KeyFlags,
    since: &'static str,
    run: Run,
) -> CommandSpec {
    let plain = CommandSpec::plain(Group::Set, name, arity, flags, since, run);
    CommandSpec { keys: KeySpec::one(key), ..plain }
}
