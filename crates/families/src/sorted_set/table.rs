//! The rows of the sorted set family.

use super::{add, blocking, combine, look, pop, random, range, remove, scan};
use command::ArgumentFact::{Name, Since, Type};
use command::{Command, Flags, Group, Handler, KeyFlags, KeySpec, Wakes, tips};

const READ: Flags = Flags::READONLY;
const READ_FAST: Flags = READ.union(Flags::FAST);
const WRITE: Flags = Flags::WRITE.union(Flags::DENYOOM);
const WRITE_FAST: Flags = WRITE.union(Flags::FAST);
/// Flags of writes that need no memory.
const FREE: Flags = Flags::WRITE;
const FREE_FAST: Flags = FREE.union(Flags::FAST);

const READS: KeyFlags = KeyFlags::RO.union(KeyFlags::ACCESS);
const UPDATES: KeyFlags = KeyFlags::RW.union(KeyFlags::UPDATE);
const CHANGES: KeyFlags = UPDATES.union(KeyFlags::ACCESS);
const REMOVES: KeyFlags = KeyFlags::RW.union(KeyFlags::DELETE);
const TAKES: KeyFlags = REMOVES.union(KeyFlags::ACCESS);
const SETS: KeyFlags = KeyFlags::OW.union(KeyFlags::UPDATE);

const WAITS: Flags = Flags::WRITE.union(Flags::BLOCKING);

