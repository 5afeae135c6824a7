//! Background jobs as the server's thread does them, over and over.

use base::{Millis, ShardId};
use std::sync::atomic::{AtomicBool, Ordering};
use store::{Store, ThreadContext};

/// Sweeps, ages, cleans, frees and returns memory until `is_done`, at the time that `now` tells.
pub fn run(
    store: &Store,
    mut thread: ThreadContext,
    is_done: &AtomicBool,
    now: impl Fn() -> Millis,
) {
    let mut shard = 0_u8;
    while !is_done.load(Ordering::Relaxed) {
        let now = now();
        store.sweep_deadlines(&mut thread, now);
        store.age_shard(&mut thread, ShardId(shard), 60.0);
        shard = shard.wrapping_add(1);
        store.enter(&thread);
        store.clean_at_rest(&mut thread, 1 << 18, now);
        store.free_some(&mut thread, 500);
        store.leave(&thread);
        store.heap().return_some(1 << 20);
        assert!(store.totals().live_bytes < 1 << 40);
    }
}
