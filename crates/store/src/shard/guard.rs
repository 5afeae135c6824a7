//! Locked shards: the right to find keys in them.

use super::change::{Event, Reason};
use super::collections::CollectionId;
use super::found::Found;
use super::locks::{Asked, Held, ShardSet};
use super::pending::Changes;
use super::shards::Shards;
use super::thread_context::ThreadContext;
use crate::eviction::{AccessHistory, Use, touched};
use crate::key::{Key, ValueTag};
use base::{KeyHasher, Millis, Random, ShardId};
use index::{Entry, Index};
use std::num::NonZeroU64;

/// The locks of some shards, and the thread that holds them.
#[derive(Debug)]
pub(crate) struct Guard<'a> {
    pub(super) shards: &'a Shards,
    pub(super) thread: &'a mut ThreadContext,
    held: Held,
    pub(super) now: Millis,
    pub(super) history: AccessHistory,
    pub(super) shows_expired: bool,
    pub(super) changes: Changes,
}

impl Shards {
    /// Locks one shard, for a command.
    #[inline(always)]
    pub fn lock<'a>(
        &'a self,
        thread: &'a mut ThreadContext,
        shard: ShardId,
        now: Millis,
    ) -> Guard<'a> {
        let held = self.hold_one_of(thread, shard);
        Guard::new(self, thread, held, now, self.budget.history())
    }

    /// As `lock`, without waiting: `None` if the lock is taken at present.
    pub fn try_lock<'a>(
        &'a self,
        thread: &'a mut ThreadContext,
        shard: ShardId,
        now: Millis,
    ) -> Option<Guard<'a>> {
        let held = self.try_hold_one_of(thread, shard)?;
        Some(Guard::new(self, thread, held, now, self.budget.history()))
    }

    /// Locks several shards, all of them at once, for a command.
    pub fn lock_all<'a>(
        &'a self,
        thread: &'a mut ThreadContext,
        set: ShardSet,
        now: Millis,
    ) -> Guard<'a> {
        let held = self.hold_many_of(thread, set);
        Guard::new(self, thread, held, now, self.budget.history())
    }

    /// Locks one shard, for work that leaves the access histories of keys unchanged: in the
    /// background, or of a command that looks at keys which it does not name.
    #[inline]
    pub fn lock_quietly<'a>(
        &'a self,
        thread: &'a mut ThreadContext,
        shard: ShardId,
        now: Millis,
    ) -> Guard<'a> {
        let held = self.hold_one_of(thread, shard);
        Guard::new(self, thread, held, now, AccessHistory::Untouched)
    }

    /// As `lock_quietly`, without waiting: `None` if the lock is taken at present.
    pub fn try_lock_quietly<'a>(
        &'a self,
        thread: &'a mut ThreadContext,
        shard: ShardId,
        now: Millis,
    ) -> Option<Guard<'a>> {
        let held = self.try_hold_one_of(thread, shard)?;
        Some(Guard::new(self, thread, held, now, AccessHistory::Untouched))
    }

    /// Locks the shard of the key that owns a collection; `None` if the collection is closed.
    pub fn lock_owner<'a>(
        &'a self,
        thread: &'a mut ThreadContext,
        id: CollectionId,
        now: Millis,
    ) -> Option<Guard<'a>> {
        let held = self.hold_owner(thread, id)?;
        Some(Guard::new(self, thread, held, now, AccessHistory::Untouched))
    }
}

