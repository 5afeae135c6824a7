//! The rows of the stream family.

use super::{add, claim, group, info, pending, range, read};
use crate::server::help::help;
use command::ArgumentFact::{Display, Name, Since, Type};
use command::{Command, Flags, Group, Handler, KeyFlags, KeySpec, Wakes, tips};

const READ: Flags = Flags::READONLY;
const WRITE: Flags = Flags::WRITE;
const WRITE_FAST: Flags = WRITE.union(Flags::FAST);
const ADD: Flags = WRITE.union(Flags::DENYOOM);
const ANY_TIME: Flags = Flags::LOADING.union(Flags::STALE);
const WAIT: Flags = Flags::BLOCKING;

const READS: KeyFlags = KeyFlags::RO.union(KeyFlags::ACCESS);
const CHANGES: KeyFlags = KeyFlags::RW.union(KeyFlags::UPDATE);
const INSERTS: KeyFlags = KeyFlags::RW.union(KeyFlags::INSERT);
const DELETES: KeyFlags = KeyFlags::RW.union(KeyFlags::DELETE);

/// Rows of the family.
pub const TABLE: &[Command] = &[
    Command {
        keys: &[KeySpec::one(CHANGES)],
        wakes: Wakes::Nobody,
        summary: "Acknowledges entries, so that they are no longer pending in a group.",
        syntax: "key group id [id ...]",
        complexity: "O(N), N ids named",
        ..row("XACK", -4, WRITE_FAST, "5.0.0", pending::xack)
    },
    Command {
        keys: &[KeySpec::one(CHANGES)],
        tips: tips::NONDETERMINISTIC,
        summary: "Adds an entry to a stream, which is created if need be.",
        syntax: "key [NOMKSTREAM] [<MAXLEN | MINID> [= | ~] threshold [LIMIT count]] <* \
                 | id> field value [field value ...]",
        arguments: &[
            ("NOMKSTREAM", Since("6.2.0")),
            ("strategy-operator-threshold-count", Name("trim")),
            ("MINID", Since("6.2.0")),
            ("=", Name("equal")),
            ("~", Name("approximately")),
            ("LIMIT", Since("6.2.0")),
            ("operation", Name("id-selector")),
            ("*", Name("auto-id")),
        ],
        complexity: "O(N), N entries removed by trimming; without any, O(1)",
        history: &[("6.2.0", "NOMKSTREAM, MINID and LIMIT."), ("7.0.0", "Ids of the form ms-*.")],
        ..row("XADD", -5, ADD.union(Flags::FAST), "5.0.0", add::xadd)
    },
    Command {
        keys: &[KeySpec::one(DELETES)],
        wakes: Wakes::Nobody,
        tips: tips::NONDETERMINISTIC,
        summary: "Gives a consumer what has been pending for long with others.",
        syntax: "key group consumer min-idle-time start [COUNT count] [JUSTID]",
        arguments: &[("start", Type("string"))],
        complexity: "O(N), N entries looked at",
        history: &[("7.0.0", "The reply lists entries that were pending and are deleted.")],
        ..row("XAUTOCLAIM", -6, WRITE_FAST, "6.2.0", claim::xautoclaim)
    },
    Command {
        keys: &[KeySpec::one(CHANGES)],
        wakes: Wakes::Nobody,
        tips: tips::NONDETERMINISTIC,
        summary: "Gives a consumer entries that are pending with others.",
        syntax: "key group consumer min-idle-time id [id ...] [IDLE ms] \
                 [TIME unix-time-milliseconds] [RETRYCOUNT count] [FORCE] [JUSTID] [LASTID lastid]",
        arguments: &[("IDLE", Type("integer"))],
        complexity: "O(N log M), N ids named, M pending entries",
        ..row("XCLAIM", -6, WRITE_FAST, "5.0.0", claim::xclaim)
    },
    Command {
        keys: &[KeySpec::one(DELETES)],
        wakes: Wakes::Nobody,
        summary: "Removes entries from a stream, and counts those that it had.",
        syntax: "key id [id ...]",
        complexity: "O(N), N ids named",
        ..row("XDEL", -3, WRITE_FAST, "5.0.0", add::xdel)
    },
    Command {
        summary: "Manages groups of consumers of a stream.",
        ..Command::parent(Group::Stream, "XGROUP", "5.0.0", XGROUP)
    },
    Command {
        summary: "Looks into streams, groups and consumers.",
        ..Command::parent(Group::Stream, "XINFO", "5.0.0", XINFO)
    },
    Command {
        keys: &[KeySpec::one(KeyFlags::RO)],
        summary: "Counts the entries of a stream.",
        syntax: "key",
        complexity: "O(1)",
        ..row("XLEN", 2, READ.union(Flags::FAST), "5.0.0", add::xlen)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        tips: tips::NONDETERMINISTIC,
        summary: "Tells what a group's consumers were given and have not acknowledged.",
        syntax: "key group [[IDLE min-idle-time] start end count [consumer]]",
        arguments: &[
            ("min-idle-time-start-end-count-consumer", Name("filters")),
            ("IDLE", Type("integer")),
            ("IDLE", Since("6.2.0")),
            ("start", Type("string")),
            ("end", Type("string")),
        ],
        complexity: "O(N), N pending entries looked at",
        history: &[("6.2.0", "IDLE and ranges without their ends.")],
        ..row("XPENDING", -3, READ, "5.0.0", pending::xpending)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Returns the entries of a stream from one id to another.",
        syntax: "key start end [COUNT count]",
        arguments: &[("start", Type("string")), ("end", Type("string"))],
        complexity: "O(N), N entries returned",
        history: &[("6.2.0", "Ranges without their ends.")],
        ..row("XRANGE", -4, READ, "5.0.0", range::xrange)
    },
    Command {
        keys: &[KeySpec::first_half("STREAMS", 1, READS)],
        summary: "Returns the entries of streams behind given ids, and may wait for some.",
        syntax: "[COUNT count] [BLOCK milliseconds] <STREAMS key [key ...] id [id ...]>",
        ..row("XREAD", -4, READ.union(WAIT), "5.0.0", read::xread)
    },
    Command {
        keys: &[KeySpec::first_half("STREAMS", 4, READS)],
        find_keys: read::keys_of_group,
        wakes: Wakes::Nobody,
        summary: "Gives a consumer entries that no other one of its group was given, or those it \
                  has; may wait for some.",
        syntax: "<GROUP group consumer> [COUNT count] [BLOCK milliseconds] [NOACK] \
                 <STREAMS key [key ...] id [id ...]>",
        arguments: &[("GROUP", Name("group-block"))],
        complexity: "O(N), N entries returned",
        ..row("XREADGROUP", -7, WRITE.union(WAIT), "5.0.0", read::xreadgroup)
    },
    Command {
        keys: &[KeySpec::one(READS)],
        summary: "Returns the entries of a stream from one id to another, the last one first.",
        syntax: "key end start [COUNT count]",
        arguments: &[("end", Type("string")), ("start", Type("string"))],
        complexity: "O(N), N entries returned",
        history: &[("6.2.0", "Ranges without their ends.")],
        ..row("XREVRANGE", -4, READ, "5.0.0", range::xrevrange)
    },
    Command {
        keys: &[KeySpec::one(CHANGES)],
        wakes: Wakes::Nobody,
        summary: "Sets the last id of a stream, and what else it remembers.",
        syntax: "key last-id [ENTRIESADDED entries-added] [MAXDELETEDID max-deleted-id]",
        arguments: &[("ENTRIESADDED", Since("7.0.0")), ("MAXDELETEDID", Since("7.0.0"))],
        complexity: "O(1)",
        history: &[("7.0.0", "ENTRIESADDED and MAXDELETEDID.")],
        ..row("XSETID", -3, ADD.union(Flags::FAST), "5.0.0", add::xsetid)
    },
    Command {
        keys: &[KeySpec::one(DELETES)],
        wakes: Wakes::Nobody,
        tips: tips::NONDETERMINISTIC,
        summary: "Removes entries from the front of a stream.",
        syntax: "key <<MAXLEN | MINID> [= | ~] threshold [LIMIT count]>",
        arguments: &[
            ("strategy-operator-threshold-count", Name("trim")),
            ("MINID", Since("6.2.0")),
            ("=", Name("equal")),
            ("~", Name("approximately")),
            ("LIMIT", Since("6.2.0")),
        ],
        complexity: "O(N), N entries removed",
        history: &[("6.2.0", "MINID and LIMIT.")],
        ..row("XTRIM", -4, WRITE, "5.0.0", add::xtrim)
    },
];

