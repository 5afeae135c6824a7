//! The nodes of values that are trees, to be changed, moved and freed.

use super::collections::{CollectionId, GivenUp, Noted, node_name};
use super::frozen::Frozen;
use super::guard::Guard;
use super::node_table::NodeTable;
use super::read_nodes::{ReadNodes, record};
use super::shards::Shards;
use crate::fault::NoSpace;
use crate::key::Key;
use base::{KeyspaceId, Location};
use heap::{Draft, Footprint, Heap, NoAttributes, Purpose, Record};
use index::Index;
use std::sync::Arc;
use tree::{NODE_BYTES, NODE_ROOM, NoRoom, NodeId, NodesMut};

/// The nodes of one collection, to be changed.
#[derive(Debug)]
pub(crate) struct WriteNodes<'x, 'a> {
    guard: &'x mut Guard<'a>,
    table: &'x mut NodeTable,
    /// What a snapshot still reads; its nodes are copied before they change.
    frozen: Option<&'x mut Frozen>,
    index: &'a Index,
    id: CollectionId,
    keyspace: KeyspaceId,
}

/// Footprint of a node's record: it grows bit by bit, so its slack is growth room.
///
/// # Safety
/// The caller holds the lock of the owner's shard, whose table names the record.
#[inline]
pub(super) unsafe fn footprint_of(record: &Record<'_>) -> Footprint {
    // SAFETY: as the caller says.
    unsafe { record.footprint(true) }
}

/// Bytes that a node takes for a snapshot: room that it no more grows into too.
pub(super) fn whole(footprint: Footprint) -> i64 {
    i64::from(footprint.live) + i64::from(footprint.growth)
}

impl<'a> Guard<'a> {
    /// The nodes of a collection that belongs to a key, to be changed.
    ///
    /// # Panics
    /// If there is no such collection, or it belongs to another shard.
    #[inline]
    pub(super) fn write_nodes(&mut self, key: &Key<'_>, id: CollectionId) -> WriteNodes<'_, 'a> {
        let (shards, index) = (self.shards, self.index(key));
        debug_assert_eq!(shards.collections.owner(id), key.hash);
        // SAFETY: the shard is locked, and the guard is borrowed exclusively.
        let tables = unsafe { shards.collections.tables_mut(id) };
        let (table, frozen) = tables.expect("a collection has a table");
        WriteNodes { guard: self, table, frozen, index, id, keyspace: key.keyspace }
    }