impl<'a> Guard<'a> {
    #[inline(always)]
    fn new(
        shards: &'a Shards,
        thread: &'a mut ThreadContext,
        held: Held,
        now: Millis,
        history: AccessHistory,
    ) -> Guard<'a> {
        let changes = Changes::new(shards.listeners.interests());
        Guard { shards, thread, held, now, history, shows_expired: false, changes }
    }

    /// Time of the command, or of the background job.
    #[inline]
    pub fn now(&self) -> Millis {
        self.now
    }

    /// Hash function that places keys and elements.
    #[inline]
    pub fn hasher(&self) -> &'a KeyHasher {
        &self.shards.hasher
    }

    /// The thread that holds the locks.
    #[inline]
    pub fn thread(&mut self) -> &mut ThreadContext {
        self.thread
    }

    /// The thread's random generator.
    #[inline]
    pub fn random(&mut self) -> &mut Random {
        &mut self.thread.random
    }

    /// Draws a number for the version of a value.
    pub fn draw_cas_number(&self) -> NonZeroU64 {
        self.shards.cas_numbers.draw(self.now)
    }

    /// Prefetches keys that are looked for next.
    pub fn prefetch_window(&self, keys: &[Key<'_>]) {
        self.shards.prefetch_window(keys);
    }

    /// Leaves the access histories of keys unchanged from now on.
    pub fn do_not_touch(&mut self) {
        self.history = AccessHistory::Untouched;
    }

    /// Makes keys past their deadline visible too, while the store keeps them.
    pub fn show_expired(&mut self) {
        self.shows_expired = self.shards.keeps_expired();
    }

    /// Makes keys past their deadline that were not removed yet visible to lookups without a trace.
    pub fn show_not_removed(&mut self) {
        self.shows_expired = true;
    }

    /// Time by which parts of values have expired; while expired keys are shown, none have.
    #[inline]
    pub fn as_of(&self) -> Millis {
        if self.shows_expired { Millis(0) } else { self.now }
    }

    /// # Panics
    /// If the key's shard is not locked.
    #[inline(always)]
    pub(super) fn index(&self, key: &Key<'_>) -> &'a Index {
        let shard = key.hash.shard();
        assert!(self.has(shard), "a command reaches only keys that it has locked");
        self.shards.indexes.get(key.keyspace, shard)
    }

    #[inline(always)]
    fn has(&self, shard: ShardId) -> bool {
        match self.held {
            Held::One(held) => held == shard,
            Held::Many | Held::Lent => self.thread.asked.0.has(shard),
        }
    }

    /// Gives the locks back; the guard must not be used any more.
    #[inline(always)]
    pub(super) fn release(&mut self) {
        let locks = &self.shards.locks;
        match self.held {
            // SAFETY: it was kept for this guard, which is dropped.
            Held::One(shard) => unsafe { locks.release(shard) },
            // SAFETY: the same; nothing but this guard has written to the set since it was made.
            Held::Many => unsafe { locks.release_all(&std::mem::take(&mut self.thread.asked.0)) },
            Held::Lent => self.thread.asked = Asked::default(),
        }
    }

    /// # Panics
    /// If the shard is not locked.
    #[inline]
    pub(super) fn assert_held(&self, shard: ShardId) {
        assert!(self.has(shard), "only what is locked is reached");
    }

    /// Finds the key's entry and record, whatever its deadline.
    #[inline(always)]
    pub(super) fn find(&self, key: &Key<'_>) -> Option<Found<'a>> {
        let shards = self.shards;
        let look = |entry: Entry| {
            // SAFETY: the location stands in the index of a locked shard.
            let record = unsafe { shards.heap.record(entry.location()) };
            (record.key() == key.bytes).then_some(record)
        };
        let found = self.index(key).find_map(&shards.blocks, key.hash, look);
        found.map(|(slot, entry, record)| Found { slot, entry, record })
    }

    /// Finds the key's entry and record. A key past its deadline is found only if expired keys are
    /// shown. Otherwise it is absent, and removed unless the store keeps such keys and the caller
    /// will not change it.
    #[inline(always)]
    pub(super) fn unexpired(&mut self, key: &Key<'_>, will_change: bool) -> Option<Found<'a>> {
        let found = self.find(key)?;
        if found.entry.has_deadline() && found.deadline().is_some_and(|it| it <= self.now) {
            let is_there = self.past_deadline(key, found, will_change);
            return is_there.then_some(found);
        }
        Some(found)
    }

    #[cold]
    #[inline(never)]
    fn past_deadline(&mut self, key: &Key<'_>, found: Found<'a>, will_change: bool) -> bool {
        if !self.shows_expired && (will_change || !self.shards.keeps_expired()) {
            self.thread.counters.expired.add(1);
            self.count_unfetched(found.value_tag());
            self.remove_found(key, found, Reason::Expired);
        }
        self.shows_expired
    }

    #[inline(always)]
    pub(super) fn note_read(&mut self, key: &Key<'_>, found: Option<&Found<'_>>) {
        match found {
            Some(found) => {
                self.thread.counters.hits.add(1);
                self.touch(key, found);
            }
            None => {
                self.thread.counters.misses.add(1);
                self.record_event(Event::MISS, key);
            }
        }
    }

    /// Counts keys that are removed because their deadline has passed.
    #[inline]
    pub fn count_expired(&mut self, keys: u64) {
        self.thread.counters.expired.add(keys);
    }

    /// Counts a key that is removed because its deadline has passed, before a client asked for it.
    pub fn count_expired_by_sweep(&mut self, value_tag: ValueTag) {
        self.count_unfetched(value_tag);
        self.thread.counters.expired.add(1);
        self.thread.counters.expired_by_sweep.add(1);
    }

    fn count_unfetched(&mut self, value_tag: ValueTag) {
        let is_unfetched = value_tag.is_unfetched_string();
        self.thread.counters.expired_unfetched.add(is_unfetched.into());
    }

    /// Counts parts of values that are removed because their deadline has passed.
    #[inline]
    pub fn count_expired_parts(&mut self, parts: u64) {
        self.thread.counters.expired_parts.add(parts);
    }

    /// Removes a key that is past its deadline, unless the store keeps such keys.
    pub fn drop_expired(&mut self, key: &Key<'_>) {
        self.unexpired(key, false);
    }

    /// Finds the key's entry and record for a change.
    #[inline(always)]
    pub(super) fn find_to_change(&mut self, key: &Key<'_>) -> Option<Found<'a>> {
        self.unexpired(key, true)
    }

    /// Sets the access history of a key, if it has one of this meaning.
    pub fn set_use(&mut self, key: &Key<'_>, used: Use) {
        let access = used.bits(self.shards.budget.history());
        if let (Some(found), Some(access)) = (self.find(key), access) {
            self.index(key).set_access(&self.shards.blocks, found.slot, access);
        }
    }

    /// Notes a use of a key.
    #[inline(always)]
    pub(super) fn touch(&mut self, key: &Key<'_>, found: &Found<'_>) {
        if let Some(access) = touched(self.history, found.entry.access(), &mut self.thread.random) {
            self.index(key).set_access(&self.shards.blocks, found.slot, access);
        }
    }
}
