//! Background jobs: periodic work beside the workers. It is done in small pieces, after each of
//! which a worker that waits for the same core has its turn.
//!
//! There are ten rounds a second, and between them the thread sleeps until the next known
//! deadline at most. A round removes keys past their deadline, evicts while more is alive than a
//! lowered `maxmemory` allows, ages access histories, lets lazy free count flushed keyspaces as
//! dead, cleans while nobody writes, samples memory so that the limits cover the whole process, and
//! begins the snapshots that are due.

use crate::journal::Journal;
use crate::limits;
use crate::other_memory::OtherMemory;
use crate::saver::Saver;
use crate::services::Services;
use base::units::SHARDS;
use base::{Millis, Pacer, ShardId, process};
use command::{Environment, Table};
use crossbeam_channel::{Receiver, TryRecvError, bounded, select};
use session::{BASE_BYTES, Instance, WorkerStatistics};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};
use store::{Flush, Interests, Looking, ThreadContext};

/// Time from one round to the next.
const ROUND: Duration = Duration::from_millis(100);
/// Least time between two looks for what has expired.
const LOOK_GAP_MIN: Duration = Duration::from_millis(10);
/// Such looks get this part of the time; where they would take more, keys expire at the rounds.
const LOOK_PART: u32 = 20;
/// Time of a round that may go into each job done in pieces, such as cleaning at rest.
const REST_WORK: Duration = Duration::from_millis(50);
/// Time for which an interpreter of scripts is kept though no script runs in it.
const INTERPRETER_REST: Duration = Duration::from_secs(60);
/// Bytes cleaned in one go at rest.
const CLEAN_BYTES: u64 = 256 << 10;
/// Records counted as dead in one go.
const FREED_RECORDS: usize = 1024;
/// Bytes appended in a round below which the store is at rest.
const REST_BYTES: u64 = 64 << 10;
/// Divisor of the touched memory: a fiftieth of it is kept resident for the next heads.
const KEPT_PART: u64 = 50;
/// Most bytes that are kept resident since as many were appended in a round lately.
const SOON_APPENDED_MAX: u64 = 64 << 20;
/// Part of them of which the next round is not expected any more.
const FADED_PART: u64 = 4;
const ROUNDS_PER_SECOND: u64 = 10;
/// Most keys whose access history is aged in a second.
const KEYS_AGED_PER_SECOND: u64 = 2_000_000;
/// Bytes of the buffers through which a snapshot goes to its file.
const SAVER_BYTES: u64 = 8 << 20;

/// State of the thread of the background jobs.
pub struct BackgroundJobs {
    instance: Arc<Instance>,
    journal: Arc<Journal>,
    saver: Arc<Saver>,
    table: &'static Table,
    thread: ThreadContext,
    statistics: Arc<WorkerStatistics>,
    other_memory: OtherMemory,
    /// Shard whose keys are aged next.
    aged: usize,
    appended: u64,
    /// Bytes that are likely to be appended in the next round.
    soon_appended: u64,
    /// Number of keys that had expired or been evicted when waiters were last served for that.
    removed: u64,
    /// True while the sweep takes so little time that it may look more often.
    looks_ahead: bool,
    /// Time that a look between two rounds keeps from the one before.
    look_gap: Duration,
    /// Gets something when a deadline is set that passes before the next look.
    calls: Receiver<()>,
}

impl BackgroundJobs {
    /// Returns the background jobs of a server.
    pub fn new(
        instance: Arc<Instance>,
        services: &Services,
        thread: ThreadContext,
    ) -> BackgroundJobs {
        let Services { journal, saver, table, .. } = services.clone();
        let statistics = instance.statistics.worker();
        let (other_memory, aged, appended, removed) = (OtherMemory::default(), 0, 0, 0);
        let (caller, calls) = bounded(1);
        // One call that is not answered yet says as much as two.
        let waker = move || {
            let _ = caller.try_send(());
        };
        let _ = instance.sweep_waker.set(Box::new(waker));
        BackgroundJobs {
            instance,
            journal,
            saver,
            table,
            thread,
            statistics,
            other_memory,
            aged,
            appended,
            soon_appended: 0,
            removed,
            looks_ahead: true,
            look_gap: LOOK_GAP_MIN,
            calls,
        }
    }

    /// Runs a round of jobs every 100 ms until `stop` is closed, and removes in between what has
    /// expired.
    pub fn run(mut self, stop: &Receiver<()>) {
        loop {
            let began = Instant::now();
            if !self.instance.background_jobs_paused.load(Relaxed) {
                self.round();
                let nanos = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
                self.statistics.server.background_nanos.add(nanos);
            }
            if !self.rest_until(began + ROUND, stop) {
                return;
            }
        }
    }

