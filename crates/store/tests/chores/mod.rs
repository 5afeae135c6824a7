//! What the server's thread for chores does, over and over.

use base::{Millis, ShardId};
use std::sync::atomic::{AtomicBool, Ordering};
use store::Store;

/// Sweeps, ages, cleans, reaps and returns memory until it is done, at the time that `now` tells.
pub fn run(store: &Store, is_done: &AtomicBool, now: impl Fn() -> Millis) {
    let (mut lane, mut shard) = (store.lane().expect("a lane"), 0_u8);
    while !is_done.load(Ordering::Relaxed) {
        let now = now();
        store.sweep_deadlines(&mut lane, now);
        store.age_shard(&mut lane, ShardId(shard), 60.0);
        shard = shard.wrapping_add(1);
        store.enter(&lane);
        store.clean_at_rest(&mut lane, 1 << 18, now);
        store.reap_some(&mut lane, 500);
        store.leave(&lane);
        store.heap().return_some(1 << 20);
        assert!(store.totals().live_bytes < 1 << 40);
    }
}
