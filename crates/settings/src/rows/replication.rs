//! Settings of replication: of a primary, and of a replica.

use crate::choice::DisklessLoad;
use crate::row::{bytes, integer, memory, one_of, server_or_none, text, yes_no};
use std::sync::Arc;

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
    REPL_BACKLOG_TIME: u32 = integer("repl-backlog-time", 0..=INT_MAX, 60,
        "Seconds for which a replica whose connection was lost keeps its place: what it lacks is \
         kept until then, in files if it is more than `repl-backlog-size`. 0: no longer than that \
         says.");
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
    REPL_THROTTLE_WRITERS: bool = yes_no("repl-throttle-writers", false,
        "Slow all writers down while a replica takes less than they write, until it has caught up: \
         they put half of what it takes, and wait a second at most at a stretch. Otherwise what it \
         lacks is kept in files up to `repl-disk-max`, and then it is given up.");
    REPL_DISABLE_TCP_NODELAY: bool = yes_no("repl-disable-tcp-nodelay", false,
        "Send to replicas in fewer packets, and up to 40 milliseconds later.");
    MIN_REPLICAS_TO_WRITE: u32 = integer("min-replicas-to-write", 0..=INT_MAX, 0,
        "Refuse writes while fewer replicas were heard of within `min-replicas-max-lag`. 0: never.")
        .alias("min-slaves-to-write");
    MIN_REPLICAS_MAX_LAG: u32 = integer("min-replicas-max-lag", 0..=INT_MAX, 10,
        "Seconds within which a replica of `min-replicas-to-write` was heard of. 0: writes are \
         never refused.")
        .alias("min-slaves-max-lag");
    REPLICAOF: Arc<str> = server_or_none("replicaof",
        "Address and port of the primary that this server follows: it holds the data of that, and \
         takes writes from it alone. Empty: it follows nobody.")
        .alias("slaveof").at_start();
    PRIMARYAUTH: Arc<[u8]> = bytes("primaryauth",
        "Password with which a replica logs in at its primary.").alias("masterauth").sensitive();
    PRIMARYUSER: Arc<str> = text("primaryuser", "",
        "User as which a replica logs in at its primary. Empty: the default user.")
        .alias("masteruser").sensitive();
    BIND_SOURCE_ADDR: Arc<str> = text("bind-source-addr", "",
        "Address from which a replica connects to its primary. Empty: the system chooses.");
    REPL_DISKLESS_LOAD: DisklessLoad = one_of("repl-diskless-load", DisklessLoad::NAMES,
        DisklessLoad::Disabled as usize,
        "How a replica loads the snapshot of its primary: when a file in `dir` has it; as it \
         comes, beside the old data, which needs memory for both for as long as that takes, and no \
         disk; as it comes where there are no keys, else with a file; or as it comes, when the old \
         data is gone, which is lost if the primary is then lost too.").fixed_while_loading();
    REPLICA_SERVE_STALE_DATA: bool = yes_no("replica-serve-stale-data", true,
        "Whether a replica answers while it has no link to its primary.")
        .alias("slave-serve-stale-data");
    REPLICA_READ_ONLY: bool = yes_no("replica-read-only", true,
        "Whether clients may write to a replica. What they write goes to no file and to no other \
         server, and is lost with the next snapshot of the primary.").alias("slave-read-only");
    REPLICA_REFUSE_EMPTY_PRIMARY: bool = yes_no("replica-refuse-empty-primary", true,
        "Whether a replica that has keys keeps them where its primary, which it did not leave by \
         itself, comes back without any and with another history. REPLICAOF takes them all the \
         same.");
    REPLICA_PRIORITY: u32 = integer("replica-priority", 0..=INT_MAX, 100,
        "Order in which Sentinel prefers replicas. 0: never.").alias("slave-priority");
    REPLICA_HIDES_UNSYNCED: bool = yes_no("replica-hides-unsynced", true,
        "Whether a replica that does not have the data of its primary yet shows Sentinel a \
         priority of 0, so that it is not made the primary.");
    REPLICA_IGNORE_MAXMEMORY: bool = yes_no("replica-ignore-maxmemory", true,
        "Whether a replica leaves eviction to its primary.").alias("slave-ignore-maxmemory");
    REPLICA_IGNORE_DISK_WRITE_ERRORS: bool = yes_no("replica-ignore-disk-write-errors", false,
        "Whether a replica goes on with the stream of its primary while its own files cannot be \
         written. Otherwise it stands still until they can be, and keeps its link; Valkey ends the \
         process.");
    REPLICA_ANNOUNCED: bool = yes_no("replica-announced", true,
        "Whether Sentinel tells others of this replica.");
    REPLICA_ANNOUNCE_IP: Arc<str> = text("replica-announce-ip", "",
        "Address at which a replica can be reached, as it tells its primary. Empty: the one from \
         which it connects.").alias("slave-announce-ip");
    REPLICA_ANNOUNCE_PORT: u16 = integer("replica-announce-port", 0..=65535, 0,
        "Port at which a replica can be reached, as it tells its primary. 0: its own.")
        .alias("slave-announce-port");
}
