//! Rows of the family.

use super::{blocking, edit, ends, look, moves};
use crate::spec::{CommandSpec, Flags, Group, KeyFlags, KeySpec, Run};

const WRITE: Flags = Flags::WRITE.union(Flags::DENYOOM);
const WRITE_FAST: Flags = WRITE.union(Flags::FAST);
const READ_FAST: Flags = Flags::READONLY.union(Flags::FAST);
const TAKE_FAST: Flags = Flags::WRITE.union(Flags::FAST);

const READS: KeyFlags = KeyFlags::RO.union(KeyFlags::ACCESS);
const ADDS: KeyFlags = KeyFlags::RW.union(KeyFlags::INSERT);
const CHANGES: KeyFlags = KeyFlags::RW.union(KeyFlags::UPDATE);
const REMOVES: KeyFlags = KeyFlags::RW.union(KeyFlags::DELETE);
const TAKES: KeyFlags = REMOVES.union(KeyFlags::ACCESS);
const TWO_KEYS: KeySpec = KeySpec { first: 1, last: 2, step: 1, flags: TAKES };

const WAITS: Flags = Flags::WRITE.union(Flags::BLOCKING);
const WAITS_TO_WRITE: Flags = WAITS.union(Flags::DENYOOM);
const ALL_BUT_LAST: KeySpec = KeySpec { first: 1, last: -2, step: 1, flags: TAKES };

/// Rows of the family.
pub const TABLE: &[CommandSpec] = &[
    CommandSpec {
        keys: TWO_KEYS,
        summary: "Does what LMOVE does, and waits for an element if there is none.",
        syntax: "source destination <LEFT | RIGHT> <LEFT | RIGHT> timeout",
        ..row("BLMOVE", 6, WAITS_TO_WRITE, TAKES, "6.2.0", blocking::blmove)
    },
    CommandSpec {
        keys: KeySpec::NONE,
        summary: "Does what LMPOP does, and waits for an element if there is none.",
        syntax: "timeout numkeys key [key ...] <LEFT | RIGHT> [COUNT count]",
        ..row("BLMPOP", -5, WAITS.union(Flags::MOVABLE_KEYS), TAKES, "7.0.0", blocking::blmpop)
    },
    CommandSpec {
        keys: ALL_BUT_LAST,
        summary: "Takes the first element of the first list that has one, and waits if none has.",
        syntax: "key [key ...] timeout",
        ..row("BLPOP", -3, WAITS, TAKES, "2.0.0", blocking::blpop)
    },
    CommandSpec {
        keys: ALL_BUT_LAST,
        summary: "Takes the last element of the first list that has one, and waits if none has.",
        syntax: "key [key ...] timeout",
        ..row("BRPOP", -3, WAITS, TAKES, "2.0.0", blocking::brpop)
    },
    CommandSpec {
        keys: TWO_KEYS,
        summary: "Does what RPOPLPUSH does, and waits for an element if there is none.",
        syntax: "source destination timeout",
        ..row("BRPOPLPUSH", 4, WAITS_TO_WRITE, TAKES, "2.2.0", blocking::brpoplpush)
    },
    CommandSpec {
        summary: "Reads the element at a position.",
        syntax: "key index",
        ..row("LINDEX", 3, Flags::READONLY, READS, "1.0.0", look::lindex)
    },
    CommandSpec {
        summary: "Inserts an element before or behind another one.",
        syntax: "key <BEFORE | AFTER> pivot element",
        ..row("LINSERT", 5, WRITE, ADDS, "2.2.0", edit::linsert)
    },
    CommandSpec {
        summary: "Counts the elements of a list.",
        syntax: "key",
        ..row("LLEN", 2, READ_FAST, KeyFlags::RO, "1.0.0", look::llen)
    },
    CommandSpec {
        keys: TWO_KEYS,
        summary: "Takes an element from an end of a list, adds it to an end of another, and \
                 returns it.",
        syntax: "source destination <LEFT | RIGHT> <LEFT | RIGHT>",
        ..row("LMOVE", 5, WRITE, TAKES, "6.2.0", moves::lmove)
    },
    CommandSpec {
        keys: KeySpec::NONE,
        summary: "Takes elements from an end of the first of several lists that has any.",
        syntax: "numkeys key [key ...] <LEFT | RIGHT> [COUNT count]",
        ..row("LMPOP", -4, Flags::WRITE.union(Flags::MOVABLE_KEYS), TAKES, "7.0.0", ends::lmpop)
    },
    CommandSpec {
        summary: "Takes elements from the front of a list.",
        syntax: "key [count]",
        ..row("LPOP", -2, TAKE_FAST, TAKES, "1.0.0", ends::lpop)
    },
    CommandSpec {
        summary: "Finds where an element stands in a list.",
        syntax: "key element [RANK rank] [COUNT num-matches] [MAXLEN len]",
        ..row("LPOS", -3, Flags::READONLY, READS, "6.0.6", look::lpos)
    },
    CommandSpec {
        summary: "Adds elements to the front of a list, one after the other.",
        syntax: "key element [element ...]",
        ..row("LPUSH", -3, WRITE_FAST, ADDS, "1.0.0", ends::lpush)
    },
    CommandSpec {
        summary: "Adds elements to the front of a list that exists.",
        syntax: "key element [element ...]",
        ..row("LPUSHX", -3, WRITE_FAST, ADDS, "2.2.0", ends::lpushx)
    },
    CommandSpec {
        summary: "Reads the elements between two positions.",
        syntax: "key start stop",
        ..row("LRANGE", 4, Flags::READONLY, READS, "1.0.0", look::lrange)
    },
    CommandSpec {
        summary: "Removes elements that are equal to one that is given.",
        syntax: "key count element",
        ..row("LREM", 4, Flags::WRITE, REMOVES, "1.0.0", edit::lrem)
    },
    CommandSpec {
        summary: "Sets the element at a position.",
        syntax: "key index element",
        ..row("LSET", 4, WRITE, CHANGES, "1.0.0", edit::lset)
    },
    CommandSpec {
        summary: "Removes all elements but those between two positions.",
        syntax: "key start stop",
        ..row("LTRIM", 4, Flags::WRITE, REMOVES, "1.0.0", edit::ltrim)
    },
    CommandSpec {
        summary: "Takes elements from the end of a list.",
        syntax: "key [count]",
        ..row("RPOP", -2, TAKE_FAST, TAKES, "1.0.0", ends::rpop)
    },
    CommandSpec {
        keys: TWO_KEYS,
        summary: "Takes the last element of a list, puts it before the first of another, and \
                 returns it.",
        syntax: "source destination",
        ..row("RPOPLPUSH", 3, WRITE, TAKES, "1.2.0", moves::rpoplpush)
    },
    CommandSpec {
        summary: "Adds elements to the end of a list, one after the other.",
        syntax: "key element [element ...]",
        ..row("RPUSH", -3, WRITE_FAST, ADDS, "1.0.0", ends::rpush)
    },
    CommandSpec {
        summary: "Adds elements to the end of a list that exists.",
        syntax: "key element [element ...]",
        ..row("RPUSHX", -3, WRITE_FAST, ADDS, "2.2.0", ends::rpushx)
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
    let plain = CommandSpec::plain(Group::List, name, arity, flags, since, run);
    CommandSpec { keys: KeySpec::one(key), ..plain }
}
