//! The rows of the set family.

use super::{combine, many, member, random, scan};
use command::ArgumentFact::Since;
use command::{Command, Flags, Group, Handler, KeyFlags, KeySpec, tips};

const READ: Flags = Flags::READONLY;
const READ_FAST: Flags = READ.union(Flags::FAST);
const WRITE: Flags = Flags::WRITE.union(Flags::DENYOOM);
const WRITE_FAST: Flags = WRITE.union(Flags::FAST);
const TAKE_FAST: Flags = Flags::WRITE.union(Flags::FAST);

const READS: KeyFlags = KeyFlags::RO.union(KeyFlags::ACCESS);
const ADDS: KeyFlags = KeyFlags::RW.union(KeyFlags::INSERT);
const REMOVES: KeyFlags = KeyFlags::RW.union(KeyFlags::DELETE);
const TAKES: KeyFlags = REMOVES.union(KeyFlags::ACCESS);
const SETS: KeyFlags = KeyFlags::OW.union(KeyFlags::UPDATE);

/// Rows of the family.
pub const TABLE: &[Command] = &[
    Command {
        keys: &[KeySpec::one(ADDS)],
        summary: "Adds members to a set, which is created if need be.",
        syntax: "key member [member ...]",
        complexity: "O(N), N elements added",
        history: &[("2.4.0", "Several members.")],
        ..row("SADD", -3, WRITE_FAST, "1.0.0", member::sadd)
    },
    Command {
        keys: &[KeySpec::one(KeyFlags::RO)],
        summary: "Counts the members of a set.",
        syntax: "key",
        complexity: "O(1)",
        ..row("SCARD", 2, READ_FAST, "1.0.0", member::scard)
    },
    Command {
        keys: &[KeySpec::all(READS)],
        tips: tips::NONDETERMINISTIC_ORDER,
        summary: "Returns the members of a set that are in none of the others.",
        syntax: "key [key ...]",
        complexity: "O(N), N members of all sets",
        ..row("SDIFF", -2, READ, "1.0.0", combine::sdiff)
    },
    Command {
        keys: &[KeySpec::one(SETS), KeySpec::from(2, READS)],
        summary: "Stores the members of a set that are in none of the others.",
        syntax: "destination key [key ...]",
        complexity: "O(N), N members of all sets",
        ..row("SDIFFSTORE", -3, WRITE, "1.0.0", combine::sdiffstore)
    },
    Command {
        keys: &[KeySpec::all(READS)],
        tips: tips::NONDETERMINISTIC_ORDER,
        summary: "Returns the members that all sets have.",
        syntax: "key [key ...]",
        complexity: "O(N*M), N members of the smallest set, M sets",
        ..row("SINTER", -2, READ, "1.0.0", combine::sinter)
    },
    Command {
        keys: &[KeySpec::counted(1, 1, READS)],
        summary: "Counts the members that all sets have, up to a limit if there is one.",
        syntax: "numkeys key [key ...] [LIMIT limit]",
        complexity: "O(N*M), N members of the smallest set, M sets",
        ..row("SINTERCARD", -3, READ, "7.0.0", combine::sintercard)
    },
    Command {
        keys: &[KeySpec::one(SETS), KeySpec::from(2, READS)],
        summary: "Stores the members that all sets have.",
        syntax: "destination key [key ...]",
        complexity: "O(N*M), N members of the smallest set, M sets",
        ..row("SINTERSTORE", -3, WRITE, "1.0.0", combine::sinterstore)
    },
    Command {
        keys: &[KeySpec::one(KeyFlags::RO)],
        summary: "Tells whether a set has a member.",
        syntax: "key member",
        complexity: "O(1)",
        ..row("SISMEMBER", 3, READ_FAST, "1.0.0", member::sismember)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        tips: tips::NONDETERMINISTIC_ORDER,
        summary: "Returns all members of a set.",
        syntax: "key",
        complexity: "O(N), N members of the set",
        ..row("SMEMBERS", 2, READ, "1.0.0", many::smembers)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Tells of each of several members whether a set has it.",
        syntax: "key member [member ...]",
        complexity: "O(N), N members asked for",
        ..row("SMISMEMBER", -3, READ_FAST, "6.2.0", member::smismember)
    },
    Command {
        keys: &[KeySpec::one(TAKES), KeySpec::at(2, ADDS)],
        summary: "Moves a member from one set to another.",
        syntax: "source destination member",
        complexity: "O(1)",
        ..row("SMOVE", 4, TAKE_FAST, "1.0.0", member::smove)
    },
    Command {
        keys: &[KeySpec::one(TAKES)],
        tips: tips::NONDETERMINISTIC,
        summary: "Takes members out of a set, chosen by chance.",
        syntax: "key [count]",
        arguments: &[("count", Since("3.2.0"))],
        complexity: "O(N), N elements returned",
        history: &[("3.2.0", "The count.")],
        ..row("SPOP", -2, TAKE_FAST, "1.0.0", random::spop)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        tips: tips::NONDETERMINISTIC,
        summary: "Returns members of a set, chosen by chance; with a negative count one may come \
                  several times.",
        syntax: "key [count]",
        arguments: &[("count", Since("2.6.0"))],
        complexity: "O(N), N elements returned",
        history: &[("2.6.0", "The count.")],
        ..row("SRANDMEMBER", -2, READ, "1.0.0", random::srandmember)
    },
    Command {
        keys: &[KeySpec::one(REMOVES)],
        summary: "Removes members from a set, and the set if none is left.",
        syntax: "key member [member ...]",
        complexity: "O(N), N members named",
        history: &[("2.4.0", "Several members.")],
        ..row("SREM", -3, TAKE_FAST, "1.0.0", member::srem)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        tips: tips::NONDETERMINISTIC,
        summary: "Iterates over the members of a set, step by step.",
        syntax: "key cursor [MATCH pattern] [COUNT count]",
        complexity: "O(N), N elements looked at; O(M) for a whole iteration, M elements",
        ..row("SSCAN", -3, READ, "2.8.0", scan::sscan)
    },
    Command {
        keys: &[KeySpec::all(READS)],
        tips: tips::NONDETERMINISTIC_ORDER,
        summary: "Returns the members that any of the sets has.",
        syntax: "key [key ...]",
        complexity: "O(N), N members of all sets",
        ..row("SUNION", -2, READ, "1.0.0", combine::sunion)
    },
    Command {
        keys: &[KeySpec::one(SETS), KeySpec::from(2, READS)],
        summary: "Stores the members that any of the sets has.",
        syntax: "destination key [key ...]",
        complexity: "O(N), N members of all sets",
        ..row("SUNIONSTORE", -3, WRITE, "1.0.0", combine::sunionstore)
    },
];

const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    since: &'static str,
    run: Handler,
) -> Command {
    Command::plain(Group::Set, name, arity, flags, since, run)
}
