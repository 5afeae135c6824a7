//! Holds of the saver: steps of the walk, taking what was handed over, reading and letting go of
//! what is frozen.

use super::collections::CollectionId;
use super::cut::{Copied, Copies, Unsaved};
use super::guard::Guard;
use super::shards::Shards;
use super::value_ref::ValueRef;
use base::{KeyspaceId, Location, Millis, PositionHash, ShardId};
use index::{Entry, Position, prefetch};
use smallvec::SmallVec;
use tree::NodeId;

/// Buckets whose records are copied under one hold.
const BUCKETS_PER_HOLD: usize = 24;
/// Bytes after which a hold ends.
const BYTES_PER_HOLD: usize = 64 << 10;
/// Nodes that are let go of under one hold.
const NODES_PER_HOLD: NodeId = 256;

/// Most bytes of a record that are prefetched.
const AHEAD_BYTES_MAX: usize = 256;

/// A bucket of the walk: where its natives end among those of all, and where the next one begins.
struct Bucket {
    natives_end: usize,
    next: Option<Position>,
}

/// Entries of the buckets of a hold.
type Natives = SmallVec<[Entry; 256]>;

impl Shards {
    /// Begins a cut of these keyspaces. To be called while the gate is closed.
    pub fn begin_cut(&self, keyspaces: Vec<KeyspaceId>) {
        self.keyspaces.keep(&keyspaces);
        self.cuts.begin(keyspaces);
        self.listeners.set_cut(true);
    }

    /// Ends the cut: nothing is handed over any more. What was stays in the shards.
    pub fn end_cut(&self) {
        self.listeners.set_cut(false);
        self.cuts.end();
    }

    /// The value of a copy in one piece.
    pub fn copied_value<'c>(&'c self, copied: &Copied<'c>, as_of: Millis) -> Option<ValueRef<'c>> {
        // SAFETY: the value has no nodes.
        let value = unsafe { ValueRef::copied(self, as_of, copied.entry, copied.record) };
        (!copied.is_large()).then_some(value)
    }

    /// Counts records of nodes that from now on only the snapshot holds, or that it has let go of.
    #[cold]
    pub(super) fn count_retained(&self, gained: i64) {
        self.cuts.retained.count_nodes(gained);
        self.lend_budget(gained);
    }

    /// Counts the records of a keyspace that was flushed and is kept for the snapshot. To be called
    /// while the gate is closed.
    pub fn count_kept(&self, bytes: u64) {
        self.cuts.retained.count_flushed(bytes);
        self.lend_budget(bytes.cast_signed());
    }

    /// Counts no keyspace as kept any more. To be called while the gate is closed.
    pub fn forget_kept(&self) {
        self.cuts.retained.forget_flushed();
    }

    /// Makes the budget larger at once, so that nobody has to make room for what only the snapshot
    /// holds. What is let go of has to be cleaned first: the budget falls behind that.
    fn lend_budget(&self, gained: i64) {
        if let Ok(gained @ 1..) = u64::try_from(gained) {
            self.budget.lend(gained);
            self.heap.raise_budget(gained);
        }
    }
}

