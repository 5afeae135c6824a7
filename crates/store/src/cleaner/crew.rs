//! The cleaners: their number follows the size of the heap, and none is left half-way when the heap
//! shrinks.

use super::{Goal, Step};
use crate::shard::ThreadContext;
use crate::store::Store;
use crate::survivors::{CLEANERS, Cleaner};
use base::Millis;
use base::mutex::MutexGuard;
use base::units::SEGMENT_BYTES;
use heap::Trim;
use std::sync::atomic::Ordering::Relaxed;

/// Number of segments per cleaner.
const SEGMENTS_PER_CLEANER: u64 = 64;

impl Store {
    /// Continues victims that no writer may come back to, and closes heads that have become too
    /// large; returns false when no victim is left.
    pub(super) fn finish_victims(&self, thread: &mut ThreadContext, now: Millis) -> bool {
        let opened = self.cleaners.opened.load(Relaxed);
        for mut cleaner in (0..opened).filter_map(|number| self.cleaners.try_lock(number)) {
            if cleaner.victim.is_some() {
                let step = self.step(thread, &mut cleaner, Goal::Clean(Trim::Nothing), now);
                return step != Step::Stuck;
            }
            cleaner.survivors.rest(&self.shards.heap);
        }
        let _ = self.unfinished_cleaner(self.cleaners_in_use());
        false
    }

    fn cleaners_in_use(&self) -> usize {
        let per_cleaner = SEGMENTS_PER_CLEANER * u64::from(SEGMENT_BYTES);
        narrow::to_usize(self.shards.heap.touched_bytes() / per_cleaner).clamp(1, CLEANERS)
    }

    /// Returns a cleaner that is not in use; first one that has to end its work because the heap
    /// has shrunk.
    pub(super) fn free_cleaner(&self) -> Option<MutexGuard<'_, Cleaner>> {
        let in_use = self.cleaners_in_use();
        self.unfinished_cleaner(in_use).or_else(|| {
            let try_lock = |number| Some((number, self.cleaners.try_lock(number)?));
            let (number, free) = (0..in_use).find_map(try_lock)?;
            self.cleaners.opened.fetch_max(number + 1, Relaxed);
            Some(free)
        })
    }

    /// Closes the cleaners from number `in_use` on; returns one that still has a victim to finish.
    fn unfinished_cleaner(&self, in_use: usize) -> Option<MutexGuard<'_, Cleaner>> {
        loop {
            let opened = self.cleaners.opened.load(Relaxed);
            if opened <= in_use {
                return None;
            }
            let mut last = self.cleaners.try_lock(opened - 1)?;
            if last.victim.is_some() {
                return Some(last);
            }
            last.survivors.seal(&self.shards.heap);
            // It is raised and lowered over a cleaner under that cleaner's lock.
            let _ = self.cleaners.opened.compare_exchange(opened, opened - 1, Relaxed, Relaxed);
        }
    }

    pub(super) fn wait_for_cleaner(&self) -> MutexGuard<'_, Cleaner> {
        self.free_cleaner().unwrap_or_else(|| {
            let first = self.cleaners.all[0].lock_patiently();
            self.cleaners.opened.fetch_max(1, Relaxed);
            first
        })
    }

    /// Returns true if another thread is freeing space, or removed values wait for lazy free.
    pub(crate) fn is_space_being_won(&self) -> bool {
        let mut all = 0..CLEANERS;
        self.shards.budget.dying() > 0 || all.any(|number| self.cleaners.try_lock(number).is_none())
    }
}
