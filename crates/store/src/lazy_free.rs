//! Lazy free: counts what flushed keyspaces and removed collections held as dead, in slices.
//! Removing them takes constant time; this work is put off to a thread of its own, and to writers
//! while much is waiting.
//!
//! Entries and nodes are taken out as they are counted, so lazy free and the cleaner, which may
//! meet the same records, never count one twice.

use crate::key::Key;
use crate::keyspaces::DyingKeyspace;
use crate::shard::{Dying, ThreadContext};
use crate::store::Store;
use base::{KeyspaceId, Millis, ShardId};
use index::Position;
use tree::NodeId;

/// Removed records that are counted as dead in one go.
pub(crate) const FREED_AT_ONCE: usize = 1024;
/// Nodes that are taken out under one hold of the owner's lock.
const NODES_PER_HOLD: usize = 64;
/// Bytes that may wait for lazy free before writers help.
const DYING_FREE: u64 = 4 << 20;
/// Bytes that a writer frees for each byte that it appends, while more than `DYING_FREE` wait.
const FREED_PER_APPENDED: u64 = 2;
/// Bytes of segments that could be cleaned in the time that freeing one record takes.
pub(crate) const RECORD_COST: u64 = 64;

/// Time of the guard: lazy free looks at no deadline.
const NO_TIME: Millis = Millis(0);

/// Amount that was counted as dead.
#[derive(Clone, Copy, Debug, Default)]
struct Freed {
    /// Number of records, and of buckets, collections and keyspaces that were found empty.
    records: usize,
    /// Live bytes of those records.
    bytes: u64,
}

impl Freed {
    fn add(&mut self, other: Freed) {
        self.records += other.records;
        self.bytes += other.bytes;
    }

    /// Bytes of segments that could be cleaned in the same time.
    fn cost(self) -> u64 {
        self.bytes.max(self.records as u64 * RECORD_COST)
    }
}

impl Store {
    /// Counts about `records` records of removed collections and flushed keyspaces as dead; returns
    /// false when there were none. The thread is inside the gate.
    pub fn free_some(&self, thread: &mut ThreadContext, records: usize) -> bool {
        self.free_lazily(thread, records).records > 0
    }

    /// Removed collections, and keys of flushed keyspaces, that lazy free has not finished.
    pub fn waiting_for_lazy_free(&self) -> u64 {
        let keys = |keyspace| self.shards.counts_of(keyspace).map(|index| index.len()).sum::<u64>();
        let flushed: u64 = self.shards.keyspaces.dying().into_iter().map(keys).sum();
        // One of them may be in work at this moment, and in neither list.
        let in_work = u64::from(self.shards.budget.dying() > 0);
        (flushed + self.shards.dying_collections()).max(in_work)
    }

    /// Does a writer's share of lazy free: twice the bytes that it has appended, while more than
    /// `DYING_FREE` wait. So the backlog does not grow, however busy the thread for lazy free is.
    pub(crate) fn pay_for_lazy_free(&self, thread: &mut ThreadContext, appended: u64) {
        let mut owed = FREED_PER_APPENDED * appended;
        while owed > 0 && self.shards.budget.dying() > DYING_FREE {
            let freed = self.free_lazily(thread, NODES_PER_HOLD);
            if freed.records == 0 {
                return;
            }
            owed = owed.saturating_sub(freed.cost());
        }
    }

    fn free_lazily(&self, thread: &mut ThreadContext, most: usize) -> Freed {
        self.take_given_up(thread);
        let mut freed = Freed::default();
        while freed.records < most {
            let left = most - freed.records;
            if let Some(dying) = self.shards.next_dying() {
                freed.add(self.free_collection(thread, dying, left));
            } else if let Some(dying) = self.shards.keyspaces.take_dying() {
                freed.add(self.free_keyspace(thread, dying, left));
            } else {
                break;
            }
        }
        freed
    }

