//! The nodes of values that are trees, under the lock of their key's shard.

use crate::access::{Access, Found, NoSpace};
use crate::collections::{CollectionId, NodeTable, Noted, node_name};
use crate::key::Key;
use crate::store::Store;
use crate::weight::weight_of;
use base::{KeyspaceId, Location};
use heap::{Draft, Heap, Purpose, Record, Weight};
use index::{Index, prefetch};
use tree::{NODE_BYTES, NODE_ROOM, NoRoom, NodeId, Nodes, NodesMut};

/// The nodes of one collection, to be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadNodes<'x> {
    heap: &'x Heap,
    table: &'x NodeTable,
}

/// The nodes of one collection, to be changed.
#[derive(Debug)]
pub(crate) struct WriteNodes<'x, 'a> {
    access: &'x mut Access<'a>,
    table: &'x mut NodeTable,
    index: &'a Index,
    id: CollectionId,
    keyspace: KeyspaceId,
}

impl ReadNodes<'_> {
    /// Bytes that the nodes and their table take.
    pub fn memory(&self) -> usize {
        self.table.live_bytes as usize + self.table.heap_bytes()
    }
}

impl<'x> ReadNodes<'x> {
    /// The bytes of a node; `None` if there is none with that number.
    #[inline]
    pub fn find(self, node: NodeId) -> Option<&'x [u8]> {
        // SAFETY: whoever made this holds the lock of the owner's shard for 'x.
        self.table.find(node).map(|at| unsafe { self.heap.record(at).value() })
    }
}

impl Store {
    /// The nodes of a collection, to be read; `None` if there is no such collection.
    ///
    /// # Safety
    /// The caller holds the lock of the owner's shard for as long as they are used, and nobody
    /// changes them meanwhile.
    pub(crate) unsafe fn read_nodes(&self, id: CollectionId) -> Option<ReadNodes<'_>> {
        // SAFETY: as the caller says.
        let table = unsafe { self.collections.table(id) };
        table.map(|table| ReadNodes { heap: &self.heap, table })
    }
}

impl<'x> Nodes<'x> for ReadNodes<'x> {
    #[inline]
    fn bytes(self, node: NodeId) -> &'x [u8] {
        // SAFETY: whoever made this holds the lock of the owner's shard for 'x.
        unsafe { record(self.heap, self.table, node).value() }
    }

    #[inline]
    fn announce(self, node: NodeId) {
        if let Some(at) = self.table.find(node) {
            prefetch(self.heap.address(at));
        }
    }

    #[inline]
    fn announce_bytes(self, bytes: &[u8]) {
        bytes.chunks(LINE_BYTES).for_each(|line| prefetch(line.as_ptr()));
    }
}

/// Bytes that come from memory together.
const LINE_BYTES: usize = 64;

/// # Safety
/// The caller holds the lock of the owner's shard.
///
/// # Panics
/// If there is no such node.
#[inline]
unsafe fn record<'x>(heap: &'x Heap, table: &NodeTable, node: NodeId) -> Record<'x> {
    let at = table.find(node).expect("a tree names nodes that it has");
    // SAFETY: the location stands in the table, whose lock is held.
    unsafe { heap.record(at) }
}

impl<'a> Access<'a> {
    /// The nodes of a value that is a tree, to be read.
    ///
    /// # Panics
    /// If it is none.
    #[inline]
    pub(crate) fn nodes(&self, found: &Found<'a>) -> ReadNodes<'_> {
        self.nodes_named_in(self.bytes(found))
    }

    /// The nodes of the collection that a value names whose shard is locked.
    #[inline]
    pub(super) fn nodes_named_in(&self, value: &[u8]) -> ReadNodes<'_> {
        let id = CollectionId::read(value).expect("a tree names its collection");
        // SAFETY: the shard is locked; changes need the access exclusively.
        let table = unsafe { self.store.collections.table(id) };
        ReadNodes { heap: &self.store.heap, table: table.expect("a collection has a table") }
    }