impl Guard<'_> {
    /// Copies the records of some keys of a keyspace of the cut, from the walk's place in a shard
    /// on; of large values it freezes the nodes. Returns false if there are no more of them.
    pub fn copy_some(
        &mut self,
        (number, keyspace): (u16, KeyspaceId),
        shard: ShardId,
        to: &mut Copies,
        frozen: &mut Vec<CollectionId>,
    ) -> bool {
        self.assert_held(shard);
        let shards = self.shards;
        // SAFETY: the shard is locked.
        let unsaved = unsafe { shards.cuts.unsaved(shard) };
        if shards.cuts.number_of(unsaved, keyspace).is_none() || unsaved.place.0 > number {
            return false;
        }
        let begin = Position::of_shard(shard);
        let from = if unsaved.place.0 == number { unsaved.place.1 } else { 0 };
        let mut at = Some(begin.max(Position::of_hash(PositionHash(from))));
        let (natives, buckets) = self.look_ahead(keyspace, at);
        let (mut natives_begin, mut is_first) = (0, true);
        for bucket in buckets {
            let here = &natives[natives_begin..bucket.natives_end];
            // Buckets may have merged since the walk stopped: the first one may begin before that.
            let is_known_open = !std::mem::take(&mut is_first) && !unsaved.has_noted();
            if !self.copy_bucket(unsaved, (number, is_known_open), here, to, frozen) {
                break;
            }
            (natives_begin, at) = (bucket.natives_end, bucket.next);
            if at.is_none() || to.byte_len() >= BYTES_PER_HOLD {
                break;
            }
        }
        unsaved.go_on_to(at.map_or((number + 1, 0), |next| (number, next.hash().0)));
        shards.cuts.count_noted(unsaved);
        at.is_some()
    }

    /// Collects the natives of some buckets, and prefetches their records.
    fn look_ahead(
        &self,
        keyspace: KeyspaceId,
        from: Option<Position>,
    ) -> (Natives, SmallVec<[Bucket; BUCKETS_PER_HOLD]>) {
        let (shards, mut natives) = (self.shards, Natives::new());
        let (mut buckets, mut at) = (SmallVec::new(), from);
        let index = shards.counts(keyspace, from.map_or(ShardId(0), |from| from.hash().shard()));
        let average = narrow::to_usize(index.bytes() / index.len().max(1));
        let ahead = average.min(AHEAD_BYTES_MAX);
        while let Some(from) = at.filter(|_| buckets.len() < BUCKETS_PER_HOLD) {
            at = index.scan_bucket(&shards.blocks, from, |_, entry| {
                prefetch_record(shards, entry.location(), ahead);
                natives.push(entry);
            });
            buckets.push(Bucket { natives_end: natives.len(), next: at });
        }
        (natives, buckets)
    }

    /// Copies what is not settled of a bucket; it may be known that nothing is. Returns false if
    /// there was too much for one hold: what was copied is noted then.
    fn copy_bucket(
        &self,
        unsaved: &mut Unsaved,
        (number, is_known_open): (u16, bool),
        natives: &[Entry],
        to: &mut Copies,
        frozen: &mut Vec<CollectionId>,
    ) -> bool {
        let (shards, mut is_whole) = (self.shards, true);
        // SAFETY: the location stands in the index of a locked shard.
        let record_of = |entry: &Entry| unsafe { shards.heap.record(entry.location()) };
        let hash_of = |entry: &Entry| shards.hasher.hash(record_of(entry).key());
        let mut copied: SmallVec<[&Entry; 16]> = SmallVec::new();
        for entry in natives {
            let is_settled = || unsaved.is_settled(number, hash_of(entry));
            debug_assert!(!is_known_open || !is_settled(), "what is settled was saved");
            if !is_known_open && is_settled() {
                continue;
            }
            // Keys with the very same position hash go together.
            let goes_along = || copied.iter().any(|other| hash_of(other) == hash_of(entry));
            if to.byte_len() >= BYTES_PER_HOLD && !goes_along() {
                is_whole = false;
                continue;
            }
            copied.push(entry);
            let record = record_of(entry);
            // SAFETY: the shard is locked.
            if let Some(id) = unsafe { to.push(number, *entry, &record) } {
                // SAFETY: the shard of the key, which owns the collection, is locked.
                unsafe { shards.collections.freeze(id) };
                frozen.push(id);
            }
        }
        if !is_whole {
            copied.into_iter().for_each(|entry| unsaved.note(number, hash_of(entry)));
        }
        is_whole
    }

    /// Takes what was handed over in a shard. The copies count as waiting until they are said to be
    /// written.
    pub fn take_handed(&mut self, shard: ShardId, frozen: &mut Vec<CollectionId>) -> Vec<Copies> {
        self.assert_held(shard);
        // SAFETY: the shard is locked.
        let unsaved = unsafe { self.shards.cuts.unsaved(shard) };
        self.shards.cuts.taken(shard, unsaved.frozen.len());
        frozen.append(&mut unsaved.frozen);
        unsaved.handed.take()
    }

    /// Takes all that a shard knows of a cut that has ended, and what was handed over in it.
    pub fn forget_cut(
        &mut self,
        shard: ShardId,
        frozen: &mut Vec<CollectionId>,
    ) -> (Unsaved, Vec<Copies>) {
        let handed = self.take_handed(shard, frozen);
        // SAFETY: the shard is locked.
        let unsaved = unsafe { self.shards.cuts.unsaved(shard) };
        (self.shards.cuts.forget(unsaved), handed)
    }

    /// The value of a copy whose nodes are frozen.
    ///
    /// # Panics
    /// If the shard of its collection's owner is not locked.
    pub fn frozen_value<'c>(&'c self, copied: &Copied<'c>, as_of: Millis) -> ValueRef<'c> {
        let id = copied.collection().expect("the value has nodes");
        self.assert_held(self.shards.collections.owner(id).shard());
        // SAFETY: the owner's shard is locked, and the guard is borrowed.
        unsafe { ValueRef::copied(self.shards, as_of, copied.entry, copied.record) }
    }

    /// Lets go of some nodes of a frozen collection, from one on. Returns where to go on. After the
    /// last node the collection goes to lazy free if its key is gone.
    pub fn let_go_some(&mut self, id: CollectionId, from: NodeId) -> Option<NodeId> {
        let mut collection = self.collection(id)?;
        let next = collection.let_go_frozen(from, NODES_PER_HOLD);
        let bytes = collection.live_bytes();
        if next.is_none() {
            let collections = &self.shards.collections;
            // SAFETY: the owner's shard is locked.
            let frozen = unsafe { collections.thaw(id) };
            if let Some(frozen) = frozen.filter(|_| collections.is_dying(id)) {
                if !frozen.is_counted {
                    self.shards.count_retained(-bytes.cast_signed());
                    self.shards.budget.hand_to_lazy_free(bytes);
                }
                collections.hand_to_lazy_free(id);
            }
        }
        next
    }
}

/// Bytes of a cache line.
const LINE_BYTES: usize = 64;

/// Prefetches the first bytes of a record, which will be copied soon.
#[inline]
fn prefetch_record(shards: &Shards, at: Location, bytes: usize) {
    let begin = shards.heap.address(at);
    let mut line = 0;
    while line < bytes {
        prefetch(begin.wrapping_add(line));
        line += LINE_BYTES;
    }
    prefetch(begin.wrapping_add(bytes));
}