const XGROUP: &[Command] = &[
    Command {
        keys: &[KeySpec::at(2, INSERTS)],
        summary: "Makes a group that begins behind an id, or behind the last entry.",
        syntax: "key group <id | $> [MKSTREAM] [ENTRIESREAD entries-read]",
        arguments: &[
            ("operation", Name("id-selector")),
            ("$", Name("new-id")),
            ("ENTRIESREAD", Name("entriesread")),
            ("ENTRIESREAD", Display("entries-read")),
        ],
        complexity: "O(1)",
        history: &[("7.0.0", "ENTRIESREAD.")],
        ..row("CREATE", -5, ADD, "5.0.0", group::create)
    },
    Command {
        keys: &[KeySpec::at(2, INSERTS)],
        wakes: Wakes::Nobody,
        summary: "Makes a consumer in a group.",
        syntax: "key group consumer",
        complexity: "O(1)",
        ..row("CREATECONSUMER", 5, ADD, "6.2.0", group::createconsumer)
    },
    Command {
        keys: &[KeySpec::at(2, DELETES)],
        wakes: Wakes::Nobody,
        summary: "Removes a consumer, and forgets what is pending with it.",
        syntax: "key group consumer",
        complexity: "O(1)",
        ..row("DELCONSUMER", 5, WRITE, "5.0.0", group::delconsumer)
    },
    Command {
        keys: &[KeySpec::at(2, DELETES)],
        summary: "Removes a group.",
        syntax: "key group",
        complexity: "O(N), N pending entries of the group",
        ..row("DESTROY", 4, WRITE, "5.0.0", group::destroy)
    },
    Command {
        keys: &[KeySpec::at(2, CHANGES)],
        wakes: Wakes::Nobody,
        summary: "Sets the id behind which a group goes on.",
        syntax: "key group <id | $> [ENTRIESREAD entries-read]",
        arguments: &[
            ("operation", Name("id-selector")),
            ("$", Name("new-id")),
            ("ENTRIESREAD", Name("entriesread")),
            ("ENTRIESREAD", Display("entries-read")),
        ],
        complexity: "O(1)",
        history: &[("7.0.0", "ENTRIESREAD.")],
        ..row("SETID", -5, WRITE, "5.0.0", group::setid)
    },
    Command {
        summary: "Lists the subcommands.",
        complexity: "O(1)",
        ..row("HELP", 2, ANY_TIME, "5.0.0", help)
    },
];

