//! Background jobs: periodic work beside the workers. It is done in small pieces, after each of
//! which a worker that waits for the same core has its turn.

use crate::journal::Journal;
use crate::limits;
use crate::other_memory::OtherMemory;
use crate::saver::Saver;
use base::units::SHARDS;
use base::{Millis, Pacer, ShardId, process};
use command::{Instance, WorkerStatistics};
use crossbeam_channel::{Receiver, RecvTimeoutError};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use store::{Interests, ThreadContext};

/// Time from one round to the next.
const ROUND: Duration = Duration::from_millis(100);
/// Time of a round that may go into each job done in pieces, such as cleaning at rest.
const REST_WORK: Duration = Duration::from_millis(50);
/// Bytes cleaned in one go at rest.
const CLEAN_BYTES: u64 = 256 << 10;
/// Records counted as dead in one go.
const FREED_RECORDS: usize = 1024;
/// Bytes appended in a round below which the store is at rest.
const REST_BYTES: u64 = 64 << 10;
/// Divisor of the touched memory: a fiftieth of it is kept resident for the next heads.
const KEPT_PART: u64 = 50;
const ROUNDS_PER_SECOND: u64 = 10;
/// Most keys whose access history is aged in a second.
const KEYS_AGED_PER_SECOND: u64 = 2_000_000;
/// Least bytes assumed for the memory that the process takes besides records and index.
const OTHER_BYTES_MIN: u64 = 2 << 20;
/// Bytes of the buffers through which a snapshot goes to its file.
const SAVER_BYTES: u64 = 8 << 20;

/// State of the thread of the background jobs.
pub struct BackgroundJobs {
    instance: Arc<Instance>,
    journal: Arc<Journal>,
    saver: Arc<Saver>,
    thread: ThreadContext,
    statistics: Arc<WorkerStatistics>,
    other_memory: OtherMemory,
    /// Shard whose keys are aged next.
    aged: usize,
    appended: u64,
    /// Keys that had expired or been evicted when those who mind their loss were looked for.
    removed: u64,
}

impl BackgroundJobs {
    /// Returns the background jobs of a server.
    pub fn new(
        instance: Arc<Instance>,
        journal: Arc<Journal>,
        saver: Arc<Saver>,
        thread: ThreadContext,
    ) -> BackgroundJobs {
        let statistics = instance.statistics.worker();
        let (other_memory, aged, appended, removed) = (OtherMemory::default(), 0, 0, 0);
        BackgroundJobs {
            instance,
            journal,
            saver,
            thread,
            statistics,
            other_memory,
            aged,
            appended,
            removed,
        }
    }

    /// Runs a round of jobs every 100 ms until `stop` is closed.
    pub fn run(mut self, stop: &Receiver<()>) {
        loop {
            let began = Instant::now();
            if !self.instance.chores_paused.load(Relaxed) {
                self.round();
                let nanos = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
                self.statistics.server.background_nanos.add(nanos);
            }
            let left = ROUND.saturating_sub(began.elapsed());
            if stop.recv_timeout(left) != Err(RecvTimeoutError::Timeout) {
                return;
            }
        }
    }

    fn round(&mut self) {
        let now = self.instance.clock.now();
        self.sample();
        limits::apply(&self.instance);
        // What nobody asks for adds no events to mail that is not read yet.
        let makes_room = !(self.instance.store.hears_any(Interests::EVENTS)
            && self.instance.clients.is_any_behind());
        if makes_room && self.instance.active_expire.load(Relaxed) {
            let began = Instant::now();
            let settle = || self.instance.settle_messages();
            self.instance.store.sweep_deadlines_pausing(&mut self.thread, now, settle);
            let took = began.elapsed();
            let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
            self.statistics.server.sweep_nanos.add(nanos);
            self.instance.note_latency("expire-cycle", took);
        }
        if makes_room {
            self.evict(now);
        }
        self.look_after_waiters(now);
        self.instance.settle_messages();
        self.instance.look_after_keys(&self.thread);
        self.age();
        self.free_lazily();
        self.clean(now);
        self.instance.store.rest(&mut self.thread);
        self.return_memory();
        self.journal.after_batch(&self.instance);
        self.saver.give_way(&self.instance, &self.thread);
        self.saver.look_after(&self.instance);
    }

