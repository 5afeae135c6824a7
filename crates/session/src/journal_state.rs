//! State of the journal, as clients see it. The thread that writes it keeps it up to date.

use base::Steady;
use base::mutex::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed, Ordering::SeqCst};

/// Most bytes of the stream that do not count against `maxmemory`.
const UNCOUNTED_MAX: u64 = 64 << 20;

/// State of the journal.
#[derive(Debug, Default)]
pub struct JournalState {
    /// True while changes are written to files.
    pub is_on: AtomicBool,
    /// True while a base is written for it, for the first time or again.
    pub is_rewriting: AtomicBool,
    /// True if the base is to be written again as soon as a snapshot at work has ended.
    pub is_scheduled: AtomicBool,
    /// Bytes of all files of the set.
    pub bytes: AtomicU64,
    /// Bytes that the set had when its base was new.
    pub base_bytes: AtomicU64,
    /// Bytes that were not written to the file yet.
    pub pending_bytes: AtomicU64,
    /// Bytes of memory that the stream takes.
    pub resident_bytes: AtomicU64,
    /// Position behind all that is safe.
    pub safe: AtomicU64,
    /// One more than the position behind all that is synced, in files that are read at the next
    /// start; zero if there are none.
    synced: AtomicU64,
    /// True while a sync is made that the writer does not wait for.
    pub is_syncing: AtomicBool,
    /// Number of syncs that took longer than a second.
    pub delayed_syncs: AtomicU64,
    /// Microseconds for which the writer waits before each write, for tests.
    pub pause_micros: AtomicU64,
    rewrites: Mutex<Rewrites>,
    /// What went wrong with the last write or sync; `None` if nothing did.
    failure: Mutex<Option<String>>,
}

/// Counts and times of rewrites.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rewrites {
    /// When the one at work began.
    pub began: Option<Steady>,
    /// Seconds that the last one took.
    pub last_seconds: Option<u64>,
    /// True if the last one failed.
    pub has_failed: bool,
    /// Number of those that have failed since one succeeded.
    pub failed_in_a_row: u64,
    /// Number of those that have begun.
    pub count: u64,
}

impl JournalState {
    /// Bytes of the stream that do not count against `maxmemory`, as Valkey's buffer of the
    /// append-only file does not: what waits for a disk that works.
    pub fn uncounted_bytes(&self) -> u64 {
        self.resident_bytes.load(Relaxed).min(UNCOUNTED_MAX)
    }

    /// Notes the position up to which all is synced, in files that are read at the next start;
    /// `None` if there are none.
    pub fn set_synced(&self, position: Option<u64>) {
        self.synced.store(position.map_or(0, |position| position.saturating_add(1)), SeqCst);
    }

    /// Position up to which all is synced, in files that are read at the next start; `None` if
    /// there are none.
    pub fn synced(&self) -> Option<u64> {
        self.synced.load(SeqCst).checked_sub(1)
    }

    /// Returns true if all up to a position is synced.
    pub fn is_synced(&self, position: u64) -> bool {
        self.synced.load(SeqCst) > position
    }

    /// Counts and times of rewrites.
    pub fn rewrites(&self) -> MutexGuard<'_, Rewrites> {
        self.rewrites.lock()
    }

    /// Notes that a rewrite begins.
    pub fn begin_rewrite(&self, now: Steady) {
        self.is_rewriting.store(true, Relaxed);
        self.is_scheduled.store(false, Relaxed);
        let mut rewrites = self.rewrites();
        rewrites.began = Some(now);
        rewrites.count += 1;
    }

    /// Notes that a rewrite has ended.
    pub fn end_rewrite(&self, has_failed: bool, now: Steady) {
        let mut rewrites = self.rewrites();
        let began = rewrites.began.take();
        rewrites.last_seconds = began.map(|began| now.since(began) / 1000);
        rewrites.has_failed = has_failed;
        rewrites.failed_in_a_row = if has_failed { rewrites.failed_in_a_row + 1 } else { 0 };
        self.is_rewriting.store(false, Relaxed);
    }

    /// Notes that a rewrite has ended because nobody wants it any more, which is no failure.
    pub fn cancel_rewrite(&self) {
        self.rewrites().began = None;
        self.is_rewriting.store(false, Relaxed);
    }

    /// Restarts its counts from zero.
    pub fn reset_counts(&self) {
        let mut rewrites = self.rewrites();
        (rewrites.count, rewrites.failed_in_a_row) = (0, 0);
        self.delayed_syncs.store(0, Relaxed);
    }

    /// What is wrong with the files; `None` if nothing is.
    pub fn failure(&self) -> Option<String> {
        self.failure_cell().clone()
    }

    /// Notes what is wrong with the files. Returns true if nothing was wrong before, or something
    /// was and is no more.
    pub fn set_failure(&self, failure: Option<String>) -> bool {
        let mut cell = self.failure_cell();
        let is_news = cell.is_some() != failure.is_some();
        *cell = failure;
        is_news
    }

    fn failure_cell(&self) -> MutexGuard<'_, Option<String>> {
        self.failure.lock()
    }
}
