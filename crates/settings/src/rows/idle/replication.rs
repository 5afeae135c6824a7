//! Settings of a replica.

use crate::row::{Row, bytes, integer, one_of, text, yes_no};

const WHY: &str = "this version of Varve does not follow a primary";
const INT_MAX: i128 = i32::MAX as i128;

pub(crate) const ROWS: &[Row] = &[
    replication(yes_no("replica-serve-stale-data", true, "A replica answers without its primary."))
        .alias("slave-serve-stale-data"),
    replication(yes_no("replica-read-only", true, "Clients cannot write to a replica."))
        .alias("slave-read-only"),
    replication(integer(
        "replica-priority",
        0..=INT_MAX,
        100,
        "Order in which Sentinel prefers replicas. 0: never.",
    ))
    .alias("slave-priority"),
    replication(yes_no(
        "replica-lazy-flush",
        true,
        "A replica removes its old data in the background.",
    ))
    .alias("slave-lazy-flush"),
    replication(yes_no(
        "replica-ignore-maxmemory",
        true,
        "A replica leaves eviction to its primary.",
    ))
    .alias("slave-ignore-maxmemory"),
    replication(yes_no(
        "replica-ignore-disk-write-errors",
        false,
        "A replica goes on where its disk fails.",
    )),
    replication(yes_no("replica-announced", true, "Sentinel tells of the replica.")),
    replication(text("replica-announce-ip", "", "Address that a replica tells its primary."))
        .alias("slave-announce-ip"),
    replication(integer(
        "replica-announce-port",
        0..=65535,
        0,
        "Port that a replica tells its primary.",
    ))
    .alias("slave-announce-port"),
    replication(one_of(
        "repl-diskless-load",
        &["disabled", "on-empty-db", "swapdb", "flush-before-load"],
        0,
        "How a replica loads a snapshot without a file.",
    )),
    replication(yes_no("repl-mptcp", false, "Replicas connect with Multipath TCP.")).at_start(),
    replication(yes_no(
        "dual-channel-replication-enabled",
        false,
        "Send snapshots to replicas on connections of their own.",
    )),
    replication(bytes("primaryauth", "Password that a replica shows to its primary."))
        .alias("masterauth")
        .sensitive(),
    replication(text("primaryuser", "", "User as which a replica logs in at its primary."))
        .alias("masteruser")
        .sensitive(),
];

const fn replication(row: Row) -> Row {
    row.idle(WHY)
}
