//! Background work of the store, as the server's threads do it.

use base::units::SHARDS;
use base::{ShardId, clock, process};
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use store::{Store, ThreadContext};

const ROUND: Duration = Duration::from_millis(100);
const ROUNDS_PER_SECOND: usize = 10;
const CLEAN_BYTES: u64 = 256 << 10;
const FREED_RECORDS: usize = 1024;
/// Bytes appended in a round below which the store is at rest.
const REST_BYTES: u64 = 64 << 10;
const KEPT_PART: u64 = 50;

/// Starts the threads, which work until the process ends.
pub fn start(store: &Arc<Store>) {
    let (jobs, memory) = (Arc::clone(store), Arc::clone(store));
    thread::spawn(move || run(&jobs));
    thread::spawn(move || {
        process::run_when_idle();
        memory.heap().populate_ahead();
    });
}

fn run(store: &Store) {
    let mut thread = store.thread_context().expect("a thread is left");
    let mut shards = ShardId::all().collect::<Vec<_>>().into_iter().cycle();
    let mut appended = 0;
    loop {
        thread::sleep(ROUND);
        let now = clock::wall_now();
        store.learn_record_bytes();
        store.sweep_deadlines(&mut thread, now);
        for shard in shards.by_ref().take(SHARDS / ROUNDS_PER_SECOND + 1) {
            store.age_shard(&mut thread, shard, 1.0);
        }
        let appended_before = std::mem::replace(&mut appended, store.totals().appended_bytes);
        let is_at_rest = appended - appended_before < REST_BYTES;
        work_inside(store, &mut thread, is_at_rest);
        store.rest(&mut thread);
        store.heap().return_some(store.heap().touched_bytes() / KEPT_PART);
    }
}

fn work_inside(store: &Store, thread: &mut ThreadContext, is_at_rest: bool) {
    store.enter(thread);
    store.free_some(thread, FREED_RECORDS);
    if is_at_rest {
        store.clean_at_rest(thread, CLEAN_BYTES, clock::wall_now());
    }
    store.leave(thread);
}
