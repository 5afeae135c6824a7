//! Rows of the family.

use super::{blocking, edit, ends, look, moves};
use command::ArgumentFact::{Name, Since, Type};
use command::{Command, Flags, Group, Handler, KeyFlags, KeySpec, Wakes};

const WRITE: Flags = Flags::WRITE.union(Flags::DENYOOM);
const WRITE_FAST: Flags = WRITE.union(Flags::FAST);
const READ_FAST: Flags = Flags::READONLY.union(Flags::FAST);
const TAKE_FAST: Flags = Flags::WRITE.union(Flags::FAST);

const READS: KeyFlags = KeyFlags::RO.union(KeyFlags::ACCESS);
const ADDS: KeyFlags = KeyFlags::RW.union(KeyFlags::INSERT);
const CHANGES: KeyFlags = KeyFlags::RW.union(KeyFlags::UPDATE);
const REMOVES: KeyFlags = KeyFlags::RW.union(KeyFlags::DELETE);
const TAKES: KeyFlags = REMOVES.union(KeyFlags::ACCESS);
const FROM_TO: &[KeySpec] = &[KeySpec::one(TAKES), KeySpec::at(2, ADDS)];

const WAITS: Flags = Flags::WRITE.union(Flags::BLOCKING);
const MOVES: Flags = WAITS_TO_WRITE.union(Flags::ANSWERS_NULL);
const WAITS_TO_WRITE: Flags = WAITS.union(Flags::DENYOOM);
const ALL_BUT_LAST: &[KeySpec] = &[KeySpec::range(1, -2, 1, TAKES)];

