//! Latency events of the append-only file.

use session::Instance;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Notes a write that took so long, and what else went on with the disk.
pub fn note_write(instance: &Instance, took: Duration, is_syncing: bool) {
    let beside = if is_syncing {
        "aof-write-pending-fsync"
    } else if instance.journal.is_rewriting.load(Relaxed) {
        "aof-write-active-child"
    } else {
        "aof-write-alone"
    };
    [beside, "aof-write"].into_iter().for_each(|event| instance.note_latency(event, took));
}
