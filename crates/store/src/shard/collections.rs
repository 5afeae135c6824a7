//! Values that are trees: the nodes of each, and their locations.
//!
//! ```text
//! value of the key   | collection 4 | roots of its trees ... |
//!                          │
//! collection         owner (hash, keyspace) and node table: node -> location
//!                                                    │
//! record of a node   | key: collection 4, node 4 | value: the node |
//! ```
//! Whoever moves a node changes its entry in the table. The table belongs to the holder of the lock
//! of the shard in which the owner's hash stands, as the records of the nodes do.

use base::{KeyspaceId, Location, PositionHash, Reservation};
use heap::Owner;
use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tree::NodeId;

/// Most collections that may exist at the same time.
const COLLECTIONS_MAX: usize = 1 << 28;
/// Most collections in a store with little address space.
const COLLECTIONS_MAX_SMALL: usize = 1 << 20;
/// Number of entries of a node table that are allocated together.
const GROUP: usize = 512;

/// Number of a collection; never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CollectionId(pub u32);

impl CollectionId {
    /// Bytes at the begin of a tree's value that name its collection.
    pub const BYTES: usize = 4;

    /// Reads the collection that the value of a tree names.
    #[inline]
    pub fn read(value: &[u8]) -> Option<CollectionId> {
        value.first_chunk().map(|bytes| CollectionId(u32::from_le_bytes(*bytes)))
    }

    /// Names the collection in the value of a tree.
    pub fn write(self, value: &mut [u8]) {
        value[..CollectionId::BYTES].copy_from_slice(&self.0.to_le_bytes());
    }
}

/// Length in bytes of the key of a node's record.
pub(crate) const NODE_NAME_BYTES: usize = 8;

/// Key of a node's record.
#[inline]
pub(crate) fn node_name(id: CollectionId, node: NodeId) -> [u8; NODE_NAME_BYTES] {
    (u64::from(id.0) | u64::from(node) << 32).to_le_bytes()
}

/// Collection and node that a record's key names.
#[inline]
pub(crate) fn parse_node_name(key: &[u8]) -> Option<(CollectionId, NodeId)> {
    let word = u64::from_le_bytes(key.try_into().ok()?);
    Some((CollectionId(narrow::low_u32(word)), (word >> 32) as NodeId))
}

/// Number space of nodes in [`Owner`]; the numbers of keyspaces are smaller.
const NODE_SPACE: u32 = 1 << 16;

/// Owner of a large record as the heap notes it, so that it can be found by age.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Noted {
    /// The record is the value of a key with this hash.
    Key(PositionHash, KeyspaceId),
    /// The record is a node.
    Node(CollectionId, NodeId),
}

impl Noted {
    pub fn to_owner(self) -> Owner {
        match self {
            Noted::Key(hash, keyspace) => Owner { name: hash.0, space: u32::from(keyspace.0) },
            Noted::Node(id, node) => {
                Owner { name: u64::from_le_bytes(node_name(id, node)), space: NODE_SPACE }
            }
        }
    }

    pub fn of(owner: Owner) -> Noted {
        match owner {
            Owner { name, space: NODE_SPACE } => {
                Noted::Node(CollectionId(narrow::low_u32(name)), (name >> 32) as NodeId)
            }
            Owner { name, space } => {
                Noted::Key(PositionHash(name), KeyspaceId(narrow::low_u16(space.into())))
            }
        }
    }
}

/// Locations of the nodes of one collection. Node 0 is never used.
///
/// Most collections take any number for a new node. A long string names its chunks by their places
/// instead: then no number is ever on the free list, and groups without a node are empty.
#[derive(Debug, Default)]
pub(super) struct NodeTable {
    groups: Vec<Vec<u64>>,
    free: Option<NodeId>,
    /// Live bytes of all nodes.
    pub live_bytes: u64,
}

/// Bit set in the entry of a node in use; the entry of a free node is the next free node.
const IN_USE: u64 = 1 << 63;

