//! Collections as the cleaner and lazy free see them: nodes in records, whatever they mean.

use super::append::copy_out;
use super::collections::CollectionId;
use super::frozen::Frozen;
use super::guard::Guard;
use super::node_table::NodeTable;
use super::nodes::{footprint_of, whole};
use base::{KeyspaceId, Location};
use heap::Head;
use index::Index;
use smallvec::SmallVec;
use tree::NodeId;

/// Nodes that are prefetched before the first of them is removed, without an allocation.
const NODES_AHEAD: usize = 64;

/// What a removal of some nodes did.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dropped {
    /// Number of nodes that were removed.
    pub nodes: usize,
    /// Their live bytes.
    pub bytes: u64,
    /// Number from which on there may be others; `None` after the last.
    pub next: Option<NodeId>,
}

impl<'a> Guard<'a> {
    /// A collection as a whole, whose owner's shard is locked; `None` if it is closed.
    ///
    /// # Panics
    /// If the owner's shard is not locked.
    #[inline]
    pub fn collection(&mut self, id: CollectionId) -> Option<CollectionMut<'_, 'a>> {
        let (shards, owner) = (self.shards, self.shards.collections.owner(id));
        self.assert_held(owner.shard());
        // SAFETY: the shard is locked, and the guard is borrowed exclusively.
        let (table, frozen) = unsafe { shards.collections.tables_mut(id) }?;
        let keyspace = shards.collections.keyspace(id);
        let index = shards.indexes.get(keyspace, owner.shard());
        Some(CollectionMut { guard: self, table, frozen, index, id, keyspace })
    }
}

/// A collection as the cleaner and lazy free see it: nodes in records, whatever they mean.
#[derive(Debug)]
pub(crate) struct CollectionMut<'x, 'a> {
    guard: &'x mut Guard<'a>,
    table: &'x mut NodeTable,
    frozen: Option<&'x mut Frozen>,
    index: &'a Index,
    id: CollectionId,
    keyspace: KeyspaceId,
}

