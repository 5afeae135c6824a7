//! The reaper: counts what flushed keyspaces and removed collections held as dead, in slices.
//!
//! Entries and nodes are taken out as they are counted, so the cleaner, which may meet the same
//! records, and the reaper never count one twice.

use crate::access::tree_of;
use crate::collections::Dying;
use crate::lane::Lane;
use crate::store::Store;
use base::{KeyspaceId, Location, ShardId};
use index::{Position, Slot, prefetch};
use smallvec::SmallVec;

/// Nodes that are taken out under one hold of the owner's lock.
const NODES_PER_HOLD: u32 = 64;

impl Store {
    /// Counts about `records` records of removed collections and flushed keyspaces as dead; false
    /// when there are none. The lane is inside the gate.
    pub fn reap_some(&self, lane: &Lane, records: usize) -> bool {
        if let Some(dying) = self.collections.next_dying() {
            self.reap_collection(lane, dying, records);
            return true;
        }
        let Some(keyspace) = self.keyspaces.oldest_dying() else { return false };
        let mut left = records;
        for shard in ShardId::all() {
            let index = self.indexes.get(keyspace, shard);
            if !index.is_empty() {
                left = left.saturating_sub(self.reap_shard(lane, keyspace, shard, left));
                if left == 0 {
                    return true;
                }
            }
        }
        for shard in ShardId::all() {
            let _held = self.hold_one(shard);
            self.indexes.get(keyspace, shard).clear(&self.blocks);
        }
        self.keyspaces.bury(keyspace);
        true
    }

    fn reap_shard(&self, lane: &Lane, keyspace: KeyspaceId, shard: ShardId, most: usize) -> usize {
        let index = self.indexes.get(keyspace, shard);
        let (mut reaped, mut at) = (0, Some(Position::of_shard(shard)));
        while let Some(from) = at.filter(|_| reaped < most) {
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
                let (live, tree) = unsafe { (record.live_bytes(), tree_of(&record)) };
                if let Some(id) = tree {
                    self.retire_collection(index, keyspace, id);
                }
                index.remove(&self.blocks, *slot);
                index.add_bytes(-i64::from(live));
                self.heap.bury(*location, live, true);
                self.budget.reaped(u64::from(live));
                lane.counters.live_bytes.sub(u64::from(live));
            }
            reaped += natives.len();
        }
        reaped
    }

    /// Takes nodes out of a collection that nobody can reach, and closes it after the last.
    fn reap_collection(&self, lane: &Lane, mut dying: Dying, most: usize) {
        let mut left = most;
        while left > 0 {
            let _held = self.hold_owner(dying.id);
            // SAFETY: the owner's shard is locked.
            let table = unsafe { self.collections.table_mut(dying.id) };
            let Some(table) = table.filter(|table| dying.next < table.end()) else {
                // SAFETY: the owner's shard is locked.
                drop(unsafe { self.collections.close(dying.id) });
                return;
            };
            let end = table.end().min(dying.next + NODES_PER_HOLD.min(left as u32));
            let nodes = dying.next..end;
            nodes.clone().filter_map(|node| table.find(node)).for_each(|at| {
                prefetch(self.heap.address(at));
            });
            left = left.saturating_sub(nodes.len());
            for node in nodes {
                let Some(at) = table.find(node) else { continue };
                // SAFETY: the owner's shard is locked, and the table names the record.
                let (live, spare) = unsafe { self.heap.record(at).live_and_gap() };
                table.free(node);
                table.live_bytes -= u64::from(live);
                self.heap.bury_node(at, live, spare);
                self.budget.reaped(u64::from(live));
                lane.counters.live_bytes.sub(u64::from(live));
                lane.counters.spare_bytes.sub(u64::from(spare));
            }
            dying.next = end;
        }
        self.collections.put_back(dying);
    }
}