const XINFO: &[Command] = &[
    Command {
        keys: &[KeySpec::at(2, READS)],
        tips: tips::NONDETERMINISTIC,
        summary: "Lists the consumers of a group.",
        syntax: "key group",
        complexity: "O(1)",
        history: &[("7.2.0", "The field inactive; idle counts from the last attempt.")],
        ..row("CONSUMERS", 4, READ, "5.0.0", info::consumers)
    },
    Command {
        keys: &[KeySpec::at(2, READS)],
        summary: "Lists the groups of a stream.",
        syntax: "key",
        complexity: "O(1)",
        history: &[("7.0.0", "The fields entries-read and lag.")],
        ..row("GROUPS", 3, READ, "5.0.0", info::groups)
    },
    Command {
        keys: &[KeySpec::at(2, READS)],
        summary: "Tells about a stream; FULL shows entries, groups and consumers too.",
        syntax: "key [FULL [COUNT count]]",
        arguments: &[("full-count", Name("full-block"))],
        complexity: "O(1)",
        history: &[
            ("6.0.0", "FULL."),
            (
                "7.0.0",
                "The fields max-deleted-entry-id, entries-added, recorded-first-entry-id, \
                 entries-read and lag.",
            ),
            ("7.2.0", "The field active-time; seen-time is that of the last attempt."),
        ],
        ..row("STREAM", -3, READ, "5.0.0", info::stream)
    },
    Command {
        summary: "Lists the subcommands.",
        complexity: "O(1)",
        ..row("HELP", 2, ANY_TIME, "5.0.0", help)
    },
];

const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    since: &'static str,
    run: Handler,
) -> Command {
    Command::plain(Group::Stream, name, arity, flags, since, run)
}