    /// The nodes of a value that is a tree, to be changed.
    #[inline]
    pub(crate) fn nodes_mut(&mut self, key: &Key<'_>, found: &Found<'a>) -> WriteNodes<'_, 'a> {
        let id = CollectionId::read(self.bytes(found)).expect("a tree names its collection");
        self.nodes_of(key, id)
    }

    /// The nodes of a collection that belongs to a key, to be changed.
    ///
    /// # Panics
    /// If there is no such collection.
    #[inline]
    pub(crate) fn nodes_of(&mut self, key: &Key<'_>, id: CollectionId) -> WriteNodes<'_, 'a> {
        let (store, index) = (self.store, self.index(key));
        // SAFETY: the shard is locked, and the access is borrowed exclusively.
        let table = unsafe { store.collections.table_mut(id) };
        let table = table.expect("a collection has a table");
        WriteNodes { access: self, table, index, id, keyspace: key.keyspace }
    }

    /// A collection without nodes, which belongs to a key.
    ///
    /// # Errors
    /// When there are too many.
    pub(crate) fn new_collection(&self, key: &Key<'_>) -> Result<CollectionId, NoSpace> {
        assert!(self.held.has(key.hash.shard()), "a command reaches only keys that it has locked");
        // SAFETY: the shard is locked.
        unsafe { self.store.collections.open(key.hash, key.keyspace) }.ok_or(NoSpace)
    }

    /// Copies all nodes of a collection, under the same numbers, for another key.
    ///
    /// # Errors
    /// When there is no room for them; nothing is left of the copy then.
    pub(crate) fn copy_nodes(
        &mut self,
        from: CollectionId,
        to: &Key<'_>,
    ) -> Result<CollectionId, NoSpace> {
        let store = self.store;
        let id = self.new_collection(to)?;
        // SAFETY: the shards of both keys are locked.
        let source = unsafe { store.collections.table(from) }.expect("a collection has a table");
        let mut nodes = self.nodes_of(to, id);
        *nodes.table = NodeTable::like(source);
        for node in 1..source.end() {
            let Some(at) = source.find(node) else { continue };
            // SAFETY: as above; appending leaves the source alone.
            let bytes = unsafe { store.heap.record(at).value() };
            let ensured = nodes.ensure(bytes.len() + NODE_HEAD_BYTES);
            let Ok(at) = ensured.and_then(|()| nodes.try_append(node, bytes.len(), bytes)) else {
                self.retire(to, id);
                return Err(NoSpace);
            };
            nodes.table.set(node, at);
        }
        Ok(id)
    }
}

/// From this length on a node that grows gets room for all that a node may hold.
const GROWING_NODE_BYTES: usize = NODE_BYTES / 2;
/// Bytes of a node's record besides the node, at most.
const NODE_HEAD_BYTES: usize = 24;

/// Nodes whose numbers are the owner's choice.
impl WriteNodes<'_, '_> {
    /// Makes `bytes` a new node with this number, of which there is none.
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

    /// Gives up a node that was put.
    pub fn take_out(&mut self, node: NodeId) {
        let at = self.table.find(node).expect("only a node that was put is taken out");
        self.bury(at);
        self.table.take_out(node);
    }
}