/// Rows of the family.
pub const TABLE: &[Command] = &[
    Command {
        keys: FROM_TO,
        summary: "Does what LMOVE does, and waits for an element if there is none.",
        syntax: "source destination <LEFT | RIGHT> <LEFT | RIGHT> timeout",
        arguments: &[
            ("where", Name("wherefrom")),
            ("where", Name("whereto")),
            ("timeout", Type("double")),
        ],
        complexity: "O(1)",
        ..row("BLMOVE", 6, MOVES, "6.2.0", blocking::blmove)
    },
    Command {
        keys: &[KeySpec::counted(2, 1, TAKES)],
        wakes: Wakes::Nobody,
        summary: "Does what LMPOP does, and waits for an element if there is none.",
        syntax: "timeout numkeys key [key ...] <LEFT | RIGHT> [COUNT count]",
        arguments: &[("timeout", Type("double"))],
        complexity: "O(N+M), N keys, M elements returned",
        ..row("BLMPOP", -5, WAITS, "7.0.0", blocking::blmpop)
    },
    Command {
        keys: ALL_BUT_LAST,
        wakes: Wakes::Nobody,
        summary: "Takes the first element of the first list that has one, and waits if none has.",
        syntax: "key [key ...] timeout",
        arguments: &[("timeout", Type("double"))],
        complexity: "O(N), N keys",
        history: &[("6.0.0", "The timeout may be a fraction of a second.")],
        ..row("BLPOP", -3, WAITS, "2.0.0", blocking::blpop)
    },
    Command {
        keys: ALL_BUT_LAST,
        wakes: Wakes::Nobody,
        summary: "Takes the last element of the first list that has one, and waits if none has.",
        syntax: "key [key ...] timeout",
        arguments: &[("timeout", Type("double"))],
        complexity: "O(N), N keys",
        history: &[("6.0.0", "The timeout may be a fraction of a second.")],
        ..row("BRPOP", -3, WAITS, "2.0.0", blocking::brpop)
    },
    Command {
        keys: FROM_TO,
        summary: "Does what RPOPLPUSH does, and waits for an element if there is none.",
        syntax: "source destination timeout",
        arguments: &[("timeout", Type("double"))],
        complexity: "O(1)",
        history: &[("6.0.0", "The timeout may be a fraction of a second.")],
        ..row("BRPOPLPUSH", 4, MOVES, "2.2.0", blocking::brpoplpush)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Reads the element at a position.",
        syntax: "key index",
        complexity: "O(N), N elements between the index and the nearer end",
        ..row("LINDEX", 3, Flags::READONLY, "1.0.0", look::lindex)
    },
    Command {
        keys: &[KeySpec::one(ADDS)],
        summary: "Inserts an element before or behind another one.",
        syntax: "key <BEFORE | AFTER> pivot element",
        complexity: "O(N), N elements before the pivot",
        ..row("LINSERT", 5, WRITE, "2.2.0", edit::linsert)
    },
    Command {
        keys: &[KeySpec::one(KeyFlags::RO)],
        summary: "Counts the elements of a list.",
        syntax: "key",
        complexity: "O(1)",
        ..row("LLEN", 2, READ_FAST, "1.0.0", look::llen)
    },
    Command {
        keys: FROM_TO,
        summary: "Takes an element from an end of a list, adds it to an end of another, and \
                 returns it.",
        syntax: "source destination <LEFT | RIGHT> <LEFT | RIGHT>",
        arguments: &[("where", Name("wherefrom")), ("where", Name("whereto"))],
        complexity: "O(1)",
        ..row("LMOVE", 5, WRITE, "6.2.0", moves::lmove)
    },
    Command {
        keys: &[KeySpec::counted(1, 1, TAKES)],
        summary: "Takes elements from an end of the first of several lists that has any.",
        syntax: "numkeys key [key ...] <LEFT | RIGHT> [COUNT count]",
        complexity: "O(N+M), N keys, M elements returned",
        ..row("LMPOP", -4, Flags::WRITE, "7.0.0", ends::lmpop)
    },
    Command {
        keys: &[KeySpec::one(TAKES)],
        summary: "Takes elements from the front of a list.",
        syntax: "key [count]",
        arguments: &[("count", Since("6.2.0"))],
        complexity: "O(N), N elements returned",
        history: &[("6.2.0", "The count.")],
        ..row("LPOP", -2, TAKE_FAST, "1.0.0", ends::lpop)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Finds where an element stands in a list.",
        syntax: "key element [RANK rank] [COUNT num-matches] [MAXLEN len]",
        complexity: "O(N), N elements looked at",
        ..row("LPOS", -3, Flags::READONLY, "6.0.6", look::lpos)
    },
    Command {
        keys: &[KeySpec::one(ADDS)],
        summary: "Adds elements to the front of a list, one after the other.",
        syntax: "key element [element ...]",
        complexity: "O(N), N elements added",
        history: &[("2.4.0", "Several elements.")],
        ..row("LPUSH", -3, WRITE_FAST, "1.0.0", ends::lpush)
    },
    Command {
        keys: &[KeySpec::one(ADDS)],
        summary: "Adds elements to the front of a list that exists.",
        syntax: "key element [element ...]",
        complexity: "O(N), N elements added",
        history: &[("4.0.0", "Several elements.")],
        ..row("LPUSHX", -3, WRITE_FAST, "2.2.0", ends::lpushx)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Reads the elements between two positions.",
        syntax: "key start stop",
        complexity: "O(S+N), S elements between the start and the nearer end, N elements returned",
        ..row("LRANGE", 4, Flags::READONLY, "1.0.0", look::lrange)
    },
    Command {
        keys: &[KeySpec::one(REMOVES)],
        summary: "Removes elements that are equal to one that is given.",
        syntax: "key count element",
        complexity: "O(N), N elements of the list",
        ..row("LREM", 4, Flags::WRITE, "1.0.0", edit::lrem)
    },
    Command {
        keys: &[KeySpec::one(CHANGES)],
        summary: "Sets the element at a position.",
        syntax: "key index element",
        complexity: "O(N), N elements between the index and the nearer end",
        ..row("LSET", 4, WRITE, "1.0.0", edit::lset)
    },
    Command {
        keys: &[KeySpec::one(REMOVES)],
        summary: "Removes all elements but those between two positions.",
        syntax: "key start stop",
        complexity: "O(N), N elements removed",
        ..row("LTRIM", 4, Flags::WRITE, "1.0.0", edit::ltrim)
    },
    Command {
        keys: &[KeySpec::one(TAKES)],
        summary: "Takes elements from the end of a list.",
        syntax: "key [count]",
        arguments: &[("count", Since("6.2.0"))],
        complexity: "O(N), N elements returned",
        history: &[("6.2.0", "The count.")],
        ..row("RPOP", -2, TAKE_FAST, "1.0.0", ends::rpop)
    },
    Command {
        keys: FROM_TO,
        summary: "Takes the last element of a list, puts it before the first of another, and \
                 returns it.",
        syntax: "source destination",
        complexity: "O(1)",
        ..row("RPOPLPUSH", 3, WRITE, "1.2.0", moves::rpoplpush)
    },
    Command {
        keys: &[KeySpec::one(ADDS)],
        summary: "Adds elements to the end of a list, one after the other.",
        syntax: "key element [element ...]",
        complexity: "O(N), N elements added",
        history: &[("2.4.0", "Several elements.")],
        ..row("RPUSH", -3, WRITE_FAST, "1.0.0", ends::rpush)
    },
    Command {
        keys: &[KeySpec::one(ADDS)],
        summary: "Adds elements to the end of a list that exists.",
        syntax: "key element [element ...]",
        complexity: "O(N), N elements added",
        history: &[("4.0.0", "Several elements.")],
        ..row("RPUSHX", -3, WRITE_FAST, "2.2.0", ends::rpushx)
    },
];

const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    since: &'static str,
    run: Handler,
) -> Command {
    Command::plain(Group::List, name, arity, flags, since, run)
}
