//! Rows of the family.

use super::{failover, replicaof, role, sync};
use command::{Categories, Command, Flags, Group, Handler, Locks};

/// Flags of what is answered at any time.
const ALWAYS: Flags = Flags::LOADING.union(Flags::STALE);
const ADMIN: Flags = Flags::ADMIN.union(Flags::NOSCRIPT);
const SYNCS: Flags = ADMIN.union(Flags::NO_MULTI).union(Flags::NO_ASYNC_LOADING);
const CHANGES: Flags = ADMIN.union(Flags::STALE).union(Flags::NO_ASYNC_LOADING);
const CONFIGURES: Flags = ADMIN.union(ALWAYS).union(Flags::ALLOW_BUSY).union(Flags::SYSTEM);
const ASKS: Flags = ALWAYS.union(Flags::FAST).union(Flags::NOSCRIPT);

/// Commands by which a client becomes a replica.
pub(super) const OF_REPLICAS: [&[u8]; 2] = [b"PSYNC", b"SYNC"];

/// Rows of the family.
pub const TABLE: &[Command] = &[
    Command {
        locks: Locks::AllFree,
        summary: "Has a replica become the primary, and the server its replica, without a write \
                  that is lost.",
        syntax: "[TO host port [FORCE]] [ABORT] [TIMEOUT milliseconds]",
        complexity: "O(1)",
        ..row("FAILOVER", -1, ADMIN.union(Flags::STALE), "6.2.0", failover::failover)
    },
    Command {
        summary: "Asks for the stream of changes from an offset on, and for a snapshot before it \
                  if that is needed.",
        syntax: "replicationid offset",
        ..row("PSYNC", -3, SYNCS, "2.8.0", sync::psync)
    },
    Command {
        summary: "Tells a primary about its replica, and how far that has come.",
        complexity: "O(1)",
        ..row("REPLCONF", -1, CONFIGURES, "3.0.0", sync::replconf)
    },
    Command {
        locks: Locks::AllFree,
        summary: "Has the server follow a primary, or be one.",
        syntax: "<host port | NO ONE>",
        complexity: "O(1)",
        ..row("REPLICAOF", 3, CHANGES, "5.0.0", replicaof::replicaof)
    },
    Command {
        categories: Categories::ADMIN.union(Categories::DANGEROUS),
        summary: "Tells whether the server is a primary or a replica, and of whom.",
        complexity: "O(1)",
        ..row("ROLE", 1, ASKS, "2.8.12", role::role)
    },
    Command {
        locks: Locks::AllFree,
        summary: "The same as REPLICAOF.",
        syntax: "<host port | NO ONE>",
        complexity: "O(1)",
        ..row("SLAVEOF", 3, CHANGES, "1.0.0", replicaof::replicaof)
    },
    Command {
        summary: "Asks for a snapshot and the stream of changes behind it.",
        ..row("SYNC", 1, SYNCS, "1.0.0", sync::sync)
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