impl WriteNodes<'_, '_> {
    fn draft<'k>(&self, name: &'k [u8], value_len: usize, room: usize) -> Draft<'k> {
        let (keyspace, deadline) = (self.keyspace, None);
        let (is_node, grows) = (true, true);
        Draft { is_node, grows, keyspace, label: 0, key: name, value_len, room, deadline }
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
        let Access { store, lane, now, .. } = &mut *self.access;
        let store: &Store = store;
        let keep = old.len().min(len);
        let fill = |to: &mut [u8]| to[..keep].copy_from_slice(&old[..keep]);
        let appended = lane.head.append(&store.heap, &draft, purpose, *now, fill);
        let at = appended.map_err(|_| NoRoom)?;
        if draft.extent() > heap::DEDICATED_BYTES {
            store.heap.note_owner(at, Noted::Node(self.id, node).to_owner());
        }
        lane.counters.appended_bytes.add(draft.extent() as u64);
        let weight = draft.weight();
        self.access.lane.counters.gain(weight);
        self.count_live(i64::from(weight.live));
        Ok(at)
    }

    #[inline]
    fn count_live(&mut self, gained: i64) {
        self.index.add_bytes(gained);
        self.table.live_bytes = self.table.live_bytes.wrapping_add_signed(gained);
    }

    fn bury(&mut self, at: Location) {
        let heap = &self.access.store.heap;
        // SAFETY: the shard is locked, and the table names the record.
        let weight = unsafe { weight_of(&heap.record(at)) };
        heap.bury(at, weight);
        self.access.lane.counters.lose(weight);
        self.count_live(-i64::from(weight.live));
    }
}

impl NodesMut for WriteNodes<'_, '_> {
    type Read<'r>
        = ReadNodes<'r>
    where
        Self: 'r;

    #[inline]
    fn read(&self) -> ReadNodes<'_> {
        ReadNodes { heap: &self.access.store.heap, table: self.table }
    }

    #[inline]
    fn bytes_mut(&mut self, node: NodeId) -> &mut [u8] {
        // SAFETY: the shard is locked, and the borrow of `self` excludes other slices.
        unsafe { record(&self.access.store.heap, self.table, node).value_mut() }
    }

    #[inline]
    fn ensure(&mut self, bytes: usize) -> Result<(), NoRoom> {
        let Access { store, lane, now, .. } = &mut *self.access;
        lane.ensure(&store.heap, bytes, *now).map_err(|_| NoRoom)
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
        let old = unsafe { record(&self.access.store.heap, self.table, node) };
        if len <= old.room() {
            // SAFETY: the shard is locked, no slice of the node exists, and it has the room.
            let (before, after) = unsafe {
                let before = weight_of(&old);
                old.set_value_len(len, 0);
                (before, weight_of(&old))
            };
            if before != after {
                let at = self.table.find(node).expect("found above");
                self.reweigh(at, before, after);
            }
        } else {
            self.move_to_larger(node, len);
        }
        self.bytes_mut(node)
    }

    fn free(&mut self, node: NodeId) {
        let at = self.table.find(node).expect("a tree frees nodes that it has");
        self.bury(at);
        self.table.free(node);
    }
}

impl WriteNodes<'_, '_> {
    #[inline]
    fn reweigh(&mut self, at: Location, before: Weight, after: Weight) {
        let Access { store, lane, now, .. } = &*self.access;
        store.heap.reweigh(at, before, after, *now);
        lane.counters.lose(before);
        lane.counters.gain(after);
        self.count_live(i64::from(after.live) - i64::from(before.live));
    }

    #[cold]
    fn move_to_larger(&mut self, node: NodeId, len: usize) {
        let room = match len {
            0..GROWING_NODE_BYTES => len + len / heap::SPARE_PART,
            _ => len.max(NODE_ROOM),
        };
        self.move_to_room(node, len, room);
    }

    fn move_to_room(&mut self, node: NodeId, len: usize, room: usize) {
        let at = self.table.find(node).expect("a tree resizes nodes that it has");
        let heap: &Heap = &self.access.store.heap;
        // SAFETY: the shard is locked, and the record stays until it is buried after the copy.
        let old = unsafe { heap.record(at).value() };
        // The slice must not borrow from `self`, which appends.
        let old = std::ptr::from_ref(old);
        // SAFETY: as above: records stay where they are while their shard is locked.
        let to = self.append(node, len, room, unsafe { &*old });
        self.bury(at);
        self.table.set(node, to);
    }
}
