//! The cleaner: moves the live records out of a segment, or drops the coldest, and recycles it.
//!
//! ```text
//! victim   | live | dead | live | live | dead |      one shard locked at a time, per record
//!             │             │      └─ cold: evicted
//!             ▼             ▼
//! survivors | live | live | ...
//! ```
//! Workers pay for it in steps between their commands, in proportion to what they append;
//! background jobs clean at rest. Deleting a key frees nothing until its segment is cleaned, so
//! eviction happens here, in the victim at hand, and not by looking at what is used.
//!
//! With `maxmemory` reached and segments nearly full of live records, the coldest half is dropped,
//! since moving all would free next to nothing.

mod crew;
mod room;

pub(crate) use room::Room;

use crate::eviction::Candidate;
use crate::key::Key;
use crate::lazy_free::{FREED_AT_ONCE, RECORD_COST};
use crate::shard::{
    CollectionId, Guard, KeyMut, Paid, Reason, Sought, ThreadContext, ValueRef, parse_node_name,
};
use crate::store::Store;
use crate::survivors::Cleaner;
use base::{Location, Millis, PositionHash};
use heap::{GROWTH_PART, Record, Trim};
use smallvec::SmallVec;
use tree::NodeId;

/// Number of records whose index buckets are prefetched together.
const BATCH: usize = 16;
/// Share of a victim's live records that is evicted: with one half, a byte is moved for each
/// byte that is written at full utilisation.
const EVICTED_SHARE: f32 = 0.5;
/// Share of live bytes above which eviction wins more than cleaning.
const EVICT_ABOVE: f64 = 0.92;
/// Share of live bytes that cleaning keeps up while there are writes.
const UTILISATION_BUSY: f64 = 0.905;
/// Share of live bytes that cleaning keeps up while keys are only removed.
const UTILISATION_REMOVING: f64 = 0.6;
/// Share of live bytes that cleaning reaches at rest.
const UTILISATION_REST: f64 = 0.97;
/// Least dead share of a segment that is worth cleaning.
const DEAD_SHARE_MIN: f64 = 0.02;

/// Goal of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Goal {
    /// Moves live records together.
    Clean(Trim),
    /// Drops the coldest records.
    Evict,
}

/// Result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Records of so many bytes were handled.
    Walked(u64),
    /// No segment is worth cleaning.
    NoVictim,
    /// There is no room for survivors.
    Stuck,
}

impl Store {
    /// Does a worker's share of the cleaning after a batch of commands. The thread is inside the
    /// gate.
    #[inline]
    pub fn upkeep(&self, thread: &mut ThreadContext, now: Millis) {
        if thread.owes_upkeep() {
            let (appended, removed) = thread.unpaid();
            thread.paid = Paid {
                appended: thread.paid.appended + appended,
                live: thread.counters.live_bytes.get(),
            };
            self.pay_upkeep(thread, appended, removed, now);
        }
    }

