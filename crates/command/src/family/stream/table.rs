//! The rows of the stream family.

use super::{add, claim, group, info, pending, range, read};
use crate::call::{Call, Outcome};
use crate::family::server::help::help;
use crate::refusal::Refusal;
use crate::spec::{CommandSpec, Flags, Group, KeyFlags, KeySpec, Run};

const READ: Flags = Flags::READONLY;
const WRITE: Flags = Flags::WRITE;
const WRITE_FAST: Flags = WRITE.union(Flags::FAST);
const ADD: Flags = WRITE.union(Flags::DENYOOM);
const ANY_TIME: Flags = Flags::LOADING.union(Flags::STALE);
const WAIT: Flags = Flags::BLOCKING.union(Flags::MOVABLE_KEYS);

const READS: KeyFlags = KeyFlags::RO.union(KeyFlags::ACCESS);
const CHANGES: KeyFlags = KeyFlags::RW.union(KeyFlags::UPDATE);
const INSERTS: KeyFlags = KeyFlags::RW.union(KeyFlags::INSERT);
const DELETES: KeyFlags = KeyFlags::RW.union(KeyFlags::DELETE);

/// Rows of the family.
pub const TABLE: &[CommandSpec] = &[
    CommandSpec {
        keys: KeySpec::one(CHANGES),
        summary: "Acknowledges entries, so that they are no longer pending in a group.",
        syntax: "key group id [id ...]",
        ..row("XACK", -4, WRITE_FAST, "5.0.0", pending::xack)
    },
    CommandSpec {
        keys: KeySpec::one(CHANGES),
        summary: "Adds an entry to a stream, which is created if need be.",
        syntax: "key [NOMKSTREAM] [MAXLEN | MINID [= | ~] threshold [LIMIT count]] <* | id> \
                 field value [field value ...]",
        ..row("XADD", -5, ADD.union(Flags::FAST), "5.0.0", add::xadd)
    },
    CommandSpec {
        keys: KeySpec::one(DELETES),
        summary: "Gives a consumer what has been pending for long with others.",
        syntax: "key group consumer min-idle-time start [COUNT count] [JUSTID]",
        ..row("XAUTOCLAIM", -6, WRITE_FAST, "6.2.0", claim::xautoclaim)
    },
    CommandSpec {
        keys: KeySpec::one(CHANGES),
        summary: "Gives a consumer entries that are pending with others.",
        syntax: "key group consumer min-idle-time id [id ...] [IDLE ms] \
                 [TIME unix-time-milliseconds] [RETRYCOUNT count] [FORCE] [JUSTID] [LASTID lastid]",
        ..row("XCLAIM", -6, WRITE_FAST, "5.0.0", claim::xclaim)
    },
    CommandSpec {
        keys: KeySpec::one(DELETES),
        summary: "Removes entries from a stream, and counts those that it had.",
        syntax: "key id [id ...]",
        ..row("XDEL", -3, WRITE_FAST, "5.0.0", add::xdel)
    },
    CommandSpec {
        summary: "Manages groups of consumers of a stream.",
        subcommands: XGROUP,
        ..row("XGROUP", -2, Flags::empty(), "5.0.0", only_subcommands)
    },
    CommandSpec {
        summary: "Looks into streams, groups and consumers.",
        subcommands: XINFO,
        ..row("XINFO", -2, Flags::empty(), "5.0.0", only_subcommands)
    },
    CommandSpec {
        keys: KeySpec::one(KeyFlags::RO),
        summary: "Counts the entries of a stream.",
        syntax: "key",
        ..row("XLEN", 2, READ.union(Flags::FAST), "5.0.0", add::xlen)
    },
    CommandSpec {
        keys: KeySpec::one(READS),
        summary: "Tells what a group's consumers were given and have not acknowledged.",
        syntax: "key group [[IDLE min-idle-time] start end count [consumer]]",
        ..row("XPENDING", -3, READ, "5.0.0", pending::xpending)
    },
    CommandSpec {
        keys: KeySpec::one(READS),
        summary: "Returns the entries of a stream from one id to another.",
        syntax: "key start end [COUNT count]",
        ..row("XRANGE", -4, READ, "5.0.0", range::xrange)
    },
    CommandSpec {
        summary: "Returns the entries of streams behind given ids, and may wait for some.",
        syntax: "[COUNT count] [BLOCK milliseconds] STREAMS key [key ...] id [id ...]",
        ..row("XREAD", -4, READ.union(WAIT), "5.0.0", read::xread)
    },
    CommandSpec {
        summary: "Gives a consumer entries that no other one of its group was given, or those it \
                  has; may wait for some.",
        syntax: "GROUP group consumer [COUNT count] [BLOCK milliseconds] [NOACK] STREAMS key \
                 [key ...] id [id ...]",
        ..row("XREADGROUP", -7, WRITE.union(WAIT), "5.0.0", read::xread)
    },
    CommandSpec {
        keys: KeySpec::one(READS),
        summary: "Returns the entries of a stream from one id to another, the last one first.",
        syntax: "key end start [COUNT count]",
        ..row("XREVRANGE", -4, READ, "5.0.0", range::xrevrange)
    },
    CommandSpec {
        keys: KeySpec::one(CHANGES),
        summary: "Sets the last id of a stream, and what else it remembers.",
        syntax: "key last-id [ENTRIESADDED entries-added] [MAXDELETEDID max-deleted-id]",
        ..row("XSETID", -3, ADD.union(Flags::FAST), "5.0.0", add::xsetid)
    },
    CommandSpec {
        keys: KeySpec::one(DELETES),
        summary: "Removes entries from the front of a stream.",
        syntax: "key <MAXLEN | MINID> [= | ~] threshold [LIMIT count]",
        ..row("XTRIM", -4, WRITE, "5.0.0", add::xtrim)
    },
];

