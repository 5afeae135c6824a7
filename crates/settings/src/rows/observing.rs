//! Settings of what tells about the server at work.

use crate::row::{event_classes, integer, percentiles, yes_no};
use crate::value::EventClasses;
use std::sync::Arc;

super::declare::rows! { from super::journal::END;
    NOTIFY_KEYSPACE_EVENTS: EventClasses = event_classes("notify-keyspace-events",
        "Events of keys that are published: to channels by key (K) and by event (E), of these \
         classes: generic (g), strings ($), lists (l), sets (s), hashes (h), sorted sets (z), \
         streams (t), expired (x), evicted (e), new (n), missed (m); A for all but the last two. \
         Empty: none.");
    COMMANDLOG_EXECUTION_SLOWER_THAN: i64 = integer("commandlog-execution-slower-than",
        -1..=9223372036854775807, 10000,
        "Microseconds from which on a command is slow, and kept in the command log. -1: none.")
        .alias("slowlog-log-slower-than");
    COMMANDLOG_SLOW_EXECUTION_MAX_LEN: u64 = integer("commandlog-slow-execution-max-len",
        0..=9223372036854775807, 128,
        "Most slow commands that are kept.").alias("slowlog-max-len");
    COMMANDLOG_REQUEST_LARGER_THAN: i64 = integer("commandlog-request-larger-than",
        -1..=9223372036854775807, 1048576,
        "Bytes from which on a request is large, and kept in the command log. -1: none.");
    COMMANDLOG_LARGE_REQUEST_MAX_LEN: u64 = integer("commandlog-large-request-max-len",
        0..=9223372036854775807, 128,
        "Most commands with large requests that are kept.");
    COMMANDLOG_REPLY_LARGER_THAN: i64 = integer("commandlog-reply-larger-than",
        -1..=9223372036854775807, 1048576,
        "Bytes from which on a reply is large, and its command kept in the command log. -1: none.");
    COMMANDLOG_LARGE_REPLY_MAX_LEN: u64 = integer("commandlog-large-reply-max-len",
        0..=9223372036854775807, 128,
        "Most commands with large replies that are kept.");
    LATENCY_MONITOR_THRESHOLD: u64 = integer("latency-monitor-threshold",
        0..=9223372036854775807, 0,
        "Milliseconds from which on LATENCY keeps what took so long. 0: nothing.");
    LATENCY_TRACKING: bool = yes_no("latency-tracking", true,
        "Count how long each run of a command takes.");
    LATENCY_TRACKING_INFO_PERCENTILES: Arc<[String]> = percentiles(
        "latency-tracking-info-percentiles", &["50", "99", "99.9"],
        "Percentiles of these times that INFO shows.");
}