    #[cold]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "more work than there are bytes is all work"
    )]
    fn pay_upkeep(&self, thread: &mut ThreadContext, appended: u64, removed: u64, now: Millis) {
        self.pay_for_lazy_free(thread, appended);
        // It reads the counts of all threads.
        let utilisation = self.utilisation();
        let for_appended = appended as f64 * self.pace(utilisation);
        let for_removed = removed as f64 * pace_of_removal(utilisation);
        let mut work = for_appended.max(for_removed) as u64;
        while work > 0 {
            let goal = self.goal_of_writers();
            if goal == Goal::Evict && self.free_removed(thread) {
                work = work.saturating_sub(FREED_AT_ONCE as u64 * RECORD_COST);
                continue;
            }
            let Some(mut cleaner) = self.free_cleaner() else { return };
            match self.step(thread, &mut cleaner, goal, now) {
                Step::Walked(bytes) => work = work.saturating_sub(bytes.max(1)),
                Step::NoVictim | Step::Stuck => return,
            }
        }
    }

    /// Bytes of segments to clean for each byte appended.
    fn pace(&self, utilisation: Option<f64>) -> f64 {
        let head_bytes = f64::from(self.shards.heap.head_bytes());
        let mut pace = 0.0;
        if self.shards.heap.budget() != u64::MAX {
            let pooled = self.shards.heap.pooled_bytes() as f64;
            let free = self.shards.heap.budget() as f64 + pooled
                - self.shards.heap.committed_bytes() as f64;
            let low = 6.0 * head_bytes;
            pace = ((low - free) / low * 8.0).clamp(0.0, 8.0);
        }
        if let Some(utilisation) = utilisation {
            pace = pace.max(((UTILISATION_BUSY - utilisation) * 250.0).clamp(0.0, 12.0));
        }
        pace
    }

    /// Share of the bytes in use that is live or growth room; `None` in a heap so small that its
    /// last segments decide about it.
    fn utilisation(&self) -> Option<f64> {
        let in_use = self.shards.heap.bytes_in_use();
        (in_use > 4 * u64::from(self.shards.heap.segment_limit())).then(|| {
            let live = self.live_bytes();
            let growth = self.growth_bytes().min(live / GROWTH_PART as u64);
            (live + growth) as f64 / in_use as f64
        })
    }

    /// Goal of the cleaning that writers pay for.
    fn goal_of_writers(&self) -> Goal {
        // Another thread may have pooled more meanwhile than was committed before.
        let committed =
            self.shards.heap.committed_bytes().saturating_sub(self.shards.heap.pooled_bytes());
        let free = self.shards.heap.budget().saturating_sub(committed);
        if free >= 6 * u64::from(self.shards.heap.head_bytes()) {
            Goal::Clean(Trim::Nothing)
        } else if self.is_full_of_life() {
            Goal::Evict
        } else {
            Goal::Clean(Trim::All)
        }
    }

    /// Returns true if eviction wins more space than moving live records.
    fn is_full_of_life(&self) -> bool {
        let in_use = self.shards.heap.bytes_in_use();
        self.may_evict() && self.live_bytes() as f64 > EVICT_ABOVE * in_use as f64
    }

    fn may_evict(&self) -> bool {
        self.shards.budget.maxmemory() != 0 && self.has_candidates()
    }

    /// Cleans at rest, about `bytes` of segments; returns false when there is nothing worth doing.
    pub fn clean_at_rest(&self, thread: &mut ThreadContext, bytes: u64, now: Millis) -> bool {
        if self.finish_victims(thread, now) {
            return true;
        }
        let in_use = self.shards.heap.bytes_in_use();
        let is_small = in_use < 2 * u64::from(self.shards.heap.segment_limit());
        if is_small || self.live_bytes() as f64 > UTILISATION_REST * in_use as f64 {
            return false;
        }
        let mut work = bytes;
        while work > 0 {
            let Some(mut cleaner) = self.free_cleaner() else { return false };
            match self.step(thread, &mut cleaner, Goal::Clean(Trim::Idle), now) {
                Step::Walked(bytes) => work = work.saturating_sub(bytes.max(1)),
                Step::NoVictim | Step::Stuck => return false,
            }
        }
        true
    }

    /// Handles the next records of the cleaner's victim, choosing a victim if it has none.
    fn step(
        &self,
        thread: &mut ThreadContext,
        cleaner: &mut Cleaner,
        goal: Goal,
        now: Millis,
    ) -> Step {
        if cleaner.victim.is_none() {
            cleaner.evicts = goal == Goal::Evict;
            cleaner.victim = match goal {
                Goal::Evict => self.shards.heap.choose_oldest(now),
                Goal::Clean(trim) => {
                    let reclaim = self.shards.budget.reclaim();
                    self.shards.heap.choose_victim(reclaim, DEAD_SHARE_MIN, trim, now)
                }
            };
        }
        let Some(mut victim) = cleaner.victim.take() else { return Step::NoVictim };
        cleaner.trims = victim.trims();
        let mut batch: SmallVec<[(Location, Record<'_>, Key<'_>); BATCH]> = SmallVec::new();
        while batch.len() < BATCH
            && let Some((at, record)) = victim.next(&self.shards.heap)
        {
            batch.push((at, record, self.owner_of(&record)));
        }
        let sought: SmallVec<[Sought; BATCH]> = batch
            .iter()
            .filter(|(_, record, _)| !record.is_node())
            .map(|(_, _, key)| (key.keyspace, key.hash))
            .collect();
        self.shards.prefetch_all_buckets(&sought);
        let (mut walked, moved_before) = (0, thread.counters.moved_bytes.get());
        for (at, record, key) in &batch {
            let is_cleaned = if record.is_node() {
                self.clean_node(thread, cleaner, *at, record.key(), now)
            } else {
                self.clean_record(thread, cleaner, *at, key, now)
            };
            if !is_cleaned {
                victim.go_back_to(*at);
                cleaner.victim = Some(victim);
                return Step::Stuck;
            }
            walked += u64::from(record.extent());
        }
        let moved = thread.counters.moved_bytes.get() - moved_before;
        thread.counters.won_bytes.add(walked.saturating_sub(moved));
        if victim.is_walked() {
            // SAFETY: each record was looked at under its owner's lock, and moved or found dead.
            unsafe { self.shards.heap.recycle_victim(victim) };
            thread.counters.cleaned_segments.add(1);
        } else {
            cleaner.victim = Some(victim);
        }
        Step::Walked(walked)
    }

    /// Key of a record. For a node it holds the record's own key and no hash.
    fn owner_of<'h>(&self, record: &Record<'h>) -> Key<'h> {
        let (keyspace, bytes) = (record.keyspace(), record.key());
        if record.is_node() {
            return Key { bytes, hash: PositionHash(0), keyspace };
        }
        self.key(keyspace, bytes)
    }

    /// Moves or drops the record of a key if it is alive; returns false when there is no room for
    /// it.
    fn clean_record(
        &self,
        thread: &mut ThreadContext,
        cleaner: &mut Cleaner,
        at: Location,
        key: &Key<'_>,
        now: Millis,
    ) -> bool {
        let mut guard = self.shards.lock_quietly(thread, key.hash.shard(), now);
        let Some(mut key) = guard.key_at(key.keyspace, key.hash, at) else { return true };
        let deadline = key.value().deadline();
        if self.shards.is_dying(key.key().keyspace) {
            key.remove(Reason::Flushed);
        } else if deadline.is_some_and(|deadline| deadline <= now) && !self.keeps_expired() {
            let value_tag = key.value().value_tag();
            key.remove(Reason::Expired);
            key.guard().count_expired_by_sweep(value_tag);
        } else {
            let is_evicted = cleaner.evicts
                && self.is_cold(&mut key, cleaner, 1.0)
                && self.evict_found(&mut key);
            // The budget may have shrunk below what is in use, so that nothing can be moved.
            return is_evicted
                || key.relocate(&mut cleaner.survivors, cleaner.trims)
                || self.evict_found(&mut key);
        }
        true
    }

    /// Moves or drops a node, named by the key of its record, if it is alive; returns false when
    /// there is no room for it.
    fn clean_node(
        &self,
        thread: &mut ThreadContext,
        cleaner: &mut Cleaner,
        at: Location,
        name: &[u8],
        now: Millis,
    ) -> bool {
        let Some((id, node)) = parse_node_name(name) else { return true };
        let Some(mut guard) = self.shards.lock_owner(thread, id, now) else { return true };
        let Some(nodes) = guard.collection(id) else { return true };
        if !nodes.names(node, at) {
            return true;
        }
        if !nodes.is_dying() {
            let part = nodes.live_bytes_of(node, at) as f32 / nodes.live_bytes().max(1) as f32;
            let is_cold = cleaner.evicts && self.evict_cold_owner(&mut guard, cleaner, id, part);
            if !is_cold {
                let moved = self.relocate_node(&mut guard, cleaner, id, (node, at));
                // The budget may have shrunk below what is in use, so that nothing can be moved.
                if moved || !self.evict_owner(&mut guard, id) {
                    return moved;
                }
            }
        }
        if guard.collection(id).is_some_and(|nodes| nodes.is_frozen()) {
            // A snapshot reads the nodes of the key that was evicted.
            return self.relocate_node(&mut guard, cleaner, id, (node, at));
        }
        if let Some(mut nodes) = guard.collection(id) {
            nodes.drop_node(node);
        }
        true
    }

    fn relocate_node(
        &self,
        guard: &mut Guard<'_>,
        cleaner: &mut Cleaner,
        id: CollectionId,
        at: (NodeId, Location),
    ) -> bool {
        guard
            .collection(id)
            .is_none_or(|mut nodes| nodes.relocate(at, &mut cleaner.survivors, cleaner.trims))
    }

    /// Evicts the key that owns a collection if it is among the coldest; `part` is the share of the
    /// collection that was met.
    fn evict_cold_owner(
        &self,
        guard: &mut Guard<'_>,
        cleaner: &mut Cleaner,
        id: CollectionId,
        part: f32,
    ) -> bool {
        let Some(mut key) = guard.owner_of(id) else { return false };
        let is_cold = self.is_cold(&mut key, cleaner, part);
        is_cold && self.evict_found(&mut key)
    }

    /// Evicts the key that owns a collection, if the policy allows.
    fn evict_owner(&self, guard: &mut Guard<'_>, id: CollectionId) -> bool {
        guard.owner_of(id).is_some_and(|mut key| self.evict_found(&mut key))
    }

    fn is_cold(&self, key: &mut KeyMut<'_, '_>, cleaner: &mut Cleaner, part: f32) -> bool {
        let candidate = candidate(key.value());
        let (now, random) = (key.now(), key.guard().random());
        self.shards.budget.eviction().coldness(candidate, now).is_some_and(|coldness| {
            cleaner.coldest.is_among_coldest(coldness, part, EVICTED_SHARE, random)
        })
    }

    /// Evicts a key, if the policy allows.
    fn evict_found(&self, key: &mut KeyMut<'_, '_>) -> bool {
        let (value, now) = (key.value(), key.now());
        let (candidate, value_tag) = (candidate(value), value.value_tag());
        if self.shards.budget.eviction().coldness(candidate, now).is_none() {
            return false;
        }
        let bytes = key.remove(Reason::Evicted);
        let counters = &key.guard().thread().counters;
        counters.evicted.add(1);
        counters.evicted_unfetched.add(value_tag.is_unfetched_string().into());
        counters.evicted_bytes.add(bytes);
        true
    }
}

/// Bytes of segments to clean for each byte removed. The emptier the segments, the less has to be
/// moved out of them, so cleaning for removals alone can wait until then.
fn pace_of_removal(utilisation: Option<f64>) -> f64 {
    utilisation
        .map_or(0.0, |utilisation| ((UTILISATION_REMOVING - utilisation) * 40.0).clamp(0.0, 4.0))
}

/// Facts about a key that an eviction policy needs.
fn candidate(value: ValueRef<'_>) -> Candidate {
    Candidate { access: value.access_bits(), deadline: value.deadline() }
}
