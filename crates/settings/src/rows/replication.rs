//! Settings of replication: what a primary does for its replicas.

use crate::row::{integer, memory, yes_no};

const INT_MAX: i128 = i32::MAX as i128;
const LONG_MAX: i128 = i64::MAX as i128;

super::declare::rows! { from super::tls::END;
    REPL_DISKLESS_SYNC: bool = yes_no("repl-diskless-sync", true,
        "Send the snapshot of a replica while it is made. Otherwise, and to readers that need its \
         length first, it is sent when all of it is there.");
    REPL_DISKLESS_SYNC_DELAY: u32 = integer("repl-diskless-sync-delay", 0..=INT_MAX, 5,
        "Seconds for which such a snapshot waits for more replicas, which share it.");
    REPL_DISKLESS_SYNC_MAX_REPLICAS: u32 = integer("repl-diskless-sync-max-replicas", 0..=INT_MAX,
        0, "Replicas with which such a snapshot begins at once. 0: it waits in any case.");
    REPL_BACKLOG_SIZE: u64 = memory("repl-backlog-size", 1..=LONG_MAX, 10485760,
        "Bytes of the stream that are kept in memory for replicas that come back. What a replica \
         needs that is older is kept in files without a name in `dir`.");
    REPL_BACKLOG_TIME: u32 = integer("repl-backlog-time", 0..=INT_MAX, 0,
        "Seconds for which the stream is kept for replicas that come back, in files if it is more \
         than `repl-backlog-size`. 0: no longer than that says.");
    REPL_BACKLOG_TTL: u64 = integer("repl-backlog-ttl", 0..=LONG_MAX, 3600,
        "Seconds without a replica after which nothing is kept for any. 0: it is kept for ever.");
    REPL_DISK_MAX: u64 = memory("repl-disk-max", 0..=LONG_MAX, 0,
        "Bytes of files that only replicas need: beyond them the one furthest behind is given up, \
         and needs a snapshot. 0: as many as the data takes in memory, and 1 GB at least.");
    REPL_TIMEOUT: u32 = integer("repl-timeout", 1..=INT_MAX, 60,
        "Seconds of silence after which a replica is given up. It says something each second.");
    REPL_PING_REPLICA_PERIOD: u32 = integer("repl-ping-replica-period", 1..=INT_MAX, 10,
        "Seconds between two PINGs in the stream, by which replicas know that their primary lives.")
        .alias("repl-ping-slave-period");
    REPL_DISABLE_TCP_NODELAY: bool = yes_no("repl-disable-tcp-nodelay", false,
        "Send to replicas in fewer packets, and up to 40 milliseconds later.");
    MIN_REPLICAS_TO_WRITE: u32 = integer("min-replicas-to-write", 0..=INT_MAX, 0,
        "Refuse writes while fewer replicas were heard of within `min-replicas-max-lag`. 0: never.")
        .alias("min-slaves-to-write");
    MIN_REPLICAS_MAX_LAG: u32 = integer("min-replicas-max-lag", 0..=INT_MAX, 10,
        "Seconds within which a replica of `min-replicas-to-write` was heard of. 0: writes are \
         never refused.")
        .alias("min-slaves-max-lag");
}