    /// The nodes of a collection of a locked shard; `None` if it is closed.
    pub fn nodes_of(&self, id: CollectionId) -> Option<ReadNodes<'_>> {
        self.assert_held(self.shards.collections.owner(id).shard());
        // SAFETY: the shard is locked, and changes need the guard exclusively.
        unsafe { ReadNodes::of(self.shards, id) }
    }

    /// Keyspace of values that are received before a key gets them.
    pub fn staging(&self) -> KeyspaceId {
        self.shards.keyspaces.staging()
    }

    /// Collections that became no key's value and were dropped without a lock.
    pub fn given_up(&self) -> &Arc<GivenUp> {
        &self.shards.given_up
    }

    /// Opens a collection without nodes for a key.
    ///
    /// # Errors
    /// When there are too many.
    pub(super) fn new_collection(&mut self, key: &Key<'_>) -> Result<CollectionId, NoSpace> {
        self.assert_held(key.hash.shard());
        // SAFETY: the shard is locked.
        let opened = unsafe { self.shards.collections.open(key.hash, key.keyspace) };
        opened.ok_or_else(|| {
            self.note_refusal();
            NoSpace
        })
    }

    /// Closes a collection, after its last node is gone.
    pub fn close_collection(&mut self, id: CollectionId) {
        self.assert_held(self.shards.collections.owner(id).shard());
        // SAFETY: the owner's shard is locked, and no reference to the table lives.
        drop(unsafe { self.shards.collections.close(id) });
    }

    /// Copies all nodes of a collection, under the same numbers, for another key.
    ///
    /// # Errors
    /// When there is no room for them; nothing is left of the copy then.
    pub fn copy_nodes(
        &mut self,
        from: CollectionId,
        to: &Key<'_>,
    ) -> Result<CollectionId, NoSpace> {
        let shards = self.shards;
        self.assert_held(shards.collections.owner(from).shard());
        let id = self.new_collection(to)?;
        // SAFETY: the shards of both keys are locked, and the copy is another collection.
        let source = unsafe { shards.collections.table(from) }.expect("a collection has a table");
        let mut nodes = self.write_nodes(to, id);
        *nodes.table = NodeTable::like(source);
        for node in 1..source.end() {
            let Some(at) = source.find(node) else { continue };
            // SAFETY: as above; appending leaves the source alone.
            let bytes = unsafe { shards.heap.record(at).value() };
            let ensured = nodes.ensure(bytes.len() + NODE_HEAD_BYTES);
            let Ok(at) = ensured.and_then(|()| nodes.try_append(node, bytes.len(), bytes)) else {
                self.hand_to_lazy_free(to, id);
                return Err(NoSpace);
            };
            nodes.table.set(node, at);
        }
        Ok(id)
    }

    /// Moves a collection to another key; both shards are locked.
    pub fn hand_over(&mut self, id: CollectionId, from: &Key<'_>, to: &Key<'_>) {
        let (index, target) = (self.index(from), self.index(to));
        let bytes = self.collection(id).map_or(0, |collection| collection.live_bytes());
        index.add_bytes(-(bytes as i64));
        target.add_bytes(bytes as i64);
        self.shards.collections.move_to(id, to.hash, to.keyspace);
    }
}

/// Length from which a node that grows gets room for all that a node may hold.
const GROWING_NODE_BYTES: usize = NODE_BYTES / 2;
/// Most bytes of a node's record besides the node itself.
const NODE_HEAD_BYTES: usize = 24;

/// Nodes whose numbers the owner chooses.
impl WriteNodes<'_, '_> {
    /// Adds a node with the given bytes and number, which must be free.
    ///
    /// # Errors
    /// When there is no room for it.
    pub fn put(&mut self, node: NodeId, bytes: &[u8]) -> Result<(), NoRoom> {
        self.ensure(bytes.len() + NODE_HEAD_BYTES)?;
        let at = self.try_append(node, bytes.len(), bytes)?;
        self.table.put(node, at);
        Ok(())
    }

    /// Makes a node `len` bytes long, without room for more. New bytes are zeros.
    ///
    /// # Errors
    /// When there is no room for it; nothing has changed then.
    pub fn lengthen(&mut self, node: NodeId, len: usize) -> Result<(), NoRoom> {
        self.ensure(len + NODE_HEAD_BYTES)?;
        let old_len = self.bytes(node).len();
        self.move_to_room(node, len, len);
        self.bytes_mut(node)[old_len..].fill(0);
        Ok(())
    }

    /// Moves a node that somebody reads without the lock, before it changes in place.
    #[inline]
    pub fn move_if_pinned(&mut self, node: NodeId) {
        let at = self.table.find(node).expect("only a node that was put is changed");
        if self.guard.shards.heap.is_pinned(at) {
            self.move_as_it_is(node, at);
        }
    }

    /// Removes a node that was put.
    pub fn remove(&mut self, node: NodeId) {
        let at = self.table.find(node).expect("only a node that was put is taken out");
        self.let_go(node, at);
        self.table.remove(node);
    }
}