    /// Takes over staged values whose receivers are gone.
    fn take_given_up(&self, thread: &mut ThreadContext) {
        let given_up = std::mem::take(&mut *self.shards.given_up.lock());
        for (hash, id) in given_up {
            let mut guard = self.shards.lock_quietly(thread, hash.shard(), NO_TIME);
            let key = Key { bytes: b"", hash, keyspace: guard.staging() };
            guard.give_up(&key, id);
        }
    }

    /// Takes entries out of a keyspace that no client can reach, and frees its id after the last.
    fn free_keyspace(
        &self,
        thread: &mut ThreadContext,
        dying: DyingKeyspace,
        most: usize,
    ) -> Freed {
        let keyspace = dying.id;
        let mut freed = Freed { records: 1, bytes: 0 };
        let mut at = self.next_entries(keyspace, Some(dying.next));
        while let Some(from) = at {
            let (of_bucket, next) = self.free_bucket(thread, keyspace, from);
            freed.add(of_bucket);
            at = self.next_entries(keyspace, next.or_else(|| from.next_shard()));
            if let Some(next) = at.filter(|_| freed.records >= most) {
                self.shards.keyspaces.put_back(DyingKeyspace { id: keyspace, next });
                return freed;
            }
        }
        for shard in ShardId::all() {
            self.shards.lock_quietly(thread, shard, NO_TIME).clear(keyspace, shard);
        }
        self.shards.keyspaces.free(keyspace);
        freed
    }

    /// Returns `at`, or where the next shard that has entries begins. Behind the last shard the
    /// walk begins anew, so none has entries when this is `None`.
    fn next_entries(&self, keyspace: KeyspaceId, at: Option<Position>) -> Option<Position> {
        let has_entries =
            |at: &Position| !self.shards.counts(keyspace, at.hash().shard()).is_empty();
        let mut ahead = std::iter::successors(at, |at| at.next_shard());
        let all = || ShardId::all().map(Position::of_shard).find(has_entries);
        ahead.find(has_entries).or_else(all)
    }

    /// Takes the entries of one bucket out; returns where to go on in its shard.
    fn free_bucket(
        &self,
        thread: &mut ThreadContext,
        keyspace: KeyspaceId,
        from: Position,
    ) -> (Freed, Option<Position>) {
        let (mut freed, mut finished) = (Freed::default(), 0);
        let mut guard = self.shards.lock_quietly(thread, from.hash().shard(), NO_TIME);
        let next = guard.free_bucket(keyspace, from, |bytes, collection| {
            freed.add(Freed { records: 1, bytes });
            // A collection counts once its nodes are freed.
            finished += u64::from(collection.is_none());
        });
        guard.thread().counters.lazily_freed.add(finished);
        // Where others have taken all entries out, the walk over empty buckets is the work.
        freed.records = freed.records.max(1);
        (freed, next)
    }

    /// Takes nodes out of a collection that no client can reach, and closes it after the last.
    fn free_collection(&self, thread: &mut ThreadContext, mut dying: Dying, most: usize) -> Freed {
        let mut freed = Freed::default();
        loop {
            let left = most.saturating_sub(freed.records).clamp(1, NODES_PER_HOLD);
            let (of_hold, next) = self.free_nodes(thread, dying, left);
            freed.add(of_hold);
            let Some(next) = next else { return freed };
            dying.next = next;
            if freed.records >= most {
                self.shards.put_back(dying);
                return freed;
            }
        }
    }

