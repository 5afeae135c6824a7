//! The reaper: counts what flushed keyspaces and removed collections held as dead, in slices.
//! Removing them takes constant time, so this is put off: a thread of its own does it, and whoever
//! appends while much is waiting.
//!
//! Entries and nodes are taken out as they are counted, so the cleaner, which may meet the same
//! records, and the reaper never count one twice.

use crate::access::tree_of;
use crate::collections::Dying;
use crate::lane::Lane;
use crate::store::Store;
use crate::weight::weight_of;
use base::{KeyspaceId, Location, ShardId};
use index::{Position, Slot, prefetch};
use smallvec::SmallVec;

/// Nodes that are taken out under one hold of the owner's lock.
const NODES_PER_HOLD: u32 = 64;
/// Bytes that may wait for the thread that reaps without anybody else paying for them.
const DYING_FREE: u64 = 4 << 20;
/// Bytes that a writer reaps for each that it appends, while more than those wait.
const REAPED_PER_APPENDED: u64 = 2;
/// Bytes that could be walked over in the time that one record takes.
pub(crate) const RECORD_COST: u64 = 64;

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
    /// when there were none. The lane is inside the gate.
    pub fn reap_some(&self, lane: &Lane, records: usize) -> bool {
        self.reap(lane, records).records > 0
    }

    /// A writer's share of the reaping: twice the bytes that it has appended, once more than a few
    /// wait. So what waits does not grow, however busy the thread is that reaps otherwise.
    pub(crate) fn pay_reaper(&self, lane: &Lane, appended: u64) {
        let mut owed = REAPED_PER_APPENDED * appended;
        while owed > 0 && self.budget.dying() > DYING_FREE {
            let reaped = self.reap(lane, NODES_PER_HOLD as usize);
            if reaped.records == 0 {
                return;
            }
            owed = owed.saturating_sub(reaped.cost());
        }
    }

    fn reap(&self, lane: &Lane, most: usize) -> Reaped {
        let mut reaped = Reaped::default();
        while reaped.records < most {
            let left = most - reaped.records;
            if let Some(dying) = self.collections.next_dying() {
                reaped.add(self.reap_collection(lane, dying, left));
            } else if let Some(keyspace) = self.keyspaces.take_dying() {
                reaped.add(self.reap_keyspace(lane, keyspace, left));
            } else {
                break;
            }
        }
        reaped
    }

    /// Takes entries out of a keyspace that nobody can reach, and frees its id after the last.
    fn reap_keyspace(&self, lane: &Lane, keyspace: KeyspaceId, most: usize) -> Reaped {
        let mut reaped = Reaped { records: 1, bytes: 0 };
        for shard in ShardId::all() {
            if !self.indexes.get(keyspace, shard).is_empty() {
                reaped.add(self.reap_shard(lane, keyspace, shard, most));
                if reaped.records >= most {
                    self.keyspaces.put_back(keyspace);
                    return reaped;
                }
            }
        }
        for shard in ShardId::all() {
            let _held = self.hold_one(shard);
            self.indexes.get(keyspace, shard).clear(&self.blocks);
        }
        self.keyspaces.free(keyspace);
        reaped
    }

    fn reap_shard(&self, lane: &Lane, keyspace: KeyspaceId, shard: ShardId, most: usize) -> Reaped {
        let index = self.indexes.get(keyspace, shard);
        let (mut reaped, mut at) = (Reaped::default(), Some(Position::of_shard(shard)));
        while let Some(from) = at.filter(|_| reaped.records < most) {
            let _held = self.hold_one(shard);
            let mut natives: SmallVec<[(Slot, Location); 16]> = SmallVec::new();
            at = index.scan_line(&self.blocks, from, |slot, entry| {
                prefetch(self.heap.address(entry.location()));
                natives.push((slot, entry.location()));
            });
            for (slot, location) in &natives {
                // SAFETY: the shard is locked, and the location stands in its index.
                let record = unsafe { self.heap.record(*location) };
                // SAFETY: as above.
                let (weight, tree) = unsafe { (weight_of(&record), tree_of(&record)) };
                if let Some(id) = tree {
                    self.retire_collection(index, keyspace, id);
                }
                index.remove(&self.blocks, *slot);
                index.add_bytes(-i64::from(weight.live));
                self.heap.bury(*location, weight);
                self.budget.reaped(u64::from(weight.live));
                lane.counters.lose(weight);
                reaped.add(Reaped { records: 1, bytes: u64::from(weight.live) });
            }
        }
        reaped
    }

    /// Takes nodes out of a collection that nobody can reach, and closes it after the last.
    fn reap_collection(&self, lane: &Lane, mut dying: Dying, most: usize) -> Reaped {
        let mut reaped = Reaped { records: 1, bytes: 0 };
        while reaped.records < most {
            let Some(_held) = self.hold_owner(dying.id) else { return reaped };
            // SAFETY: the owner's shard is locked.
            let table = unsafe { self.collections.table_mut(dying.id) };
            let Some(table) = table.filter(|table| dying.next < table.end()) else {
                // SAFETY: the owner's shard is locked.
                drop(unsafe { self.collections.close(dying.id) });
                return reaped;
            };
            let count = NODES_PER_HOLD.min((most - reaped.records) as u32);
            let nodes = dying.next..table.end().min(dying.next + count);
            nodes.clone().filter_map(|node| table.find(node)).for_each(|at| {
                prefetch(self.heap.address(at));
            });
            dying.next = nodes.end;
            for node in nodes {
                reaped.records += 1;
                let Some(at) = table.find(node) else { continue };
                // SAFETY: the owner's shard is locked, and the table names the record.
                let weight = unsafe { weight_of(&self.heap.record(at)) };
                table.free(node);
                table.live_bytes -= u64::from(weight.live);
                self.heap.bury(at, weight);
                self.budget.reaped(u64::from(weight.live));
                lane.counters.lose(weight);
                reaped.bytes += u64::from(weight.live);
            }
        }
        self.collections.put_back(dying);
        reaped
    }
}
