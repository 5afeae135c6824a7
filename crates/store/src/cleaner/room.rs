//! Space for a write that finds none: from removed values, from dead records, from eviction.

use super::{Goal, Step};
use crate::eviction::{Candidate, EvictionPolicy};
use crate::lazy_free::FREED_AT_ONCE;
use crate::shard::{CollectionId, Noted, ThreadContext};
use crate::store::Store;
use base::{KeyspaceId, Location, Millis, PositionHash, Random, ShardId};
use heap::Trim;
use index::Position;
use tree::NodeId;

/// Number of random keys per database of which the coldest is evicted.
const SAMPLE: usize = 16;
/// Most samples of which none could be evicted, as others change the same keys.
const SAMPLES: usize = 16;

/// Result of freeing space for a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// Bytes were freed.
    Won,
    /// Resident memory that no head could use went back to the system.
    Returned,
    /// There is nothing to free.
    Nothing,
}

impl Store {
    /// Frees some space for a write that cannot be made otherwise.
    pub(crate) fn make_room(&self, thread: &mut ThreadContext, now: Millis) -> Room {
        // Pooled memory that is no help, since the budget has shrunk or its segments are too small
        // for a head, is worth more as free memory. Evicting would only add to it.
        if self.shards.heap.return_some(2 * u64::from(self.shards.heap.head_bytes())) {
            return Room::Returned;
        }
        if self.free_removed(thread) || self.clean_one(thread, now) {
            return Room::Won;
        }
        // Moving what is alive has left segments in the pool, of which none may be large enough.
        while self.shards.heap.return_some(0) {}
        let is_won = self.evict_dedicated(thread, now)
            || self.evict_scattered(thread, now)
            || self.evict_sampled(thread, now)
            || self.seal_own_head(thread);
        if is_won { Room::Won } else { Room::Nothing }
    }

    /// Evicts a little if more is alive than the limits allow, as after they were lowered, so that
    /// it need not wait for somebody who writes; returns false when that is not so, or nothing may
    /// go. The thread is inside the gate.
    pub fn evict_beyond_limits(&self, thread: &mut ThreadContext, now: Millis) -> bool {
        // Dead bytes, and segments that are half empty, are for the cleaner.
        let alive = self.live_bytes().saturating_sub(self.shards.budget.dying());
        alive > self.shards.heap.budget()
            && self.may_evict()
            && self.make_room(thread, now) != Room::Nothing
    }

    /// Cleans one segment, or evicts from it; returns false when that wins next to nothing.
    fn clean_one(&self, thread: &mut ThreadContext, now: Millis) -> bool {
        let mut cleaner = self.wait_for_cleaner();
        let mut goal = match self.goal_of_writers() {
            Goal::Clean(_) => Goal::Clean(Trim::All),
            Goal::Evict => Goal::Evict,
        };
        let moved_before = thread.counters.moved_bytes.get();
        let mut walked = 0;
        loop {
            match self.step(thread, &mut cleaner, goal, now) {
                Step::Walked(bytes) => walked += bytes,
                // Nothing is dead enough to be worth moving the rest: what is left is to evict.
                Step::NoVictim if goal != Goal::Evict && self.has_candidates() => {
                    goal = Goal::Evict;
                    continue;
                }
                Step::NoVictim | Step::Stuck => return false,
            }
            if cleaner.victim.is_none() {
                break;
            }
        }
        let moved = thread.counters.moved_bytes.get() - moved_before;
        moved + walked / 64 < walked
    }

    /// Returns true if there may be keys that the policy allows to evict.
    pub(super) fn has_candidates(&self) -> bool {
        match self.shards.budget.eviction() {
            EvictionPolicy::NoEviction => false,
            policy if policy.is_volatile() => self.used_databases().any(|database| {
                let keyspace = self.keyspace(database);
                keyspace.is_some_and(|keyspace| {
                    self.shards.counts_of(keyspace).any(|index| index.with_deadline() > 0)
                })
            }),
            _ => true,
        }
    }

    /// Returns true if there are keys that the policy allows to evict.
    pub(crate) fn has_keys_to_evict(&self) -> bool {
        self.may_evict() && self.keys() > 0
    }

    /// Lets lazy free count some removed values as dead, so that nothing has to be evicted or
    /// moved; returns false when there are none.
    pub(super) fn free_removed(&self, thread: &mut ThreadContext) -> bool {
        let waiting = self.shards.budget.dying();
        if waiting == 0 && self.shards.given_up.lock().is_empty() {
            return false;
        }
        if self.free_some(thread, FREED_AT_ONCE) {
            return true;
        }
        // Another thread is at it.
        std::thread::yield_now();
        self.shards.budget.dying() < waiting
    }

    /// Closes the thread's own segment if most of it is dead, so that it can be cleaned; returns
    /// true if it was.
    fn seal_own_head(&self, thread: &mut ThreadContext) -> bool {
        let (written, live) = thread.head.fill(&self.shards.heap);
        let is_worth_cleaning = written > self.shards.heap.head_bytes() / 2 && live < written / 2;
        if is_worth_cleaning {
            thread.head.seal(&self.shards.heap);
        }
        is_worth_cleaning
    }

