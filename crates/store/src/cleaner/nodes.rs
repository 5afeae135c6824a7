//! Nodes of collections in a victim: moved, or dropped with the key that owns them.

use crate::access::tree_of;
use crate::cleaner::Cleaner;
use crate::collections::{CollectionId, parse_node_name};
use crate::lane::Lane;
use crate::store::Store;
use crate::weight::weight_of;
use base::{KeyspaceId, Location, Millis, PositionHash};
use heap::Record;
use index::{Entry, Index, Slot};
use tree::NodeId;

impl Store {
    /// Moves or drops the node in a record if it is alive; false when there is no room for it.
    pub(super) fn settle_node(
        &self,
        lane: &mut Lane,
        cleaner: &mut Cleaner,
        at: Location,
        record: &Record<'_>,
        now: Millis,
    ) -> bool {
        let Some((id, node)) = parse_node_name(record.key()) else { return true };
        let Some(_held) = self.hold_owner(id) else { return true };
        // SAFETY: the owner's shard is locked.
        let table = unsafe { self.collections.table(id) };
        let Some(table) = table.filter(|table| table.find(node) == Some(at)) else { return true };
        let all_bytes = table.live_bytes.max(1);
        let (keyspace, hash) = (self.collections.keyspace(id), self.collections.owner(id));
        let index = self.indexes.get(keyspace, hash.shard());
        if self.collections.is_dying(id) || self.is_dying(keyspace) {
            self.drop_node(lane, (id, node), record);
            return true;
        }
        // SAFETY: the owner's shard is locked.
        let part = unsafe { record.live_bytes() } as f32 / all_bytes as f32;
        let is_cold = cleaner.evicts && self.evict_cold_owner(lane, cleaner, id, part, now);
        if !is_cold {
            if self.relocate_node(lane, cleaner, record, (id, node), index, now) {
                return true;
            }
            // The budget may have shrunk below what is in use, so that nothing can be moved.
            let found = self.find_entry_of(index, hash, id);
            if !found.is_some_and(|found| self.evict_found(lane, index, found, now)) {
                return false;
            }
        }
        self.drop_node(lane, (id, node), record);
        true
    }

    fn is_dying(&self, keyspace: KeyspaceId) -> bool {
        self.budget.dying() > 0 && self.keyspaces.is_dying(keyspace)
    }

    /// Takes a node that nobody can reach out of its table. Its record dies with the victim. The
    /// owner's shard is locked.
    fn drop_node(&self, lane: &Lane, (id, node): (CollectionId, NodeId), record: &Record<'_>) {
        // SAFETY: the owner's shard is locked, and no other reference to the table lives.
        let (weight, table) = unsafe { (weight_of(record), self.collections.table_mut(id)) };
        let Some(table) = table else { return };
        table.free(node);
        table.live_bytes -= u64::from(weight.live);
        lane.counters.lose(weight);
        self.budget.reaped(u64::from(weight.live));
    }

    /// Evicts the key that owns a collection, of which a part was met, if it is among the coldest.
    fn evict_cold_owner(
        &self,
        lane: &mut Lane,
        cleaner: &mut Cleaner,
        id: CollectionId,
        part: f32,
        now: Millis,
    ) -> bool {
        let (keyspace, hash) = (self.collections.keyspace(id), self.collections.owner(id));
        let index = self.indexes.get(keyspace, hash.shard());
        let Some((slot, entry)) = self.find_entry_of(index, hash, id) else { return false };
        // SAFETY: the shard is locked, and its index names the record.
        let deadline = unsafe { self.heap.record(entry.location()).deadline() };
        self.is_cold(lane, cleaner, (entry, part), deadline, now)
            && self.evict_found(lane, index, (slot, entry), now)
    }

    /// Evicts the key that owns the node at `at`, if that is still alive and the policy allows.
    pub(super) fn evict_owner_of(
        &self,
        lane: &mut Lane,
        at: Location,
        (id, node): (CollectionId, NodeId),
        now: Millis,
    ) -> bool {
        let Some(_held) = self.hold_owner(id) else { return false };
        // SAFETY: the owner's shard is locked.
        let table = unsafe { self.collections.table(id) };
        if table.is_none_or(|table| table.find(node) != Some(at)) {
            return false;
        }
        let (keyspace, hash) = (self.collections.keyspace(id), self.collections.owner(id));
        let index = self.indexes.get(keyspace, hash.shard());
        let found = self.find_entry_of(index, hash, id);
        found.is_some_and(|found| self.evict_found(lane, index, found, now))
    }

    /// The entry of the key that owns a collection. Its shard is locked.
    fn find_entry_of(
        &self,
        index: &Index,
        hash: PositionHash,
        id: CollectionId,
    ) -> Option<(Slot, Entry)> {
        index.find(&self.blocks, hash, |entry: Entry| {
            // SAFETY: the shard is locked, and its index names the record.
            entry.kind() != 0 && unsafe { tree_of(&self.heap.record(entry.location())) } == Some(id)
        })
    }

    /// Hands the collection of a dropped key over to the reaper; returns the bytes of its nodes.
    /// The owner's shard is locked.
    pub(crate) fn retire_collection(
        &self,
        index: &Index,
        keyspace: KeyspaceId,
        id: CollectionId,
    ) -> u64 {
        // SAFETY: the owner's shard is locked.
        let bytes = unsafe { self.collections.table(id) }.map_or(0, |table| table.live_bytes);
        index.add_bytes(-(bytes as i64));
        if !self.keyspaces.is_dying(keyspace) {
            // Those of a flushed keyspace were counted when it was flushed.
            self.budget.retire(bytes);
        }
        self.collections.retire(id);
        bytes
    }

    fn relocate_node(
        &self,
        lane: &Lane,
        cleaner: &mut Cleaner,
        record: &Record<'_>,
        (id, node): (CollectionId, NodeId),
        index: &Index,
        now: Millis,
    ) -> bool {
        // SAFETY: the owner's shard is locked, and no other reference to the table lives.
        let Some(table) = (unsafe { self.collections.table_mut(id) }) else { return true };
        // SAFETY: the owner's shard is locked, and the table names the record.
        let moved = unsafe { cleaner.copy_out(self, record, self.collections.keyspace(id), now) };
        let Some(moved) = moved else { return false };
        table.set(node, moved.to);
        table.live_bytes = table.live_bytes.wrapping_add_signed(moved.gained());
        index.add_bytes(moved.gained());
        moved.count(lane);
        true
    }
}