impl NodeTable {
    /// Adds the record at `at` and returns its node number.
    pub fn add(&mut self, at: Location) -> NodeId {
        let entry = at.bits() | IN_USE;
        if let Some(node) = self.free {
            let next = narrow::low_u32(std::mem::replace(self.entry_mut(node), entry));
            self.free = (next != 0).then_some(next);
            return node;
        }
        if self.groups.last().is_none_or(|group| group.len() == GROUP) {
            let is_first = self.groups.is_empty();
            self.groups.push(if is_first { vec![0] } else { Vec::with_capacity(GROUP) });
        }
        let groups_before = self.groups.len() - 1;
        let group = &mut self.groups[groups_before];
        group.push(entry);
        narrow::to_u32(groups_before * GROUP + group.len() - 1)
    }

    /// Location of a node; `None` if it is free.
    #[inline]
    pub fn find(&self, node: NodeId) -> Option<Location> {
        let entry = *self.groups.get(node as usize / GROUP)?.get(node as usize % GROUP)?;
        (entry & IN_USE != 0).then(|| Location::from_bits(entry))
    }

    #[inline]
    fn entry_mut(&mut self, node: NodeId) -> &mut u64 {
        &mut self.groups[node as usize / GROUP][node as usize % GROUP]
    }

    /// Sets the new location of a node that was moved.
    #[inline]
    pub fn set(&mut self, node: NodeId, at: Location) {
        *self.entry_mut(node) = at.bits() | IN_USE;
    }

    /// Sets the location of a new node whose number the owner chose.
    pub fn put(&mut self, node: NodeId, at: Location) {
        debug_assert_eq!(self.free, None, "numbers are either chosen or handed out");
        let group = node as usize / GROUP;
        if self.groups.len() <= group {
            self.groups.resize_with(group + 1, Vec::new);
        }
        if self.groups[group].is_empty() {
            self.groups[group] = vec![0; GROUP];
        }
        self.set(node, at);
    }

    /// Removes a node whose number the owner chose.
    pub fn remove(&mut self, node: NodeId) {
        *self.entry_mut(node) = 0;
    }

    /// Returns a table with the same numbers in use and free as in `other`, but without locations.
    pub fn like(other: &NodeTable) -> NodeTable {
        let blank = |entry: &u64| if entry & IN_USE == 0 { *entry } else { 0 };
        let groups = other.groups.iter().map(|group| group.iter().map(blank).collect()).collect();
        NodeTable { groups, free: other.free, live_bytes: 0 }
    }

    /// Frees a node number.
    pub fn free(&mut self, node: NodeId) {
        *self.entry_mut(node) = u64::from(self.free.unwrap_or(0));
        self.free = Some(node);
    }

    /// One more than the highest number handed out so far, free ones included.
    pub fn end(&self) -> NodeId {
        let whole = self.groups.len().saturating_sub(1) * GROUP;
        narrow::to_u32(whole + self.groups.last().map_or(0, Vec::len))
    }

    /// Bytes that the table takes on the general heap.
    pub fn heap_bytes(&self) -> usize {
        let entries: usize = self.groups.iter().map(Vec::capacity).sum();
        size_of::<NodeTable>()
            + entries * size_of::<u64>()
            + self.groups.len() * size_of::<Vec<u64>>()
    }
}

/// Keyspace number of a closed collection.
const NOBODY: u32 = u32::MAX;

/// Owner and node table of one collection. All zeros is one that was never opened.
#[derive(Debug)]
#[repr(C, align(32))]
struct Slot {
    owner: AtomicU64,
    /// Keyspace of the owner, or `NOBODY`.
    keyspace: AtomicU32,
    is_dying: AtomicBool,
    /// Node table, guarded by the lock of the owner's shard.
    table: UnsafeCell<Option<Box<NodeTable>>>,
}

/// All collections of the store; see the module page.
#[derive(Debug)]
pub(super) struct Collections {
    slots: Reservation,
    ids: Mutex<Ids>,
    dying: Mutex<VecDeque<Dying>>,
}

