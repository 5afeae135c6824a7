//! Settings of a replica.

use crate::row::{Row, yes_no};

const WHY: &str = "this server does it in one way alone";

pub(crate) const ROWS: &[Row] = &[
    replication(yes_no(
        "replica-lazy-flush",
        true,
        "A replica removes its old data in the background.",
    ))
    .alias("slave-lazy-flush"),
    replication(yes_no("repl-mptcp", false, "Replicas connect with Multipath TCP.")).at_start(),
    replication(yes_no(
        "dual-channel-replication-enabled",
        false,
        "Send snapshots to replicas on connections of their own.",
    )),
];

const fn replication(row: Row) -> Row {
    row.idle(WHY)
}