impl WriteNodes<'_, '_> {
    fn draft<'k>(&self, name: &'k [u8], value_len: usize, room: usize) -> Draft<'k> {
        Draft {
            is_node: true,
            grows: true,
            keyspace: self.keyspace,
            value_tag: 0,
            key: name,
            value_len,
            room,
            deadline: None,
            attributes: NoAttributes,
        }
    }

    /// Appends the record of a node in a change that has begun, for which room was ensured or, if
    /// it only removes, slots are kept.
    fn append(&mut self, node: NodeId, len: usize, room: usize, old: &[u8]) -> Location {
        let appended = self.append_for(Purpose::Begun, node, (len, room), old);
        appended.expect("what has begun is never refused")
    }

    /// Appends the record of a node, unless there is no room.
    fn try_append(&mut self, node: NodeId, len: usize, old: &[u8]) -> Result<Location, NoRoom> {
        self.append_for(Purpose::Overdraft, node, (len, len), old)
    }

    fn append_for(
        &mut self,
        purpose: Purpose,
        node: NodeId,
        (len, room): (usize, usize),
        old: &[u8],
    ) -> Result<Location, NoRoom> {
        let name = node_name(self.id, node);
        let draft = self.draft(&name, len, room);
        let Guard { shards, thread, now, .. } = &mut *self.guard;
        let shards: &Shards = shards;
        let keep = old.len().min(len);
        let fill = |to: &mut [u8]| to[..keep].copy_from_slice(&old[..keep]);
        let appended = thread.head.append(&shards.heap, &draft, purpose, *now, fill);
        let at = appended.map_err(|_| NoRoom)?;
        if shards.heap.is_dedicated(at, draft.extent()) {
            shards.heap.note_owner(at, Noted::Node(self.id, node).to_owner());
        }
        thread.counters.appended_bytes.add(draft.extent() as u64);
        let footprint = draft.footprint();
        self.guard.thread.counters.gain(footprint);
        self.count_live(i64::from(footprint.live));
        Ok(at)
    }

    #[inline]
    fn count_live(&mut self, gained: i64) {
        self.index.add_bytes(gained);
        self.table.live_bytes = self.table.live_bytes.wrapping_add_signed(gained);
    }

    /// Counts a record that the table names no more as dead, unless a snapshot still reads it.
    fn let_go(&mut self, node: NodeId, at: Location) {
        let heap = &self.guard.shards.heap;
        // SAFETY: the shard is locked, and the table names the record.
        let footprint = unsafe { footprint_of(&heap.record(at)) };
        if !self.is_frozen(node, at) {
            // SAFETY: the caller takes it out of the table, and nothing reads it afterwards that
            // has not pinned it.
            unsafe { heap.mark_dead(at, footprint) };
            self.guard.thread.counters.lose(footprint);
        } else {
            self.guard.shards.count_retained(whole(footprint));
        }
        self.count_live(-i64::from(footprint.live));
    }

    #[inline]
    fn is_frozen(&self, node: NodeId, at: Location) -> bool {
        self.frozen.as_ref().is_some_and(|frozen| frozen.names(node, at))
    }

    /// Makes the record of a node the table's own, before it changes.
    #[inline]
    fn own(&mut self, node: NodeId) {
        if self.frozen.is_some() {
            self.copy_if_frozen(node);
        }
    }

    #[cold]
    fn copy_if_frozen(&mut self, node: NodeId) {
        let found = self.table.find(node).filter(|at| self.is_frozen(node, *at));
        if let Some(at) = found {
            self.move_as_it_is(node, at);
        }
    }

    /// Moves a node, which is at `at`, with the room that it has.
    #[cold]
    fn move_as_it_is(&mut self, node: NodeId, at: Location) {
        // SAFETY: the shard is locked, and the table names the record.
        let record = unsafe { self.guard.shards.heap.record(at) };
        // SAFETY: as above.
        let len = unsafe { record.value() }.len();
        let Guard { shards, thread, now, .. } = &mut *self.guard;
        // Where there is no room the copy exceeds the budget, and the next write makes some.
        let _ = thread.ensure(&shards.heap, record.extent() as usize, *now);
        self.move_to_room(node, len, record.room());
    }
}

impl NodesMut for WriteNodes<'_, '_> {
    type Read<'r>
        = ReadNodes<'r>
    where
        Self: 'r;

