//! The nodes of values that are trees, under the lock of their key's shard.

use crate::access::{Access, Found, NoSpace};
use crate::collections::{CollectionId, NodeTable, Noted, node_name};
use crate::key::Key;
use crate::store::Store;
use base::{KeyspaceId, Location};
use heap::{Draft, Heap, Purpose, Record};
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
        let id = CollectionId::read(self.bytes(found)).expect("a tree names its collection");
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
        let mut holes = Vec::new();
        for node in 1..source.end() {
            let Some(at) = source.find(node) else {
                holes.push(nodes.table.add(Location::from_bits(0)));
                continue;
            };
            // SAFETY: as above; appending leaves the source alone.
            let bytes = unsafe { store.heap.record(at).value() };
            if nodes.ensure(bytes.len() + NODE_HEAD_BYTES).is_err() {
                holes.iter().for_each(|hole| nodes.table.free(*hole));
                self.retire(to, id);
                return Err(NoSpace);
            }
            let copied = nodes.allocate(bytes.len(), bytes.len());
            debug_assert_eq!(copied, node);
            nodes.bytes_mut(copied).copy_from_slice(bytes);
        }
        holes.iter().for_each(|hole| nodes.table.free(*hole));
        Ok(id)
    }
}

/// From this length on a node that grows gets room for all that a node may hold.
const GROWING_NODE_BYTES: usize = NODE_BYTES / 2;
/// Bytes of a node's record besides the node, at most.
const NODE_HEAD_BYTES: usize = 24;

impl WriteNodes<'_, '_> {
    fn draft<'k>(&self, name: &'k [u8], value_len: usize, room: usize) -> Draft<'k> {
        let (keyspace, deadline) = (self.keyspace, None);
        Draft { is_node: true, keyspace, label: 0, key: name, value_len, room, deadline }
    }

    /// Appends the record of a node; room for it was ensured.
    fn append(&mut self, node: NodeId, len: usize, room: usize, old: &[u8]) -> Location {
        self.try_append(node, len, room, old).expect("room was ensured before the change began")
    }

    /// Appends the record of a node.
    fn try_append(
        &mut self,
        node: NodeId,
        len: usize,
        room: usize,
        old: &[u8],
    ) -> Result<Location, NoRoom> {
        let name = node_name(self.id, node);
        let draft = self.draft(&name, len, room);
        let Access { store, lane, now, .. } = &mut *self.access;
        let store: &Store = store;
        let keep = old.len().min(len);
        let fill = |to: &mut [u8]| to[..keep].copy_from_slice(&old[..keep]);
        let appended = lane.head.append(&store.heap, &draft, Purpose::Overdraft, *now, fill);
        let at = appended.map_err(|_| NoRoom)?;
        if draft.extent() > heap::DEDICATED_BYTES {
            store.heap.note_owner(at, Noted::Node(self.id, node).to_owner());
        }
        lane.counters.appended_bytes.add(draft.extent() as u64);
        self.gain((draft.extent() - (room - len)) as i64, (room - len) as i64);
        Ok(at)
    }

    /// Counts live and spare bytes.
    #[inline]
    fn gain(&mut self, live: i64, spare: i64) {
        self.access.lane.counters.live_bytes.add(live as u64);
        self.access.lane.counters.spare_bytes.add(spare as u64);
        self.index.add_bytes(live);
        self.table.live_bytes = self.table.live_bytes.wrapping_add_signed(live);
    }

    fn bury(&mut self, at: Location) {
        let heap = &self.access.store.heap;
        // SAFETY: the shard is locked, and the table names the record.
        let (live, spare) = unsafe { heap.record(at).live_and_gap() };
        heap.bury_node(at, live, spare);
        self.gain(-i64::from(live), -i64::from(spare));
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
        let appended = self.try_append(node, len, len, &[]);
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
            let gained = unsafe {
                let before = i64::from(old.live_bytes());
                old.set_value_len(len, 0);
                i64::from(old.live_bytes()) - before
            };
            let at = self.table.find(node).expect("found above");
            self.count_gain(at, gained);
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
    fn count_gain(&mut self, at: Location, gained: i64) {
        if gained == 0 {
            return;
        }
        let (heap, now) = (&self.access.store.heap, self.access.now);
        if gained > 0 {
            heap.use_spare(at, gained as u32, now);
        } else {
            heap.spare(at, gained.unsigned_abs() as u32, now);
        }
        self.gain(gained, -gained);
    }

    #[cold]
    fn move_to_larger(&mut self, node: NodeId, len: usize) {
        let at = self.table.find(node).expect("a tree resizes nodes that it has");
        let room = match len {
            0..GROWING_NODE_BYTES => len + len / heap::SPARE_PART,
            _ => len.max(NODE_ROOM),
        };
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