    /// Evicts what lowered limits leave no room for.
    fn evict(&mut self, now: Millis) {
        let (instance, thread) = (&*self.instance, &mut self.thread);
        let evict = |thread: &mut ThreadContext| instance.store.evict_beyond_limits(thread, now);
        in_pieces(|| {
            instance.store.enter(thread);
            let is_more = instance.note_eviction(thread, evict);
            instance.store.leave(thread);
            instance.settle_messages();
            is_more
        });
    }

    /// Serves waiters whose keys have expired or been evicted, and those whom a pause has held back
    /// that is over.
    fn look_after_waiters(&mut self, now: Millis) {
        let totals = self.instance.store.totals();
        let removed = totals.expired + totals.evicted;
        let has_removed = std::mem::replace(&mut self.removed, removed) != removed;
        if self.instance.waiters.count() > 0 {
            let (instance, thread, statistics) =
                (&*self.instance, &mut self.thread, &*self.statistics);
            instance.store.enter(thread);
            command::resume_held_back(instance, thread, statistics, now);
            if has_removed {
                command::serve_losses(instance, thread, statistics, now);
            }
            instance.store.leave(thread);
            self.journal.after_batch(instance);
        }
    }

    /// Samples the memory of the process and the statistics.
    fn sample(&mut self) {
        let instance = &self.instance;
        let resident = process::resident_bytes();
        instance.resident_bytes.store(resident, Relaxed);
        instance.resident_peak.fetch_max(resident, Relaxed);
        let store = &instance.store;
        store.learn_record_bytes();
        let own = store.heap().touched_bytes() + store.index_bytes();
        let buffers = if self.saver.is_busy() { SAVER_BYTES } else { 0 };
        let held = store.held_beside_records() + buffers;
        let other = self.other_memory.counted(resident.saturating_sub(own), held);
        let other = other.max(OTHER_BYTES_MIN);
        instance.other_bytes.store(other, Relaxed);
        instance.startup_bytes.get_or_init(|| other);
        instance.used_peak.fetch_max(instance.used_memory(), Relaxed);
        instance.statistics.sample(instance.clock.now());
    }

    /// Ages some shards, so that each has its turn once a second, or less often when there are
    /// so many keys that this would cost more than a hundredth of a core.
    fn age(&mut self) {
        let store = &self.instance.store;
        let seconds = (store.keys() / KEYS_AGED_PER_SECOND).max(1);
        let shards = SHARDS as u64 / (ROUNDS_PER_SECOND * seconds) + 1;
        for _ in 0..shards {
            let shard = ShardId(narrow::to_u8(self.aged));
            let since = (SHARDS as f64 / shards as f64) / ROUNDS_PER_SECOND as f64;
            store.age_shard(&mut self.thread, shard, since);
            self.aged = (self.aged + 1) % SHARDS;
        }
    }

    fn free_lazily(&mut self) {
        let store = &self.instance.store;
        in_pieces(|| {
            store.enter(&self.thread);
            let is_more = store.free_some(&mut self.thread, FREED_RECORDS);
            store.leave(&self.thread);
            is_more
        });
    }

    /// Cleans while nothing is written; under writes the workers clean.
    fn clean(&mut self, now: Millis) {
        let store = &self.instance.store;
        let appended = store.totals().appended_bytes;
        let is_at_rest = appended.wrapping_sub(self.appended) < REST_BYTES;
        self.appended = appended;
        if is_at_rest {
            let thread = &mut self.thread;
            in_pieces(|| {
                store.enter(thread);
                let is_more = store.clean_at_rest(thread, CLEAN_BYTES, now);
                store.leave(thread);
                is_more
            });
        }
    }

    /// Gives memory back that is neither used nor soon needed.
    fn return_memory(&self) {
        let heap = self.instance.store.heap();
        let part = heap.touched_bytes() / KEPT_PART;
        // Under a limit the pool will be written to again, and is within the limit anyway.
        let is_limited = heap.budget() != u64::MAX;
        let keep = if is_limited { part.max(2 * u64::from(heap.head_bytes())) } else { part };
        in_pieces(|| heap.return_some(keep));
    }
}

/// Repeats `step` while it returns true, for at most a part of a round, and yields the core between
/// pieces.
fn in_pieces(mut step: impl FnMut() -> bool) {
    let (began, mut pacer) = (Instant::now(), Pacer::new());
    while step() && began.elapsed() < REST_WORK {
        pacer.yield_if_due();
    }
}