impl<'a> CollectionMut<'_, 'a> {
    /// Live bytes of the records of all nodes.
    pub fn live_bytes(&self) -> u64 {
        self.table.live_bytes
    }

    /// Returns true if neither a client nor a snapshot can reach the collection any more.
    pub fn is_dying(&self) -> bool {
        let shards = self.guard.shards;
        let is_lost = shards.collections.is_dying(self.id) || shards.is_dying(self.keyspace);
        is_lost && !self.is_frozen()
    }

    /// Returns true if a snapshot still reads the collection.
    pub fn is_frozen(&self) -> bool {
        self.frozen.is_some()
    }

    /// Location of a node; `None` if there is none with that number.
    pub fn find(&self, node: NodeId) -> Option<Location> {
        self.table.find(node)
    }

    /// Returns true if the record at `at` is alive as a node: for clients, or for a snapshot.
    pub fn names(&self, node: NodeId, at: Location) -> bool {
        self.find(node) == Some(at) || self.is_read_at(node, at)
    }

    fn is_read_at(&self, node: NodeId, at: Location) -> bool {
        self.frozen.as_ref().is_some_and(|frozen| frozen.names(node, at))
    }

    /// One more than the highest number of a node.
    #[cfg(test)]
    pub fn end(&self) -> NodeId {
        self.table.end()
    }

    /// Live bytes of the record of a node, which is named at `at`.
    pub fn live_bytes_of(&self, node: NodeId, at: Location) -> u32 {
        assert!(self.names(node, at));
        // SAFETY: the owner's shard is locked, and a table names the record.
        unsafe { footprint_of(&self.guard.shards.heap.record(at)).live }
    }

    /// Removes up to `most` nodes, from number `from` on, of a collection that no client can reach
    /// any more. Looks at no more than one group of the table in which there are entries.
    pub fn drop_nodes(&mut self, from: NodeId, most: usize) -> Dropped {
        let Some(numbers) = self.table.group_from(from) else {
            return Dropped { nodes: 0, bytes: 0, next: None };
        };
        let end = numbers.end;
        let found: SmallVec<[(NodeId, Location); NODES_AHEAD]> =
            numbers.filter_map(|node| Some((node, self.find(node)?))).take(most).collect();
        found.iter().for_each(|(_, at)| self.guard.shards.prefetch(*at));
        let bytes = found.iter().map(|(node, _)| self.drop_node(*node)).sum();
        let last = found.last().filter(|_| found.len() >= most);
        let next = last.map_or(end, |(node, _)| node + 1);
        let next = self.table.group_from(next).map(|numbers| numbers.start);
        Dropped { nodes: found.len(), bytes, next }
    }

    /// Removes a node, if it exists, of a collection that no client can reach any more; returns its
    /// live bytes.
    pub fn drop_node(&mut self, node: NodeId) -> u64 {
        assert!(!self.is_frozen(), "a snapshot still reads it");
        let shards = self.guard.shards;
        let Some(at) = self.find(node) else { return 0 };
        // SAFETY: the owner's shard is locked, and the table names the record.
        let footprint = unsafe { footprint_of(&shards.heap.record(at)) };
        self.table.free(node);
        self.table.live_bytes -= u64::from(footprint.live);
        // SAFETY: the table names the record no more, and nothing reads it afterwards.
        unsafe { shards.heap.mark_dead(at, footprint) };
        shards.budget.freed(u64::from(footprint.live));
        self.guard.thread.counters.lose(footprint);
        u64::from(footprint.live)
    }

    /// Moves the record of a node, which is named at `at`, to another head; returns false if there
    /// is no room for it. The caller recycles the segment that the record leaves.
    pub fn relocate(
        &mut self,
        (node, at): (NodeId, Location),
        survivors: &mut Head,
        trims: bool,
    ) -> bool {
        assert!(self.names(node, at));
        let Guard { shards, now, .. } = *self.guard;
        // SAFETY: the owner's shard is locked, and a table names the record.
        let moved = unsafe {
            let record = shards.heap.record(at);
            copy_out(shards, survivors, &record, (self.keyspace, true), trims, now)
        };
        let Some(moved) = moved else { return false };
        if let Some(frozen) = &self.frozen {
            let is_lost = shards.collections.is_dying(self.id) && !frozen.is_counted;
            match self.find(node) == Some(at) {
                true if is_lost => shards.count_retained(moved.gained()),
                true => {}
                false => shards.count_retained(whole(moved.after) - whole(moved.before)),
            }
        }
        if let Some(frozen) = self.frozen.as_mut().filter(|frozen| frozen.names(node, at)) {
            frozen.set(node, moved.to);
        }
        if self.find(node) == Some(at) {
            self.table.set(node, moved.to);
            self.table.live_bytes = self.table.live_bytes.wrapping_add_signed(moved.gained());
            // Bytes of a collection that its key has lost belong to no keyspace.
            if !shards.collections.is_dying(self.id) {
                self.index.add_bytes(moved.gained());
            }
        }
        moved.count(self.guard.thread);
        true
    }

    /// Lets go of up to `most` nodes that a snapshot has read, from `from` on: those that no client
    /// can reach any more count as dead then. Returns where to go on; `None` after the last node,
    /// when nothing is frozen any more.
    pub fn let_go_frozen(&mut self, from: NodeId, most: NodeId) -> Option<NodeId> {
        let shards = self.guard.shards;
        let frozen = self.frozen.as_mut()?;
        let end = frozen.end().min(from.saturating_add(most));
        for node in from..end {
            let Some(at) = frozen.find(node) else { continue };
            frozen.let_go(node);
            if self.table.find(node) != Some(at) {
                // SAFETY: the owner's shard is locked, and the frozen table named the record.
                let footprint = unsafe { footprint_of(&shards.heap.record(at)) };
                // SAFETY: neither table names the record, and nothing reads it afterwards.
                unsafe { shards.heap.mark_dead(at, footprint) };
                self.guard.thread.counters.lose(footprint);
                shards.count_retained(-whole(footprint));
            }
        }
        (end < frozen.end()).then_some(end)
    }
}
