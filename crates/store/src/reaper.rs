//! The reaper: counts what flushed keyspaces and removed collections held as dead, in slices.
//! Removing them takes constant time, so this is put off: a thread of its own does it, and whoever
//! appends while much is waiting.
//!
//! Entries and nodes are taken out as they are counted, so the cleaner, which may meet the same
//! records, and the reaper never count one twice.

use crate::shard::Dying;
use crate::store::Store;
use crate::thread_context::ThreadContext;
use base::{KeyspaceId, Millis, ShardId};
use index::Position;

/// Removed records that are counted as dead in one go.
pub(crate) const REAPED_AT_ONCE: usize = 1024;
/// Nodes that are taken out under one hold of the owner's lock.
const NODES_PER_HOLD: usize = 64;
/// Bytes that may wait for the thread that reaps without anybody else paying for them.
const DYING_FREE: u64 = 4 << 20;
/// Bytes that a writer reaps for each that it appends, while more than those wait.
const REAPED_PER_APPENDED: u64 = 2;
/// Bytes that could be walked over in the time that one record takes.
pub(crate) const RECORD_COST: u64 = 64;

/// The reaper looks at no deadline.
const NO_TIME: Millis = Millis(0);

/// What was counted as dead.
#[derive(Clone, Copy, Debug, Default)]
struct Reaped {
    /// Records, and collections and keyspaces that were found empty.
    records: usize,
    /// Their live bytes.
    bytes: u64,
}

impl Reaped {
    fn add(&mut self, other: Reaped) {
        self.records += other.records;
        self.bytes += other.bytes;
    }

    /// Bytes that could be walked over in the same time.
    fn cost(self) -> u64 {
        self.bytes.max(self.records as u64 * RECORD_COST)
    }
}

impl Store {
    /// Counts about `records` records of removed collections and flushed keyspaces as dead; false
    /// when there were none. The thread is inside the gate.
    pub fn reap_some(&self, thread: &mut ThreadContext, records: usize) -> bool {
        self.reap(thread, records).records > 0
    }

    /// A writer's share of the reaping: twice the bytes that it has appended, once more than a few
    /// wait. So what waits does not grow, however busy the thread is that reaps otherwise.
    pub(crate) fn pay_reaper(&self, thread: &mut ThreadContext, appended: u64) {
        let mut owed = REAPED_PER_APPENDED * appended;
        while owed > 0 && self.shards.budget.dying() > DYING_FREE {
            let reaped = self.reap(thread, NODES_PER_HOLD);
            if reaped.records == 0 {
                return;
            }
            owed = owed.saturating_sub(reaped.cost());
        }
    }

    fn reap(&self, thread: &mut ThreadContext, most: usize) -> Reaped {
        let mut reaped = Reaped::default();
        while reaped.records < most {
            let left = most - reaped.records;
            if let Some(dying) = self.shards.next_dying() {
                reaped.add(self.reap_collection(thread, dying, left));
            } else if let Some(keyspace) = self.shards.keyspaces.take_dying() {
                reaped.add(self.reap_keyspace(thread, keyspace, left));
            } else {
                break;
            }
        }
        reaped
    }

    /// Takes entries out of a keyspace that nobody can reach, and frees its id after the last.
    fn reap_keyspace(
        &self,
        thread: &mut ThreadContext,
        keyspace: KeyspaceId,
        most: usize,
    ) -> Reaped {
        let mut reaped = Reaped { records: 1, bytes: 0 };
        for shard in ShardId::all() {
            if !self.shards.counts(keyspace, shard).is_empty() {
                reaped.add(self.reap_shard(thread, keyspace, shard, most));
                if reaped.records >= most {
                    self.shards.keyspaces.put_back(keyspace);
                    return reaped;
                }
            }
        }
        for shard in ShardId::all() {
            self.shards.lock_quietly(thread, shard, NO_TIME).clear(keyspace, shard);
        }
        self.shards.keyspaces.free(keyspace);
        reaped
    }

    fn reap_shard(
        &self,
        thread: &mut ThreadContext,
        keyspace: KeyspaceId,
        shard: ShardId,
        most: usize,
    ) -> Reaped {
        let (mut reaped, mut at) = (Reaped::default(), Some(Position::of_shard(shard)));
        while let Some(from) = at.filter(|_| reaped.records < most) {
            let mut guard = self.shards.lock_quietly(thread, shard, NO_TIME);
            at =
                guard.reap_bucket(keyspace, from, |bytes| reaped.add(Reaped { records: 1, bytes }));
        }
        reaped
    }

    /// Takes nodes out of a collection that nobody can reach, and closes it after the last.
    fn reap_collection(&self, thread: &mut ThreadContext, mut dying: Dying, most: usize) -> Reaped {
        let mut reaped = Reaped { records: 1, bytes: 0 };
        while reaped.records < most {
            let guard = self.shards.lock_owner(thread, dying.id, NO_TIME);
            let Some(mut guard) = guard else { return reaped };
            let Some(mut nodes) = guard.collection(dying.id) else { return reaped };
            let end = nodes.end();
            if dying.next >= end {
                guard.close_collection(dying.id);
                return reaped;
            }
            let count = narrow::to_u32((most - reaped.records).min(NODES_PER_HOLD));
            let next = end.min(dying.next + count);
            let bytes = nodes.drop_nodes(dying.next..next);
            reaped.add(Reaped { records: (next - dying.next) as usize, bytes });
            dying.next = next;
        }
        self.shards.put_back(dying);
        reaped
    }
}