    /// Evicts keys with a deadline wherever they lie, about a head's worth. Meant for segments that
    /// hold so few of them that whole segments would be moved for each; these are cleaned next.
    fn evict_scattered(&self, thread: &mut ThreadContext, now: Millis) -> bool {
        if !self.shards.budget.eviction().is_volatile() {
            return false;
        }
        let wanted = u64::from(self.shards.heap.head_bytes());
        let before = thread.counters.evicted_bytes.get();
        let first = narrow::low_u8(thread.random.below(256));
        for shard in (0..=u8::MAX).map(|number| ShardId(first.wrapping_add(number))) {
            for keyspace in self.used_databases().filter_map(|number| self.keyspace(number)) {
                self.evict_volatile_of(thread, keyspace, shard, now);
            }
            if thread.counters.evicted_bytes.get() - before >= wanted {
                break;
            }
        }
        thread.counters.evicted_bytes.get() > before
    }

    /// Evicts the coldest of a few random keys, under policies that allow any key. A victim that
    /// holds parts of large collections may be moved as a whole, since each of its parts is chosen
    /// with a small chance.
    fn evict_sampled(&self, thread: &mut ThreadContext, now: Millis) -> bool {
        let policy = self.shards.budget.eviction();
        if policy.is_volatile() || policy == EvictionPolicy::NoEviction {
            return false;
        }
        for _ in 0..SAMPLES {
            let Some((at, hash, keyspace)) = self.coldest_of_sample(thread, now) else {
                return false;
            };
            // It may have been changed since it was looked at, and be another record now.
            if self.evict_one(thread, at, hash, keyspace, now) {
                return true;
            }
        }
        false
    }

    /// The coldest of a few random keys.
    fn coldest_of_sample(
        &self,
        thread: &mut ThreadContext,
        now: Millis,
    ) -> Option<(Location, PositionHash, KeyspaceId)> {
        let policy = self.shards.budget.eviction();
        let mut coldest: Option<(u8, (Location, PositionHash, KeyspaceId))> = None;
        let mut random = Random::from_seed(thread.random.next());
        for keyspace in self.used_databases().filter_map(|number| self.keyspace(number)) {
            for _ in 0..SAMPLE {
                // Others remove keys while they are counted.
                let shard = self.shards.random_shard(&mut random, keyspace);
                let Some(shard) = shard else { continue };
                let guard = self.shards.lock_quietly(thread, shard, now);
                let found = guard.random_value(keyspace, shard, &mut random);
                let Some(value) = found else { continue };
                let candidate = Candidate { access: value.access_bits(), deadline: None };
                let Some(coldness) = policy.coldness(candidate, now) else { continue };
                if coldest.is_none_or(|(found, _)| coldness > found) {
                    let hash = self.shards.hasher.hash(value.key());
                    coldest = Some((coldness, (value.location(), hash, keyspace)));
                }
            }
        }
        coldest.map(|(_, key)| key)
    }

    /// Evicts the keys of a shard that have a deadline, bucket by bucket. What is missed where a
    /// block shrinks meanwhile is found by the next write that needs room.
    fn evict_volatile_of(
        &self,
        thread: &mut ThreadContext,
        keyspace: KeyspaceId,
        shard: ShardId,
        now: Millis,
    ) {
        let mut at = Some(Position::of_shard(shard));
        while let Some(from) =
            at.filter(|_| self.shards.counts(keyspace, shard).with_deadline() > 0)
        {
            let mut guard = self.shards.lock_quietly(thread, shard, now);
            at = guard.visit_volatile(keyspace, from, |key| {
                self.evict_found(key);
            });
        }
    }

    /// Evicts the oldest of the dedicated records that the policy allows.
    fn evict_dedicated(&self, thread: &mut ThreadContext, now: Millis) -> bool {
        if self.shards.budget.eviction() == EvictionPolicy::NoEviction {
            return false;
        }
        let by_age = self.shards.heap.dedicated_by_age();
        by_age.into_iter().any(|(at, owner)| match Noted::of(owner) {
            Noted::Key(hash, keyspace) => self.evict_one(thread, at, hash, keyspace, now),
            Noted::Node(id, node) => self.evict_owner_of(thread, at, (id, node), now),
        })
    }

    /// Evicts the record at `at` if the index still names it and the policy allows.
    fn evict_one(
        &self,
        thread: &mut ThreadContext,
        at: Location,
        hash: PositionHash,
        keyspace: KeyspaceId,
        now: Millis,
    ) -> bool {
        let mut guard = self.shards.lock_quietly(thread, hash.shard(), now);
        guard.key_at(keyspace, hash, at).is_some_and(|mut key| self.evict_found(&mut key))
    }

    /// Evicts the key that owns the node at `at`, if the node is still alive and the policy allows.
    fn evict_owner_of(
        &self,
        thread: &mut ThreadContext,
        at: Location,
        (id, node): (CollectionId, NodeId),
        now: Millis,
    ) -> bool {
        let Some(mut guard) = self.shards.lock_owner(thread, id, now) else { return false };
        let is_there = guard.collection(id).is_some_and(|nodes| nodes.find(node) == Some(at));
        is_there && self.evict_owner(&mut guard, id)
    }
}