    /// Sleeps until the next round, and removes meanwhile what expires. Returns false if `stop` was
    /// closed.
    fn rest_until(&mut self, round: Instant, stop: &Receiver<()>) -> bool {
        let mut next_look = Instant::now() + self.look_gap;
        loop {
            let now = Instant::now();
            let left = round.saturating_duration_since(now);
            if left.is_zero() {
                return stop.try_recv() == Err(TryRecvError::Empty);
            }
            let nap = self.nap(left, next_look.saturating_duration_since(now));
            if nap.is_zero() {
                self.look(left);
                next_look = Instant::now() + self.look_gap;
                continue;
            }
            select! {
                recv(stop) -> _ => return false,
                recv(self.calls) -> _ => {}
                default(nap) => {}
            }
            self.instance.store.deadlines().wake_up();
        }
    }

    /// Returns the time to sleep until the next known deadline, at least the gap behind the last
    /// look, and no more than is left until the next round.
    fn nap(&self, left: Duration, gap: Duration) -> Duration {
        if !self.looks_ahead || !self.may_expire() {
            return left;
        }
        let (deadlines, now) = (self.instance.store.deadlines(), self.instance.clock.now());
        let due = Duration::from_millis(deadlines.next_look().since(now));
        if due < gap {
            return gap.min(left);
        }
        let nap = due.min(left);
        let until = Millis(now.0 + whole_millis(nap));
        if deadlines.fall_asleep(until) { nap } else { Duration::ZERO }
    }

    /// Removes what has expired by a known deadline; `left` is the time until the next round.
    fn look(&mut self, left: Duration) {
        let now = self.instance.clock.now();
        let until = Millis(now.0 + whole_millis(left) + 1);
        let spent = self.sweep(Looking::where_due(now, until));
        self.look_gap = LOOK_GAP_MIN.max(spent * LOOK_PART);
        self.look_after_waiters(now);
        self.instance.send_pending_messages();
        self.journal.after_batch(&self.instance);
    }

    /// Returns true if the jobs may remove what has expired, or has to go.
    fn may_remove(&self) -> bool {
        // What nobody asks for adds no events to mail that is not read yet.
        !(self.instance.store.wants_any(Interests::EVENTS) && self.instance.clients.is_any_behind())
    }

    fn may_expire(&self) -> bool {
        !self.instance.background_jobs_paused.load(Relaxed)
            && self.instance.active_expire.load(Relaxed)
            && !self.instance.store.keeps_expired()
            && self.may_remove()
    }

    /// Removes what has expired, and tells how much processor time that took.
    fn sweep(&mut self, looking: Looking) -> Duration {
        let (began, spent_before) = (Instant::now(), process::precise_time_of_thread());
        let send = || self.instance.send_pending_messages();
        self.instance.store.sweep_deadlines_pausing(&mut self.thread, looking, send);
        let took = began.elapsed();
        let nanos = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        self.statistics.server.sweep_nanos.add(nanos);
        self.instance.note_latency("expire-cycle", took);
        process::precise_time_of_thread().saturating_sub(spent_before)
    }

    /// Looks at all deadlines. Where that costs much it is done as rarely as can be.
    fn sweep_all(&mut self, now: Millis) {
        let ahead = Millis(now.0 + whole_millis(ROUND) + 1);
        let looking =
            if self.looks_ahead { Looking::ahead(now, ahead) } else { Looking::once(now) };
        let spent = self.sweep(looking);
        self.looks_ahead = spent * LOOK_PART <= ROUND;
    }

    fn round(&mut self) {
        let now = self.instance.clock.now();
        self.sample();
        limits::apply(&self.instance);
        if self.may_expire() {
            self.sweep_all(now);
        }
        self.end_local_deadlines(now);
        self.flush_when_due(now);
        if self.may_remove() {
            self.evict(now);
        }
        self.look_after_waiters(now);
        self.instance.send_pending_messages();
        self.instance.look_after_keys(&self.thread);
        self.age();
        self.free_lazily();
        self.clean(now);
        self.instance.store.rest(&mut self.thread);
        let unused_since = Millis(now.0.saturating_sub(whole_millis(INTERPRETER_REST)));
        self.instance.scripts.interpreters.give_back_unused(unused_since);
        self.instance.libraries.interpreters.give_back_unused(unused_since);
        self.return_memory();
        self.journal.after_batch(&self.instance);
        self.saver.give_way(&self.instance, &self.thread);
        self.saver.look_after(&self.instance);
    }