#[derive(Debug)]
struct Ids {
    /// Numbers of closed collections.
    free: Vec<u32>,
    /// Numbers from here on were never opened.
    end: u32,
    most: u32,
}

/// A collection that no client can reach any more, and its first node that was not yet looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dying {
    pub id: CollectionId,
    pub next: NodeId,
}

impl Collections {
    pub fn new(is_small: bool) -> io::Result<Collections> {
        let most = if is_small { COLLECTIONS_MAX_SMALL } else { COLLECTIONS_MAX };
        let page = base::memory::PAGE_BYTES;
        let least = COLLECTIONS_MAX_SMALL * size_of::<Slot>();
        let slots = Reservation::up_to(most * size_of::<Slot>(), least, page)?;
        let most = narrow::to_u32(slots.bytes() / size_of::<Slot>());
        let ids = Mutex::new(Ids { free: Vec::new(), end: 1, most });
        Ok(Collections { slots, ids, dying: Mutex::new(VecDeque::new()) })
    }

    /// Opens a new collection without nodes; `None` when there are too many.
    ///
    /// # Safety
    /// The caller holds the lock of the shard in which `hash` stands.
    pub unsafe fn open(&self, hash: PositionHash, keyspace: KeyspaceId) -> Option<CollectionId> {
        let id = {
            let mut ids = self.ids();
            match ids.free.pop() {
                Some(id) => id,
                None if ids.end < ids.most => {
                    ids.end += 1;
                    ids.end - 1
                }
                None => return None,
            }
        };
        let id = CollectionId(id);
        let slot = self.slot(id);
        slot.is_dying.store(false, Relaxed);
        // SAFETY: nobody owns the number, so whoever finds it in dead records lets it be, until it
        // has an owner: the key whose shard the caller has locked.
        unsafe { *slot.table.get() = Some(Box::default()) };
        self.move_to(id, hash, keyspace);
        Some(id)
    }

    fn ids(&self) -> MutexGuard<'_, Ids> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn dying(&self) -> MutexGuard<'_, VecDeque<Dying>> {
        self.dying.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    fn slot(&self, id: CollectionId) -> &Slot {
        assert!((id.0 as usize) < self.slots.bytes() / size_of::<Slot>());
        // SAFETY: the reservation holds so many slots, all zeros is a valid one, and they are
        // accessed through atomics and, by those who hold the lock, through the cell.
        unsafe { &*self.slots.base().cast::<Slot>().add(id.0 as usize) }
    }

    /// Hash of the key that owns a collection.
    #[inline]
    pub fn owner(&self, id: CollectionId) -> PositionHash {
        PositionHash(self.slot(id).owner.load(Relaxed))
    }

    /// Keyspace of the key that owns a collection.
    #[inline]
    pub fn keyspace(&self, id: CollectionId) -> KeyspaceId {
        KeyspaceId(narrow::low_u16(self.slot(id).keyspace.load(Relaxed).into()))
    }

    /// Gives a collection to another key. The locks of both shards are held.
    pub fn move_to(&self, id: CollectionId, hash: PositionHash, keyspace: KeyspaceId) {
        let slot = self.slot(id);
        slot.owner.store(hash.0, Relaxed);
        // A thread that sees that the collection has an owner also sees which.
        slot.keyspace.store(u32::from(keyspace.0), Release);
    }

    pub fn has_owner(&self, id: CollectionId) -> bool {
        self.slot(id).keyspace.load(Acquire) != NOBODY
    }

    /// The table of a collection, for change; `None` if there is no such collection any more.
    ///
    /// # Safety
    /// The caller holds the lock of the owner's shard for as long as the table is used, and uses
    /// it no more than once at a time.
    #[inline]
    #[expect(clippy::mut_from_ref, reason = "the lock makes it exclusive")]
    pub unsafe fn table_mut(&self, id: CollectionId) -> Option<&mut NodeTable> {
        // SAFETY: as the caller says.
        unsafe { (*self.slot(id).table.get()).as_deref_mut() }
    }

    /// The table of a collection, to be read.
    ///
    /// # Safety
    /// The caller holds the lock of the owner's shard for as long as the table is used, and
    /// nobody changes it meanwhile.
    #[inline]
    pub unsafe fn table(&self, id: CollectionId) -> Option<&NodeTable> {
        // SAFETY: as the caller says.
        unsafe { (*self.slot(id).table.get()).as_deref() }
    }

    /// Returns true if a collection waits for lazy free.
    pub fn is_dying(&self, id: CollectionId) -> bool {
        self.slot(id).is_dying.load(Relaxed)
    }

    /// Hands a collection over to lazy free. The lock of the owner's shard is held.
    pub fn hand_to_lazy_free(&self, id: CollectionId) {
        self.slot(id).is_dying.store(true, Relaxed);
        self.dying().push_back(Dying { id, next: 1 });
    }

    /// Takes the collection that has waited longest for lazy free from its list.
    pub fn next_dying(&self) -> Option<Dying> {
        self.dying().pop_front()
    }

    /// Puts back a collection that lazy free has not finished.
    pub fn put_back(&self, dying: Dying) {
        self.dying().push_front(dying);
    }

    /// Closes a collection after its last node is gone, and returns its table.
    ///
    /// # Safety
    /// The caller holds the lock of the owner's shard.
    pub unsafe fn close(&self, id: CollectionId) -> Option<Box<NodeTable>> {
        let slot = self.slot(id);
        // SAFETY: as the caller says.
        let table = unsafe { (*slot.table.get()).take() };
        slot.keyspace.store(NOBODY, Release);
        self.ids().free.push(id.0);
        table
    }
}

// SAFETY: the cells are used under the locks of their owners' shards only.
unsafe impl Sync for Collections {}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::key::{Encoding, Expiry};
    use crate::shard::ShardSet;
    use crate::store::{Store, StoreConfig};
    use crate::value::long_string::WHOLE_BYTES_MAX;
    use base::{KeyHasher, Millis};