    #[inline]
    fn read(&self) -> ReadNodes<'_> {
        ReadNodes { heap: &self.guard.shards.heap, table: self.table }
    }

    #[inline]
    fn bytes_mut(&mut self, node: NodeId) -> &mut [u8] {
        self.own(node);
        // SAFETY: the shard is locked, and the borrow of `self` excludes other slices.
        unsafe { record(&self.guard.shards.heap, self.table, node).value_mut() }
    }

    #[inline]
    fn ensure(&mut self, bytes: usize) -> Result<(), NoRoom> {
        let Guard { shards, thread, now, .. } = &mut *self.guard;
        let ensured = thread.ensure(&shards.heap, bytes, *now);
        ensured.map_err(|_| {
            self.guard.note_refusal_of_node();
            NoRoom
        })
    }

    fn allocate(&mut self, len: usize, room: usize) -> NodeId {
        let node = self.table.add(Location::from_bits(0));
        let at = self.append(node, len, room.max(len), &[]);
        self.table.set(node, at);
        node
    }

    fn allocate_long(&mut self, len: usize) -> Result<NodeId, NoRoom> {
        self.ensure(len + NODE_HEAD_BYTES)?;
        let node = self.table.add(Location::from_bits(0));
        // Slots in a row may be missing though there are bytes enough.
        let appended = self.try_append(node, len, &[]);
        match appended {
            Ok(at) => self.table.set(node, at),
            Err(_) => self.table.free(node),
        }
        appended.map(|_| node)
    }

    #[inline]
    fn resize(&mut self, node: NodeId, len: usize) -> &mut [u8] {
        // SAFETY: the shard is locked.
        let room = unsafe { record(&self.guard.shards.heap, self.table, node) }.room();
        if len <= room {
            self.own(node);
            // SAFETY: the shard is locked.
            let old = unsafe { record(&self.guard.shards.heap, self.table, node) };
            // SAFETY: the shard is locked, no slice of the node exists, and it has the room.
            let (before, after) = unsafe {
                let before = footprint_of(&old);
                old.set_value_len(len, 0);
                (before, footprint_of(&old))
            };
            if before != after {
                let at = self.table.find(node).expect("found above");
                self.change_footprint(at, before, after);
            }
        } else {
            self.move_to_larger(node, len);
        }
        self.bytes_mut(node)
    }

    fn free(&mut self, node: NodeId) {
        let at = self.table.find(node).expect("a tree frees nodes that it has");
        self.let_go(node, at);
        self.table.free(node);
    }
}

impl WriteNodes<'_, '_> {
    #[inline]
    fn change_footprint(&mut self, at: Location, before: Footprint, after: Footprint) {
        let Guard { shards, thread, now, .. } = &*self.guard;
        shards.heap.change_footprint(at, before, after, *now);
        thread.counters.lose(before);
        thread.counters.gain(after);
        self.count_live(i64::from(after.live) - i64::from(before.live));
    }

    #[cold]
    fn move_to_larger(&mut self, node: NodeId, len: usize) {
        let room = match len {
            0..GROWING_NODE_BYTES => len + len / heap::GROWTH_PART,
            _ => len.max(NODE_ROOM),
        };
        self.move_to_room(node, len, room);
    }

    fn move_to_room(&mut self, node: NodeId, len: usize, room: usize) {
        let at = self.table.find(node).expect("a tree resizes nodes that it has");
        let heap: &Heap = &self.guard.shards.heap;
        // SAFETY: the shard is locked, and the record stays until it is marked dead after the copy.
        let old = unsafe { heap.record(at).value() };
        // The slice must not borrow from `self`, which appends.
        let old = std::ptr::from_ref(old);
        // SAFETY: as above: records stay where they are while their shard is locked.
        let to = self.append(node, len, room, unsafe { &*old });
        self.let_go(node, at);
        self.table.set(node, to);
    }
}