/// Rows of the family.
pub const TABLE: &[Command] = &[
    Command {
        keys: &[KeySpec::counted(2, 1, TAKES)],
        wakes: Wakes::Nobody,
        summary: "Does what ZMPOP does, and waits for a member if there is none.",
        syntax: "timeout numkeys key [key ...] <MIN | MAX> [COUNT count]",
        arguments: &[("timeout", Type("double"))],
        complexity: "O(N+M log L), N keys, M members returned, L members of the set",
        ..row("BZMPOP", -5, WAITS, "7.0.0", blocking::bzmpop)
    },
    Command {
        keys: &[KeySpec::range(1, -2, 1, TAKES)],
        wakes: Wakes::Nobody,
        summary: "Takes the member with the highest score from the first sorted set \
                  that has one, and waits if none has.",
        syntax: "key [key ...] timeout",
        arguments: &[("timeout", Type("double"))],
        complexity: "O(N+log M), N keys, M members of the set",
        history: &[("6.0.0", "The timeout may be a fraction of a second.")],
        ..row("BZPOPMAX", -3, WAITS.union(Flags::FAST), "5.0.0", blocking::bzpopmax)
    },
    Command {
        keys: &[KeySpec::range(1, -2, 1, TAKES)],
        wakes: Wakes::Nobody,
        summary: "Takes the member with the lowest score from the first sorted set \
                  that has one, and waits if none has.",
        syntax: "key [key ...] timeout",
        arguments: &[("timeout", Type("double"))],
        complexity: "O(N+log M), N keys, M members of the set",
        history: &[("6.0.0", "The timeout may be a fraction of a second.")],
        ..row("BZPOPMIN", -3, WAITS.union(Flags::FAST), "5.0.0", blocking::bzpopmin)
    },
    Command {
        keys: &[KeySpec::one(UPDATES)],
        summary: "Adds members to a sorted set, which is created if need be, or changes their \
                 scores.",
        syntax: "key [NX | XX] [GT | LT] [CH] [INCR] score member [score member ...]",
        arguments: &[
            ("condition", Since("3.0.2")),
            ("comparison", Since("6.2.0")),
            ("CH", Name("change")),
            ("CH", Since("3.0.2")),
            ("INCR", Name("increment")),
            ("INCR", Since("3.0.2")),
        ],
        complexity: "O(N log M), N members added, M members of the set",
        history: &[
            ("2.4.0", "Several members."),
            ("3.0.2", "XX, NX, CH and INCR."),
            ("6.2.0", "GT and LT."),
        ],
        ..row("ZADD", -4, WRITE_FAST, "1.2.0", add::zadd)
    },
    Command {
        keys: &[KeySpec::one(KeyFlags::RO)],
        summary: "Returns how many members a sorted set has.",
        syntax: "key",
        complexity: "O(1)",
        ..row("ZCARD", 2, READ_FAST, "1.2.0", look::zcard)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Returns how many members have scores in a range.",
        syntax: "key min max",
        arguments: &[("min", Type("double")), ("max", Type("double"))],
        complexity: "O(log N), N members of the set",
        ..row("ZCOUNT", 4, READ_FAST, "2.0.0", look::zcount)
    },
    Command {
        keys: &[KeySpec::counted(1, 1, READS)],
        summary: "Returns the members of the first sorted set that no other has.",
        syntax: "numkeys key [key ...] [WITHSCORES]",
        complexity: "O(N log N), N members of all sets",
        ..row("ZDIFF", -3, READ, "6.2.0", combine::zdiff)
    },
    Command {
        keys: &[KeySpec::one(SETS), KeySpec::counted(2, 1, READS)],
        summary: "Stores the members of the first sorted set that no other has.",
        syntax: "destination numkeys key [key ...]",
        complexity: "O(N log N), N members of all sets",
        ..row("ZDIFFSTORE", -4, WRITE, "6.2.0", combine::zdiffstore)
    },
    Command {
        keys: &[KeySpec::one(CHANGES)],
        summary: "Adds to the score of a member, where none counts as zero.",
        syntax: "key increment member",
        complexity: "O(log N), N members of the set",
        ..row("ZINCRBY", 4, WRITE_FAST, "1.2.0", add::zincrby)
    },
    Command {
        keys: &[KeySpec::counted(1, 1, READS)],
        summary: "Returns the members that all of several sorted sets have.",
        syntax: "numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | \
                 MAX>] [WITHSCORES]",
        complexity: "O(N*M+L log L), N members of the smallest set, M sets, L of the result",
        ..row("ZINTER", -3, READ, "6.2.0", combine::zinter)
    },
    Command {
        keys: &[KeySpec::counted(1, 1, READS)],
        summary: "Returns how many members all of several sorted sets have.",
        syntax: "numkeys key [key ...] [LIMIT limit]",
        complexity: "O(N*M), N members of the smallest set, M sets",
        ..row("ZINTERCARD", -3, READ, "7.0.0", combine::zintercard)
    },
    Command {
        keys: &[KeySpec::one(SETS), KeySpec::counted(2, 1, READS)],
        summary: "Stores the members that all of several sorted sets have.",
        syntax: "destination numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM \
                 | MIN | MAX>]",
        complexity: "O(N*M+L log L), N members of the smallest set, M sets, L of the result",
        ..row("ZINTERSTORE", -4, WRITE, "2.0.0", combine::zinterstore)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Returns how many members lie in a range of their bytes, where all have the same \
                 score.",
        syntax: "key min max",
        complexity: "O(log N), N members of the set",
        ..row("ZLEXCOUNT", 4, READ_FAST, "2.8.9", look::zlexcount)
    },
    Command {
        keys: &[KeySpec::counted(1, 1, TAKES)],
        summary: "Takes the members with the lowest or highest scores from the first sorted set \
                 that there is.",
        syntax: "numkeys key [key ...] <MIN | MAX> [COUNT count]",
        complexity: "O(N+M log L), N keys, M members returned, L members of the set",
        ..row("ZMPOP", -4, FREE, "7.0.0", pop::zmpop)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Returns the scores of members.",
        syntax: "key member [member ...]",
        complexity: "O(N), N members asked for",
        ..row("ZMSCORE", -3, READ_FAST, "6.2.0", look::zmscore)
    },
    Command {
        keys: &[KeySpec::one(TAKES)],
        summary: "Takes the members with the highest scores.",
        syntax: "key [count]",
        complexity: "O(M log N), M members returned, N members of the set",
        ..row("ZPOPMAX", -2, FREE_FAST, "5.0.0", pop::zpopmax)
    },
    Command {
        keys: &[KeySpec::one(TAKES)],
        summary: "Takes the members with the lowest scores.",
        syntax: "key [count]",
        complexity: "O(M log N), M members returned, N members of the set",
        ..row("ZPOPMIN", -2, FREE_FAST, "5.0.0", pop::zpopmin)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        tips: tips::NONDETERMINISTIC,
        summary: "Returns members that were drawn by chance.",
        syntax: "key [count [WITHSCORES]]",
        arguments: &[("count-withscores", Name("options"))],
        complexity: "O(N), N members returned",
        ..row("ZRANDMEMBER", -2, READ, "6.2.0", random::zrandmember)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Returns the members in a range of ranks, scores or bytes.",
        syntax: "key start stop [BYSCORE | BYLEX] [REV] [LIMIT offset count] [WITHSCORES]",
        arguments: &[
            ("start", Type("string")),
            ("stop", Type("string")),
            ("sortby", Since("6.2.0")),
            ("REV", Since("6.2.0")),
            ("LIMIT", Since("6.2.0")),
        ],
        complexity: "O(log N+M), N members of the set, M members returned",
        history: &[("6.2.0", "REV, BYSCORE, BYLEX and LIMIT.")],
        ..row("ZRANGE", -4, READ, "1.2.0", range::zrange)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Returns the members in a range of their bytes, where all have the same score.",
        syntax: "key min max [LIMIT offset count]",
        complexity: "O(log N+M), N members of the set, M members returned",
        ..row("ZRANGEBYLEX", -4, READ, "2.8.9", range::zrangebylex)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Returns the members with scores in a range.",
        syntax: "key min max [WITHSCORES] [LIMIT offset count]",
        arguments: &[
            ("min", Type("double")),
            ("max", Type("double")),
            ("WITHSCORES", Since("2.0.0")),
        ],
        complexity: "O(log N+M), N members of the set, M members returned",
        history: &[("2.0.0", "WITHSCORES.")],
        ..row("ZRANGEBYSCORE", -4, READ, "1.0.5", range::zrangebyscore)
    },
    Command {
        keys: &[KeySpec::one(SETS), KeySpec::at(2, READS)],
        summary: "Stores the members in a range of ranks, scores or bytes.",
        syntax: "dst src min max [BYSCORE | BYLEX] [REV] [LIMIT offset count]",
        complexity: "O(log N+M), N members of the set, M members stored",
        ..row("ZRANGESTORE", -5, WRITE, "6.2.0", range::zrangestore)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Returns how many members have lower scores than one.",
        syntax: "key member [WITHSCORE]",
        complexity: "O(log N), N members of the set",
        history: &[("7.2.0", "WITHSCORE.")],
        ..row("ZRANK", -3, READ_FAST, "2.0.0", look::zrank)
    },
    Command {
        keys: &[KeySpec::one(REMOVES)],
        summary: "Removes members from a sorted set.",
        syntax: "key member [member ...]",
        complexity: "O(M log N), M members named, N members of the set",
        history: &[("2.4.0", "Several members.")],
        ..row("ZREM", -3, FREE_FAST, "1.2.0", remove::zrem)
    },
    Command {
        keys: &[KeySpec::one(REMOVES)],
        summary: "Removes the members in a range of their bytes, where all have the same score.",
        syntax: "key min max",
        complexity: "O(log N+M), N members of the set, M members removed",
        ..row("ZREMRANGEBYLEX", 4, FREE, "2.8.9", remove::zremrangebylex)
    },
    Command {
        keys: &[KeySpec::one(REMOVES)],
        summary: "Removes the members in a range of ranks.",
        syntax: "key start stop",
        complexity: "O(log N+M), N members of the set, M members removed",
        ..row("ZREMRANGEBYRANK", 4, FREE, "2.0.0", remove::zremrangebyrank)
    },
    Command {
        keys: &[KeySpec::one(REMOVES)],
        summary: "Removes the members with scores in a range.",
        syntax: "key min max",
        arguments: &[("min", Type("double")), ("max", Type("double"))],
        complexity: "O(log N+M), N members of the set, M members removed",
        ..row("ZREMRANGEBYSCORE", 4, FREE, "1.2.0", remove::zremrangebyscore)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Returns the members in a range of ranks, the highest scores first.",
        syntax: "key start stop [WITHSCORES]",
        complexity: "O(log N+M), N members of the set, M members returned",
        ..row("ZREVRANGE", -4, READ, "1.2.0", range::zrevrange)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Returns the members in a range of their bytes, the last ones first.",
        syntax: "key max min [LIMIT offset count]",
        complexity: "O(log N+M), N members of the set, M members returned",
        ..row("ZREVRANGEBYLEX", -4, READ, "2.8.9", range::zrevrangebylex)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Returns the members with scores in a range, the highest first.",
        syntax: "key max min [WITHSCORES] [LIMIT offset count]",
        arguments: &[("max", Type("double")), ("min", Type("double"))],
        complexity: "O(log N+M), N members of the set, M members returned",
        history: &[("2.1.6", "Bounds that are not included.")],
        ..row("ZREVRANGEBYSCORE", -4, READ, "2.2.0", range::zrevrangebyscore)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Returns how many members have higher scores than one.",
        syntax: "key member [WITHSCORE]",
        complexity: "O(log N), N members of the set",
        history: &[("7.2.0", "WITHSCORE.")],
        ..row("ZREVRANK", -3, READ_FAST, "2.0.0", look::zrevrank)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        tips: tips::NONDETERMINISTIC,
        summary: "Visits the members of a sorted set and their scores in steps.",
        syntax: "key cursor [MATCH pattern] [COUNT count] [NOSCORES]",
        complexity: "O(N), N elements looked at; O(M) for a whole iteration, M elements",
        history: &[("8.0.0", "NOSCORES.")],
        ..row("ZSCAN", -3, READ, "2.8.0", scan::zscan)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Returns the score of a member.",
        syntax: "key member",
        complexity: "O(1)",
        ..row("ZSCORE", 3, READ_FAST, "1.2.0", look::zscore)
    },
    Command {
        keys: &[KeySpec::counted(1, 1, READS)],
        summary: "Returns the members that any of several sorted sets has.",
        syntax: "numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM | MIN | \
                 MAX>] [WITHSCORES]",
        complexity: "O(N+M log M), N members of all sets, M members of the result",
        ..row("ZUNION", -3, READ, "6.2.0", combine::zunion)
    },
    Command {
        keys: &[KeySpec::one(SETS), KeySpec::counted(2, 1, READS)],
        summary: "Stores the members that any of several sorted sets has.",
        syntax: "destination numkeys key [key ...] [WEIGHTS weight [weight ...]] [AGGREGATE <SUM \
                 | MIN | MAX>]",
        complexity: "O(N+M log M), N members of all sets, M members of the result",
        ..row("ZUNIONSTORE", -4, WRITE, "2.0.0", combine::zunionstore)
    },
];

const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    since: &'static str,
    run: Handler,
) -> Command {
    Command::plain(Group::SortedSet, name, arity, flags, since, run)
}