    /// Removes the keys of a writable replica whose deadlines clients have set, and have passed.
    fn end_local_deadlines(&mut self, now: Millis) {
        let (instance, thread) = (&*self.instance, &mut self.thread);
        let may_remove = instance.active_expire.load(Relaxed) && !instance.loading.is_active();
        if may_remove {
            let replica = (&instance.store, &instance.upstream);
            instance.local_deadlines.expire(replica, thread, now);
        }
    }

    /// Does the flush that was asked for with a delay once it is due, and changes are let in as
    /// those of clients are. A replica forgets it: its primary says what goes.
    fn flush_when_due(&mut self, now: Millis) {
        let (instance, thread) = (&*self.instance, &mut self.thread);
        let pending = &instance.pending_flush;
        if pending.due().is_none_or(|due| due > now) {
            return;
        }
        // The role stays within the gate, and a flush that has begun there ends before it changes.
        instance.store.enter(thread);
        if instance.upstream.is_replica() {
            pending.forget();
        } else if instance.lets_changes_in()
            && let Some(database) = pending.take_due(now)
        {
            instance.store.flush(thread, Flush::One(database));
        }
        instance.store.leave(thread);
    }

    /// Evicts what lowered limits leave no room for.
    fn evict(&mut self, now: Millis) {
        let (instance, thread) = (&*self.instance, &mut self.thread);
        let evict = |thread: &mut ThreadContext| instance.store.evict_beyond_limits(thread, now);
        in_pieces(|| {
            instance.store.enter(thread);
            let is_more = instance.note_eviction(thread, evict);
            instance.store.leave(thread);
            instance.send_pending_messages();
            is_more
        });
    }

    /// Serves waiters whose keys have expired or been evicted, and waiters that were postponed by a
    /// pause that is over.
    fn look_after_waiters(&mut self, now: Millis) {
        let totals = self.instance.store.totals();
        let removed = totals.expired + totals.evicted;
        let has_removed = std::mem::replace(&mut self.removed, removed) != removed;
        if self.instance.waiters.count() > 0 {
            let (instance, thread, statistics) =
                (&*self.instance, &mut self.thread, &*self.statistics);
            instance.store.enter(thread);
            let environment = Environment { instance, table: self.table, statistics, now };
            command::resume_postponed(environment, thread);
            if has_removed {
                command::serve_losses(environment, thread);
            }
            instance.store.leave(thread);
            self.journal.after_batch(instance);
        }
    }

    /// Samples the memory of the process and the statistics.
    fn sample(&mut self) {
        let instance = &self.instance;
        let resident = process::resident();
        instance.memory.resident_bytes.store(resident.bytes, Relaxed);
        instance.memory.resident_peak.fetch_max(resident.bytes, Relaxed);
        let store = &instance.store;
        store.learn_record_bytes();
        let fixed = instance.memory.fixed_bytes.load(Relaxed);
        // The thread that writes the journal may not have had a core for long.
        self.journal.tell_resident(instance);
        let uncounted = fixed + instance.journal.uncounted_bytes();
        let own = store.heap().touched_bytes() + store.index_bytes() + uncounted;
        let buffers = if self.saver.has_been_busy() { SAVER_BYTES } else { 0 };
        let held = store.retained_beside_records() + buffers;
        let other = self.other_memory.counted(resident.anonymous.saturating_sub(own), held);
        instance.memory.other_bytes.store(BASE_BYTES + other, Relaxed);
        instance.memory.used_peak.fetch_max(instance.used_memory(), Relaxed);
        instance.statistics.sample(instance.clock.steady());
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
        let in_round = appended.wrapping_sub(self.appended);
        self.soon_appended = in_round.max(self.soon_appended - self.soon_appended / FADED_PART);
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
        let soon = self.soon_appended.min(SOON_APPENDED_MAX);
        let part = (heap.touched_bytes() / KEPT_PART).max(soon);
        // Under a limit the pool will be written to again, and is within the limit anyway.
        let is_limited = heap.budget() != u64::MAX;
        let keep = if is_limited { part.max(2 * u64::from(heap.head_bytes())) } else { part };
        in_pieces(|| heap.return_some(keep));
    }
}

fn whole_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX / 2)
}

/// Repeats `step` while it returns true, for at most a part of a round, and yields the core between
/// pieces.
fn in_pieces(mut step: impl FnMut() -> bool) {
    let (began, mut pacer) = (Instant::now(), Pacer::new());
    while step() && began.elapsed() < REST_WORK {
        pacer.yield_if_due();
    }
}
