//! Settings of cluster mode.

use crate::row::{Row, integer, memory, one_of, signed_memory, text, yes_no};

const WHY: &str = "this version of Varve has no cluster mode";
const INT_MAX: i128 = i32::MAX as i128;
const LONG_MAX: i128 = i64::MAX as i128;

pub(crate) const ROWS: &[Row] = &[
    cluster(text("cluster-config-file", "nodes.conf", "File that the node keeps its state in."))
        .at_start(),
    cluster(one_of(
        "cluster-config-save-behavior",
        &["sync", "best-effort"],
        0,
        "Whether a node goes on that cannot write that file.",
    )),
    cluster(integer(
        "cluster-node-timeout",
        0..=LONG_MAX,
        15000,
        "Milliseconds of silence after which a node counts as failed.",
    )),
    cluster(integer(
        "cluster-port",
        0..=65535,
        0,
        "Port for messages between nodes. 0: that of clients plus 10000.",
    ))
    .at_start(),
    cluster(integer("cluster-databases", 1..=INT_MAX, 1, "Databases of a node.")).at_start(),
    cluster(yes_no(
        "cluster-require-full-coverage",
        true,
        "Answer only while each slot has a node.",
    )),
    cluster(yes_no(
        "cluster-replica-no-failover",
        false,
        "The replica does not take the place of its primary by itself.",
    ))
    .alias("cluster-slave-no-failover"),
    cluster(integer(
        "cluster-replica-validity-factor",
        0..=INT_MAX,
        10,
        "Age of its data, in timeouts, up to which a replica takes that place.",
    ))
    .alias("cluster-slave-validity-factor"),
    cluster(integer(
        "cluster-migration-barrier",
        0..=INT_MAX,
        1,
        "Replicas that a primary keeps when one goes to another primary.",
    )),
    cluster(yes_no(
        "cluster-allow-replica-migration",
        true,
        "Replicas go to primaries that have lost theirs.",
    )),
    cluster(yes_no(
        "cluster-allow-reads-when-down",
        false,
        "Answer reads while slots are missing.",
    )),
    cluster(yes_no(
        "cluster-allow-pubsubshard-when-down",
        true,
        "Pass on messages of shards while slots are missing.",
    )),
    cluster(memory(
        "cluster-link-sendbuf-limit",
        0..=LONG_MAX * 2 + 1,
        0,
        "Bytes that may wait for another node. 0: no limit.",
    )),
    cluster(text("cluster-announce-ip", "", "Address that the node tells others.")),
    cluster(text("cluster-announce-client-ipv4", "", "IPv4 address that it tells clients.")),
    cluster(text("cluster-announce-client-ipv6", "", "IPv6 address that it tells clients.")),
    cluster(text("cluster-announce-hostname", "", "Host name that it tells others.")),
    cluster(text("cluster-announce-human-nodename", "", "Name of the node in messages.")),
    cluster(integer("cluster-announce-port", 0..=65535, 0, "Port that it tells others.")),
    cluster(integer(
        "cluster-announce-tls-port",
        0..=65535,
        0,
        "Port for TLS that it tells others.",
    )),
    cluster(integer(
        "cluster-announce-bus-port",
        0..=65535,
        0,
        "Port for messages between nodes that it tells others.",
    )),
    cluster(integer("cluster-announce-client-port", 0..=65535, 0, "Port that it tells clients.")),
    cluster(integer(
        "cluster-announce-client-tls-port",
        0..=65535,
        0,
        "Port for TLS that it tells clients.",
    )),
    cluster(one_of(
        "cluster-preferred-endpoint-type",
        &["ip", "hostname", "unknown-endpoint"],
        0,
        "What clients are told of a node first.",
    )),
    cluster(integer(
        "cluster-blacklist-ttl",
        0..=LONG_MAX * 2 + 1,
        60,
        "Seconds for which a node that was removed may not come back.",
    )),
    cluster(yes_no("cluster-slot-stats-enabled", false, "Count how slots are used.")),
    cluster(integer(
        "cluster-slot-migration-log-max-len",
        0..=LONG_MAX,
        1000,
        "Most moves of slots that are remembered.",
    )),
    cluster(integer(
        "cluster-manual-failover-timeout",
        1..=INT_MAX,
        5000,
        "Milliseconds that a change of primary by command may take.",
    )),
    cluster(signed_memory(
        "slot-migration-max-failover-repl-bytes",
        -1..=LONG_MAX,
        0,
        "Bytes that may be missing when a slot changes its node. -1: any number.",
    )),
    cluster(integer(
        "cluster-ping-interval",
        0..=LONG_MAX,
        0,
        "Milliseconds between signs of life. 0: as the timeout says.",
    ))
    .hidden(),
    cluster(integer(
        "cluster-message-gossip-perc",
        1..=100,
        10,
        "Share of the nodes that a sign of life tells of, in percent.",
    ))
    .hidden(),
];

const fn cluster(row: Row) -> Row {
    row.idle(WHY)
}
