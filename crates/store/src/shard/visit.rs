//! Passes over the entries of a shard.

use super::change::Reason;
use super::collections::CollectionId;
use super::found::Found;
use super::guard::Guard;
use super::key_mut::KeyMut;
use super::shards::Shards;
use super::value_ref::ValueRef;
use crate::key::Key;
use base::{KeyspaceId, Location, Millis, Random, ShardId, Tick};
use index::{DeadlineVisitor, Entry, EntrySlot, Index, Position};
use smallvec::SmallVec;

/// Judgement of a sweep over deadlines on a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Next deadline of the key or of a part of its value.
    Until(Millis),
    /// The key is past its deadline.
    Expired,
}

impl<'a> Guard<'a> {
    /// The index of a keyspace in a locked shard.
    ///
    /// # Panics
    /// If the shard is not locked.
    #[inline]
    fn index_of(&self, keyspace: KeyspaceId, shard: ShardId) -> &'a Index {
        self.assert_held(shard);
        self.shards.indexes.get(keyspace, shard)
    }

    /// Returns the record that an entry of a locked shard names.
    #[inline]
    fn found(&self, slot: EntrySlot, entry: Entry) -> Found<'a> {
        // SAFETY: the entry stands in the index of a locked shard.
        let record = unsafe { self.shards.heap.record(entry.location()) };
        Found { slot, entry, record }
    }

    /// Visits every key that belongs to the bucket in which `from` lies. Returns the begin of the
    /// next bucket; `None` when that is beyond this shard.
    pub fn scan_bucket(
        &self,
        keyspace: KeyspaceId,
        from: Position,
        mut visit: impl FnMut(ValueRef<'_>),
    ) -> Option<Position> {
        let index = self.index_of(keyspace, from.hash().shard());
        index.scan_bucket(&self.shards.blocks, from, |slot, entry| {
            visit(ValueRef::new(self, self.found(slot, entry)));
        })
    }

    /// Removes every key that belongs to the bucket in which `from` lies, of a keyspace that was
    /// flushed; `count` gets the live bytes of each, and its collection. Returns the begin of the
    /// next bucket.
    pub fn free_bucket(
        &mut self,
        keyspace: KeyspaceId,
        from: Position,
        mut count: impl FnMut(u64, Option<CollectionId>),
    ) -> Option<Position> {
        let (shards, index) = (self.shards, self.index_of(keyspace, from.hash().shard()));
        let mut natives: SmallVec<[(EntrySlot, Entry); 16]> = SmallVec::new();
        let next = index.scan_bucket(&shards.blocks, from, |slot, entry| {
            shards.prefetch(entry.location());
            natives.push((slot, entry));
        });
        for (slot, entry) in natives {
            let found = self.found(slot, entry);
            // The hash is used here only for its shard.
            let key = Key { bytes: found.record.key(), hash: from.hash(), keyspace };
            let collection = found.collection();
            count(self.remove_found(&key, found, Reason::Flushed), collection);
        }
        next
    }

    /// Returns a random key of a locked shard, each about as likely; `None` without keys.
    pub fn random_value(
        &self,
        keyspace: KeyspaceId,
        shard: ShardId,
        random: &mut Random,
    ) -> Option<ValueRef<'_>> {
        let index = self.index_of(keyspace, shard);
        let (slot, entry) = index.random(&self.shards.blocks, shard.0, random)?;
        Some(ValueRef::new(self, self.found(slot, entry)))
    }

    /// Visits the keys with deadlines in the next bucket that has some, in the block in which
    /// `from` lies; a visit may remove its key. Records of other keys are not read. Returns where
    /// to go on; `None` when that is beyond this shard.
    pub fn visit_volatile(
        &mut self,
        keyspace: KeyspaceId,
        from: Position,
        mut visit: impl FnMut(&mut KeyMut<'_, 'a>),
    ) -> Option<Position> {
        let (shards, index) = (self.shards, self.index_of(keyspace, from.hash().shard()));
        let mut volatile: SmallVec<[Location; 8]> = SmallVec::new();
        let next = index.scan_deadlines(&shards.blocks, from, |entry| {
            shards.prefetch(entry.location());
            volatile.push(entry.location());
        });
        for at in volatile {
            // SAFETY: the location stands in the index of a locked shard, since a visit removes no
            // key but its own.
            let record = unsafe { shards.heap.record(at) };
            let hash = shards.hasher.hash(record.key());
            if let Some(mut key) = self.key_at(keyspace, hash, at) {
                visit(&mut key);
            }
        }
        next
    }

    /// Visits the keys with deadlines, or with parts that have some, in the buckets of the block in
    /// which `from` lies that are due at `until`, or in all where that is none, from there on,
    /// `buckets_max` buckets at most; keys that have expired are removed. Returns where to go on.
    pub fn sweep_deadlines(
        &mut self,
        keyspace: KeyspaceId,
        (from, until): (Position, Option<Tick>),
        buckets_max: usize,
        judge: impl FnMut(ValueRef<'_>) -> Verdict,
    ) -> Option<Position> {
        let shards = self.shards;
        let shard = from.hash().shard();
        let index = self.index_of(keyspace, shard);
        let mut sweep = Sweep { guard: self, keyspace, shard, judge, has_expired: false };
        let next = index.sweep_deadlines(&shards.blocks, from, until, buckets_max, &mut sweep);
        if sweep.has_expired && index.wants_shrink(&shards.blocks, from.hash()) {
            index.shrink(&shards.blocks, from.hash(), &shards.hashes());
        }
        next
    }

    /// Changes the access bits of all keys in the block in which `from` lies. Returns where to go
    /// on.
    pub fn sweep_access(
        &mut self,
        keyspace: KeyspaceId,
        from: Position,
        age: impl FnMut(u8) -> u8,
    ) -> Option<Position> {
        let index = self.index_of(keyspace, from.hash().shard());
        index.sweep_access(&self.shards.blocks, from, age)
    }

    /// Makes room in the index of a keyspace in a locked shard, if it is an empty one.
    pub fn reserve_index(&mut self, keyspace: KeyspaceId, shard: ShardId, entries: u64) {
        self.index_of(keyspace, shard).reserve(&self.shards.blocks, entries);
    }

    /// Gives up the index of a keyspace in a locked shard, which has no entry left.
    pub fn clear(&mut self, keyspace: KeyspaceId, shard: ShardId) {
        self.index_of(keyspace, shard).clear(&self.shards.blocks);
    }
}

