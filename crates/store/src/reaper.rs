//! The reaper: counts what flushed keyspaces held as dead, in slices, and frees their indexes.
//!
//! Entries are taken out as they are counted, so the cleaner, which may meet the same records,
//! and the reaper never count one twice.

use crate::lane::Lane;
use crate::store::Store;
use base::{KeyspaceId, Location, ShardId};
use index::{Position, Slot, prefetch};
use smallvec::SmallVec;

impl Store {
    /// Counts about `records` records of flushed keyspaces as dead; false when there are none.
    /// The lane is inside the gate.
    pub fn reap_some(&self, lane: &Lane, records: usize) -> bool {
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
                let live = unsafe { self.heap.record(*location).live_bytes() };
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
}