    /// Takes up to `most` nodes out of a collection under one hold of its owner's lock; returns
    /// where to go on, or `None` after it was closed.
    fn free_nodes(
        &self,
        thread: &mut ThreadContext,
        dying: Dying,
        most: usize,
    ) -> (Freed, Option<NodeId>) {
        let nothing = Freed { records: 1, bytes: 0 };
        let guard = self.shards.lock_owner(thread, dying.id, NO_TIME);
        let Some(mut guard) = guard else { return (nothing, None) };
        let Some(mut nodes) = guard.collection(dying.id) else { return (nothing, None) };
        let dropped = nodes.drop_nodes(dying.next, most);
        if dropped.next.is_none() {
            guard.close_collection(dying.id);
            guard.thread().counters.lazily_freed.add(1);
        }
        // Numbers without a node earn a writer nothing: a value may have far more of them than
        // anybody wrote. The hold itself is work.
        (Freed { records: dropped.nodes.max(1), bytes: dropped.bytes }, dropped.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::access::Access;
    use crate::databases::Flush;
    use crate::key::{Encoding, Expiry, Key};
    use crate::store::StoreConfig;
    use crate::value::bitmap;
    use crate::value::long_string::CHUNK_BYTES;
    use base::KeyHasher;

    const KEYS: usize = 20_000;
    const NOW: Millis = Millis(1_000_000);

    struct World {
        store: Store,
        thread: ThreadContext,
    }

    impl World {
        fn new() -> World {
            let hasher = KeyHasher::from_seed(1);
            let config = StoreConfig { databases: 1, hasher, address_space: Some(256 << 20) };
            let store = Store::new(config).expect("address space");
            let thread = store.thread_context().expect("the first thread");
            World { store, thread }
        }

        fn on(&mut self, name: &[u8], act: impl FnOnce(&mut Access<'_>, &Key<'_>)) {
            let World { store, thread } = self;
            store.enter(thread);
            let key = store.key(store.keyspace(0).expect("one"), name);
            store.reserve(thread, 1_000, NOW).expect("room");
            act(&mut store.lock(thread, &key, NOW).muted(), &key);
            store.leave(thread);
        }

        /// Flushes many keys; returns the number of their records and buckets.
        fn flush_many(&mut self) -> usize {
            for number in 0..KEYS {
                self.on(format!("key:{number}").as_bytes(), |access, key| {
                    let set = access.set_string(key, b"value", Encoding::Raw, Expiry::Never);
                    set.expect("room");
                });
            }
            let buckets = narrow::to_usize(self.store.index_places(0)) / 7;
            assert_eq!(self.store.flush(&mut self.thread, Flush::All), KEYS as u64);
            KEYS + buckets
        }
    }

    #[test]
    fn slices_of_a_flushed_keyspace_meet_each_of_its_buckets_once() {
        let mut world = World::new();
        let all = world.flush_many();
        let (mut met, mut slices) = (0, 0);
        while world.store.waiting_for_lazy_free() > 0 {
            met += world.store.free_lazily(&mut world.thread, 64).records;
            slices += 1;
            assert!(met <= all + slices, "{met} of {all} in {slices} slices");
        }
        assert!(slices > KEYS / 100, "{slices} slices");
        assert_eq!(world.store.live_bytes(), 0);
    }

    #[test]
    fn an_entry_behind_the_position_is_freed_before_the_keyspace_is() {
        let mut world = World::new();
        world.flush_many();
        let keyspaces = &world.store.shards.keyspaces;
        let (free, dying) = (keyspaces.free_ids(), keyspaces.take_dying().expect("it was flushed"));
        let next = Position::of_shard(ShardId(u8::MAX));
        keyspaces.put_back(DyingKeyspace { next, ..dying });
        while world.store.free_some(&mut world.thread, 64) {}
        assert_eq!(world.store.shards.keyspaces.free_ids(), free + 1);
        assert_eq!(world.store.live_bytes(), 0);
        assert_eq!(world.thread.counters.lazily_freed.get(), KEYS as u64);
    }

    #[test]
    fn holes_of_removed_strings_earn_writers_nothing() {
        const STRINGS: usize = 100;
        let mut world = World::new();
        let last_chunk = (1 << 32) - 8 * CHUNK_BYTES as u64;
        for _ in 0..STRINGS {
            world.on(b"sparse", |access, key| {
                bitmap::set(access, key, last_chunk, true).expect("room");
                assert!(access.remove(key));
            });
        }
        let appended = world.thread.counters.appended_bytes.get();
        let mut freed = Freed::default();
        while world.store.waiting_for_lazy_free() > 0 {
            freed.add(world.store.free_lazily(&mut world.thread, NODES_PER_HOLD));
            assert!(freed.cost() <= appended, "{freed:?} of {appended} bytes");
        }
        assert!(freed.records >= STRINGS);
        assert_eq!(world.store.live_bytes(), 0);
    }
}