struct Sweep<'s, 'a, J> {
    guard: &'s mut Guard<'a>,
    keyspace: KeyspaceId,
    shard: ShardId,
    judge: J,
    has_expired: bool,
}

impl<J: FnMut(ValueRef<'_>) -> Verdict> DeadlineVisitor for Sweep<'_, '_, J> {
    fn prefetch(&self, at: Location) {
        self.guard.shards.prefetch(at);
    }

    fn visit(&mut self, slot: EntrySlot, entry: Entry) -> Option<Tick> {
        let found = self.guard.found(slot, entry);
        let now = self.guard.now;
        match (self.judge)(ValueRef::new(self.guard, found)) {
            Verdict::Until(next) => {
                self.guard.shards.deadlines.note(self.shard, next);
                Some(Tick::of_deadline(next, now))
            }
            Verdict::Expired => {
                let key = self.guard.shards.key(self.keyspace, found.record.key());
                self.guard.before_removal(&key, &found, Reason::Expired);
                let value_tag = found.value_tag();
                self.guard.let_go(&key, &found, Reason::Expired);
                self.guard.count_expired_by_sweep(value_tag);
                self.has_expired = true;
                None
            }
        }
    }
}

impl Shards {
    /// Number of buckets in the index of a keyspace in a shard.
    pub fn buckets(&self, keyspace: KeyspaceId, shard: ShardId) -> u64 {
        let _held = self.locks.one(shard);
        let index = self.indexes.get(keyspace, shard);
        if index.is_empty() { 0 } else { index.buckets(&self.blocks) }
    }

    /// Returns a random shard of a keyspace, weighted by its number of keys; `None` without keys.
    pub fn random_shard(&self, random: &mut Random, keyspace: KeyspaceId) -> Option<ShardId> {
        let keys: u64 = self.counts_of(keyspace).map(Index::len).sum();
        let mut nth = random.below(keys.max(1));
        ShardId::all().find(|shard| {
            let len = self.counts(keyspace, *shard).len();
            let is_here = nth < len;
            nth = nth.saturating_sub(len);
            is_here
        })
    }
}
