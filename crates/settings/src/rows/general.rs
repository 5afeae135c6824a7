//! Settings of the process: threads, files, messages, shutdown.

use crate::choice::{LogFormat, LogLevel, LogTimestampFormat, OomScore, ShutdownFlags, Supervised};
use crate::row::{any_of, directory, integer, numbers, one_of, text, yes_no};
use std::sync::Arc;

super::declare::rows! { from super::network::END;
    THREADS: usize = integer("threads", 0..=64, 0,
        "Threads that serve clients. 0: one per processor core, at most 8.").at_start();
    THREADS_FIXED: bool = yes_no("threads-fixed", false,
        "Give each new connection to the next thread, where it stays. Otherwise one thread serves \
         all connections until it is busy; then others take some of them over until the load has \
         gone.");
    PREFETCH_BATCH_MAX_SIZE: usize = integer("prefetch-batch-max-size", 0..=128, 32,
        "Commands of a pipeline whose memory is fetched ahead of running them. 0 or 1: none.");
    DATABASES: usize = integer("databases", 1..=2147483647, 16,
        "Number of databases for SELECT.").at_start();
    DAEMONIZE: bool = yes_no("daemonize", false,
        "Run in the background: the program that is started ends at once, and another process \
         serves, without a terminal.").at_start();
    SUPERVISED: Supervised = one_of("supervised", Supervised::NAMES, Supervised::No as usize,
        "Tell a service manager when the server is ready and when it ends; `daemonize` is then \
         without effect. `upstart` is accepted and does nothing.").at_start();
    PIDFILE: Arc<str> = text("pidfile", "",
        "File that receives the process id. Empty: none, or `/var/run/varve.pid` when the server \
         has gone into the background.")
        .at_start();
    LOGFILE: Arc<str> = text("logfile", "",
        "File for messages. Empty: standard output.").at_start();
    LOGLEVEL: LogLevel = one_of("loglevel", LogLevel::NAMES, LogLevel::Notice as usize,
        "Least important messages to show.");
    LOG_FORMAT: LogFormat = one_of("log-format", LogFormat::NAMES, LogFormat::Legacy as usize,
        "Form of messages: Valkey's lines (`legacy`), `logfmt`, `json`, or time, level and text \
         with the time in UTC (`plain`).");
    LOG_TIMESTAMP_FORMAT: LogTimestampFormat = one_of("log-timestamp-format",
        LogTimestampFormat::NAMES, LogTimestampFormat::Legacy as usize,
        "Form of the time in messages that are not `plain`: `27 Nov 2026 04:00:00.000` \
         (`legacy`), `iso8601`, or milliseconds since 1970.");
    HIDE_USER_DATA_FROM_LOG: bool = yes_no("hide-user-data-from-log", true,
        "Keep what users store, and the names of their clients, out of messages.");
    DIR: Arc<str> = directory("dir",
        "Working directory; relative paths start here.").protected().fixed_while_loading();
    AVAILABILITY_ZONE: Arc<str> = text("availability-zone", "",
        "Where the server runs, for clients that prefer a near one: HELLO and INFO tell it.");
    EXTENDED_REDIS_COMPATIBILITY: bool = yes_no("extended-redis-compatibility", false,
        "Give the name and version of Redis where clients insist on them.");
    SHUTDOWN_ON_SIGINT: ShutdownFlags = any_of("shutdown-on-sigint", ShutdownFlags::NAMES,
        "How SIGINT ends the server: options of SHUTDOWN, separated by spaces.");
    SHUTDOWN_ON_SIGTERM: ShutdownFlags = any_of("shutdown-on-sigterm", ShutdownFlags::NAMES,
        "How SIGTERM ends the server: options of SHUTDOWN, separated by spaces.");
    SHUTDOWN_TIMEOUT: u32 = integer("shutdown-timeout", 0..=2147483647, 10,
        "Seconds that the end of the server waits for a script that has changed data, and for \
         replicas that do not have all of it yet.");
    HZ: u32 = integer("hz", 0..=2147483647, 10,
        "Rounds of background work per second, from 1 to 500.").clamped(1, 500)
        .idle("there are always ten");
    OOM_SCORE_ADJ: OomScore = one_of("oom-score-adj", OomScore::NAMES, OomScore::No as usize,
        "Set how likely Linux is to kill the server when memory is used up: to the first number \
         of `oom-score-adj-values` (`absolute`), or by that much more than before (`relative`, \
         `yes`).");
    OOM_SCORE_ADJ_VALUES: Arc<[String]> = numbers("oom-score-adj-values", -2000..=2000,
        &["0", "200", "800"],
        "Numbers for `oom-score-adj`: of a primary, of a replica, of a child process. Varve has no \
         such process.");
    IMPORT_MODE: bool = yes_no("import-mode", false,
        "Keep keys past their deadline and evict none, while a client that has declared itself \
         with CLIENT IMPORT-SOURCE fills the server.");
    ACTIVE_EXPIRE_EFFORT: u32 = integer("active-expire-effort", 1..=10, 1,
        "How hard to look for expired keys, from 1 to 10; more costs processor time.")
        .idle("no expired key is overlooked");
}
