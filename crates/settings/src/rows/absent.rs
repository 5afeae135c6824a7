//! Settings of Valkey whose feature does not exist here, each fixed at the one value that is true.
//!
//! They are rows so that the usual configuration files are understood. A value that would turn
//! such a feature on is refused; a value that only shapes a feature that is off is tolerated in
//! files where it is the usual one.

use crate::row::{Row, fixed};

const REPLICATION: &str = "replication is not supported by this version of Varve";
const CLUSTER: &str = "cluster mode is not supported by this version of Varve";
const TLS: &str = "TLS is not supported by this version of Varve";
const USERS: &str = "access control lists are not supported by this version of Varve";
const SCRIPTS: &str = "scripts are not supported by this version of Varve";
const MODULES: &str = "modules are not supported by this version of Varve";
const SYSLOG: &str = "logging to syslog is not supported by this version of Varve";
const SUPERVISION: &str = "reporting to a supervisor is not supported by this version of Varve";
const TITLE: &str = "a process title is not supported by this version of Varve";
const LOCALE: &str = "Varve compares bytes and uses no locale";
const GROWTH: &str = "Varve always grows its index in small steps";
const NO_DEFRAGMENTER: &str = "Varve has no defragmenter: its cleaner keeps memory compact";
const THREADS: &str = "Varve has no I/O threads: use 'threads'";

pub(crate) const ROWS: &[Row] = &[
    fixed("replicaof", "", REPLICATION).alias("slaveof").tolerates(&["no one"]).at_start(),
    fixed("replica-serve-stale-data", "yes", REPLICATION).alias("slave-serve-stale-data"),
    fixed("replica-read-only", "yes", REPLICATION).alias("slave-read-only"),
    fixed("replica-priority", "100", REPLICATION).alias("slave-priority"),
    fixed("replica-lazy-flush", "yes", REPLICATION).alias("slave-lazy-flush").tolerates(&["no"]),
    fixed("repl-diskless-sync", "yes", REPLICATION).tolerates(&["no"]),
    fixed("repl-diskless-sync-delay", "5", REPLICATION).tolerates(&["0"]),
    fixed("repl-diskless-sync-max-replicas", "0", REPLICATION),
    fixed("repl-diskless-load", "disabled", REPLICATION),
    fixed("repl-disable-tcp-nodelay", "no", REPLICATION),
    fixed("repl-backlog-size", "10485760", REPLICATION).tolerates(&["10mb", "1mb"]),
    fixed("repl-backlog-ttl", "3600", REPLICATION),
    fixed("repl-timeout", "60", REPLICATION),
    fixed("repl-ping-replica-period", "10", REPLICATION).alias("repl-ping-slave-period"),
    fixed("dual-channel-replication-enabled", "no", REPLICATION),
    fixed("min-replicas-to-write", "0", REPLICATION).alias("min-slaves-to-write"),
    fixed("min-replicas-max-lag", "10", REPLICATION).alias("min-slaves-max-lag"),
    fixed("primaryauth", "", REPLICATION).alias("masterauth").sensitive(),
    fixed("primaryuser", "", REPLICATION).alias("masteruser").sensitive(),
    fixed("cluster-enabled", "no", CLUSTER).at_start(),
    fixed("tls-port", "0", TLS),
    fixed("tls-replication", "no", TLS),
    fixed("tls-cluster", "no", TLS),
    fixed("acllog-max-len", "0", USERS).tolerates(&["128"]),
    fixed("aclfile", "", USERS).at_start(),
    fixed("busy-reply-threshold", "5000", SCRIPTS).alias("lua-time-limit"),
    fixed("enable-module-command", "no", MODULES).at_start(),
    fixed("syslog-enabled", "no", SYSLOG).at_start(),
    fixed("supervised", "no", SUPERVISION).tolerates(&["auto"]).at_start(),
    fixed("always-show-logo", "no", "Varve shows no logo").tolerates(&["yes"]).at_start(),
    fixed("set-proc-title", "no", TITLE).tolerates(&["yes"]).at_start(),
    fixed("proc-title-template", "", TITLE).tolerates(&["{title} {listen-addr} {server-mode}"]),
    fixed("locale-collate", "", LOCALE),
    fixed("disable-thp", "no", "Varve asks for huge pages only where they help")
        .tolerates(&["yes"])
        .at_start(),
    fixed("activerehashing", "yes", GROWTH),
    fixed("activedefrag", "no", NO_DEFRAGMENTER),
    fixed("jemalloc-bg-thread", "yes", "freed memory is always returned in the background"),
    fixed("io-threads", "1", THREADS),
    fixed("enable-debug-assert", "no", "Varve has no assertions to switch on")
        .tolerates(&["yes"])
        .at_start()
        .hidden(),
];
