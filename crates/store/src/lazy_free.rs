//! Lazy free: counts what flushed keyspaces and removed collections held as dead, in slices.
//! Removing them takes constant time; this work is put off to a thread of its own, and to writers
//! while much is waiting.
//!
//! Entries and nodes are taken out as they are counted, so lazy free and the cleaner, which may
//! meet the same records, never count one twice.

use crate::shard::Dying;
use crate::store::Store;
use crate::thread_context::ThreadContext;
use base::{KeyspaceId, Millis, ShardId};
use index::Position;

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
    /// Number of records, and of collections and keyspaces that were found empty.
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
        let mut freed = Freed::default();
        while freed.records < most {
            let left = most - freed.records;
            if let Some(dying) = self.shards.next_dying() {
                freed.add(self.free_collection(thread, dying, left));
            } else if let Some(keyspace) = self.shards.keyspaces.take_dying() {
                freed.add(self.free_keyspace(thread, keyspace, left));
            } else {
                break;
            }
        }
        freed
    }

    /// Takes entries out of a keyspace that no client can reach, and frees its id after the last.
    fn free_keyspace(
        &self,
        thread: &mut ThreadContext,
        keyspace: KeyspaceId,
        most: usize,
    ) -> Freed {
        let mut freed = Freed { records: 1, bytes: 0 };
        for shard in ShardId::all() {
            if !self.shards.counts(keyspace, shard).is_empty() {
                freed.add(self.free_shard(thread, keyspace, shard, most));
                if freed.records >= most {
                    self.shards.keyspaces.put_back(keyspace);
                    return freed;
                }
            }
        }
        for shard in ShardId::all() {
            self.shards.lock_quietly(thread, shard, NO_TIME).clear(keyspace, shard);
        }
        self.shards.keyspaces.free(keyspace);
        freed
    }

    fn free_shard(
        &self,
        thread: &mut ThreadContext,
        keyspace: KeyspaceId,
        shard: ShardId,
        most: usize,
    ) -> Freed {
        let (mut freed, mut at) = (Freed::default(), Some(Position::of_shard(shard)));
        while let Some(from) = at.filter(|_| freed.records < most) {
            let (mut guard, mut finished) = (self.shards.lock_quietly(thread, shard, NO_TIME), 0);
            at = guard.free_bucket(keyspace, from, |bytes, collection| {
                freed.add(Freed { records: 1, bytes });
                // A collection counts once its nodes are freed.
                finished += u64::from(collection.is_none());
            });
            guard.thread().counters.lazily_freed.add(finished);
        }
        freed
    }

    /// Takes nodes out of a collection that no client can reach, and closes it after the last.
    fn free_collection(&self, thread: &mut ThreadContext, mut dying: Dying, most: usize) -> Freed {
        let mut freed = Freed { records: 1, bytes: 0 };
        while freed.records < most {
            let guard = self.shards.lock_owner(thread, dying.id, NO_TIME);
            let Some(mut guard) = guard else { return freed };
            let Some(mut nodes) = guard.collection(dying.id) else { return freed };
            let end = nodes.end();
            if dying.next >= end {
                guard.close_collection(dying.id);
                guard.thread().counters.lazily_freed.add(1);
                return freed;
            }
            let count = narrow::to_u32((most - freed.records).min(NODES_PER_HOLD));
            let next = end.min(dying.next + count);
            let bytes = nodes.drop_nodes(dying.next..next);
            freed.add(Freed { records: (next - dying.next) as usize, bytes });
            dying.next = next;
        }
        self.shards.put_back(dying);
        freed
    }
}