const XGROUP: &[CommandSpec] = &[
    CommandSpec {
        keys: second(INSERTS),
        summary: "Makes a group that begins behind an id, or behind the last entry.",
        syntax: "key group <id | $> [MKSTREAM] [ENTRIESREAD entries-read]",
        ..row("CREATE", -5, ADD, "5.0.0", group::create)
    },
    CommandSpec {
        keys: second(INSERTS),
        summary: "Makes a consumer in a group.",
        syntax: "key group consumer",
        ..row("CREATECONSUMER", 5, ADD, "6.2.0", group::createconsumer)
    },
    CommandSpec {
        keys: second(DELETES),
        summary: "Removes a consumer, and forgets what is pending with it.",
        syntax: "key group consumer",
        ..row("DELCONSUMER", 5, WRITE, "5.0.0", group::delconsumer)
    },
    CommandSpec {
        keys: second(DELETES),
        summary: "Removes a group.",
        syntax: "key group",
        ..row("DESTROY", 4, WRITE, "5.0.0", group::destroy)
    },
    CommandSpec {
        keys: second(CHANGES),
        summary: "Sets the id behind which a group goes on.",
        syntax: "key group <id | $> [ENTRIESREAD entries-read]",
        ..row("SETID", -5, WRITE, "5.0.0", group::setid)
    },
    CommandSpec { summary: "Lists the subcommands.", ..row("HELP", 2, ANY_TIME, "5.0.0", help) },
];

const XINFO: &[CommandSpec] = &[
    CommandSpec {
        keys: second(READS),
        summary: "Lists the consumers of a group.",
        syntax: "key group",
        ..row("CONSUMERS", 4, READ, "5.0.0", info::consumers)
    },
    CommandSpec {
        keys: second(READS),
        summary: "Lists the groups of a stream.",
        syntax: "key",
        ..row("GROUPS", 3, READ, "5.0.0", info::groups)
    },
    CommandSpec {
        keys: second(READS),
        summary: "Tells about a stream; FULL shows entries, groups and consumers too.",
        syntax: "key [FULL [COUNT count]]",
        ..row("STREAM", -3, READ, "5.0.0", info::stream)
    },
    CommandSpec { summary: "Lists the subcommands.", ..row("HELP", 2, ANY_TIME, "5.0.0", help) },
];

/// One key, behind the subcommand.
const fn second(flags: KeyFlags) -> KeySpec {
    KeySpec { first: 2, last: 2, step: 1, flags }
}

/// What comes without a known subcommand is refused before it gets here.
fn only_subcommands(_: &mut Call<'_>) -> Outcome {
    Err(Refusal::SYNTAX)
}

const fn row(
    name: &'static str,
    arity: i16,
    flags: Flags,
    since: &'static str,
    run: Run,
) -> CommandSpec {
    CommandSpec::plain(Group::Stream, name, arity, flags, since, run)
}