    #[test]
    fn numbers_of_collections_that_went_to_keys_of_other_shards_are_used_again() {
        let hasher = KeyHasher::from_seed(1);
        let config = StoreConfig { databases: 1, hasher, address_space: Some(256 << 20) };
        let store = Store::new(config).expect("address space");
        let mut thread = store.thread_context().expect("the first thread");
        let [made, kept] = [b"made", b"kept"].map(|name| store.key(KeyspaceId(0), name));
        assert_ne!(made.hash.shard(), kept.hash.shard());
        let text = vec![b'x'; WHOLE_BYTES_MAX + 1];
        for _ in 0..20 {
            let mut shards = ShardSet::new();
            [made, kept].iter().for_each(|key| shards.add(key.hash));
            let mut access = store.lock_all(&mut thread, shards, Millis(1)).unheard();
            access.set_string(&made, &text, Encoding::Raw, Expiry::Never).expect("room");
            assert_eq!(access.rename(&made, &kept), Ok(true));
            drop(access);
            while store.free_some(&mut thread, 1 << 10) {}
        }
        assert!(
            store.shards.collections.ids().end <= 4,
            "{} numbers",
            store.shards.collections.ids().end
        );
    }

    #[test]
    fn node_numbers_are_used_again_and_keep_their_places() {
        let mut table = NodeTable::default();
        let at = |number: u64| Location::from_bits(number * 8);
        let nodes: Vec<NodeId> = (0..2_000).map(|number| table.add(at(number))).collect();
        assert_eq!(nodes[0], 1);
        assert_eq!(table.end(), 2_001);
        nodes.iter().step_by(3).for_each(|node| table.free(*node));
        assert_eq!(table.find(nodes[0]), None);
        assert_eq!(table.find(nodes[1]), Some(at(1)));
        for number in 0..700 {
            let node = table.add(at(5_000 + number));
            assert_eq!(table.find(node), Some(at(5_000 + number)));
        }
        assert_eq!(table.end(), 2_001 + 700 - 667);
        assert_eq!(table.find(0), None);
        assert_eq!(table.find(1 << 30), None);
    }
}
