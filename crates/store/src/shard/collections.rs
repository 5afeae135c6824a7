//! Values that are trees: the nodes of each, and their locations.
//!
//! ```text
//! value of the key   | collection 4 | roots of its trees ... |
//!                          │
//! collection         owner (hash, keyspace) and node table: node -> location
//!                                                    │
//! record of a node   | key: collection 4, node 4 | value: the node |
//! ```
//! A thread that moves a node changes its entry in the table. The table belongs to the holder of
//! the lock of the shard in which the owner's hash stands, as the records of the nodes do.

use super::frozen::Frozen;
use super::node_table::NodeTable;
use base::mutex::{Mutex, MutexGuard};
use base::{KeyspaceId, PositionHash, Reservation};
use heap::Owner;
use std::cell::UnsafeCell;
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use tree::NodeId;

/// Most collections that may exist at the same time.
const COLLECTIONS_MAX: usize = 1 << 28;
/// Most collections in a store with little address space.
const COLLECTIONS_MAX_SMALL: usize = 1 << 20;
/// Parts of limited address space.
const PARTS: u64 = 1;

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

/// Keyspace number of a closed collection.
const NOBODY: u32 = u32::MAX;

/// Owner and node table of one collection. All zeros is one that was never opened.
#[derive(Debug)]
#[repr(C, align(32))]
struct CollectionEntry {
    owner: AtomicU64,
    /// Keyspace of the owner, or `NOBODY`.
    keyspace: AtomicU32,
    is_dying: AtomicBool,
    /// Node table, guarded by the lock of the owner's shard.
    table: UnsafeCell<Option<Box<NodeTable>>>,
    /// What a snapshot reads, guarded by the same lock.
    frozen: UnsafeCell<Option<Box<Frozen>>>,
}

const _: () = assert!(size_of::<CollectionEntry>() == 32);

/// All collections of the store; see the module page.
#[derive(Debug)]
pub(super) struct Collections {
    entries: Reservation,
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

/// Collections that became no key's value and were dropped without a lock, each with the position
/// hash of its owner: for lazy free.
pub(crate) type GivenUp = Mutex<Vec<(PositionHash, CollectionId)>>;

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
        let least = COLLECTIONS_MAX_SMALL * size_of::<CollectionEntry>();
        let entries = Reservation::up_to(most * size_of::<CollectionEntry>(), least, page, PARTS)?;
        let most = narrow::to_u32(entries.bytes() / size_of::<CollectionEntry>());
        let ids = Mutex::new(Ids { free: Vec::new(), end: 1, most });
        Ok(Collections { entries, ids, dying: Mutex::new(VecDeque::new()) })
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
        let entry = self.entry(id);
        entry.is_dying.store(false, Relaxed);
        // SAFETY: nobody owns the number, so a thread that finds it in a dead record does not touch
        // the table, until it has an owner: the key whose shard the caller has locked.
        unsafe { *entry.table.get() = Some(Box::default()) };
        self.move_to(id, hash, keyspace);
        Some(id)
    }

    fn ids(&self) -> MutexGuard<'_, Ids> {
        self.ids.lock()
    }

    fn dying(&self) -> MutexGuard<'_, VecDeque<Dying>> {
        self.dying.lock()
    }

    #[inline]
    fn entry(&self, id: CollectionId) -> &CollectionEntry {
        assert!((id.0 as usize) < self.entries.bytes() / size_of::<CollectionEntry>());
        // SAFETY: the reservation holds so many entries, all zeros is a valid one, and they are
        // accessed through atomics and, by holders of the lock, through the cell.
        unsafe { &*self.entries.base().cast::<CollectionEntry>().add(id.0 as usize) }
    }

    /// Hash of the key that owns a collection.
    #[inline]
    pub fn owner(&self, id: CollectionId) -> PositionHash {
        PositionHash(self.entry(id).owner.load(Relaxed))
    }

    /// Keyspace of the key that owns a collection.
    #[inline]
    pub fn keyspace(&self, id: CollectionId) -> KeyspaceId {
        KeyspaceId(narrow::low_u16(self.entry(id).keyspace.load(Relaxed).into()))
    }

    /// Gives a collection to another key. The locks of both shards are held.
    pub fn move_to(&self, id: CollectionId, hash: PositionHash, keyspace: KeyspaceId) {
        let entry = self.entry(id);
        entry.owner.store(hash.0, Relaxed);
        // A thread that sees that the collection has an owner also sees which.
        entry.keyspace.store(u32::from(keyspace.0), Release);
    }

    pub fn has_owner(&self, id: CollectionId) -> bool {
        self.entry(id).keyspace.load(Acquire) != NOBODY
    }

    /// The table of a collection, to be read.
    ///
    /// # Safety
    /// The caller holds the lock of the owner's shard for as long as the table is used, and
    /// nobody changes it meanwhile.
    #[inline]
    pub unsafe fn table(&self, id: CollectionId) -> Option<&NodeTable> {
        // SAFETY: as the caller says.
        unsafe { (*self.entry(id).table.get()).as_deref() }
    }

    /// The tables of a collection, for change: its own, and what a snapshot still reads; `None` if
    /// there is no such collection any more.
    ///
    /// # Safety
    /// The caller holds the lock of the owner's shard for as long as they are used, and uses them
    /// no more than once at a time.
    #[inline]
    #[expect(clippy::mut_from_ref, reason = "the lock makes it exclusive")]
    pub unsafe fn tables_mut(
        &self,
        id: CollectionId,
    ) -> Option<(&mut NodeTable, Option<&mut Frozen>)> {
        let entry = self.entry(id);
        // SAFETY: as the caller says.
        let (table, frozen) = unsafe { (&mut *entry.table.get(), &mut *entry.frozen.get()) };
        table.as_deref_mut().map(|table| (table, frozen.as_deref_mut()))
    }

    /// What a snapshot reads of a collection, if it is frozen.
    ///
    /// # Safety
    /// That of `table`.
    #[inline]
    pub unsafe fn frozen(&self, id: CollectionId) -> Option<&Frozen> {
        // SAFETY: as the caller says.
        unsafe { (*self.entry(id).frozen.get()).as_deref() }
    }

    /// Freezes a collection for a snapshot, unless it is.
    ///
    /// # Safety
    /// That of `tables_mut`.
    pub unsafe fn freeze(&self, id: CollectionId) {
        let entry = self.entry(id);
        // SAFETY: as the caller says.
        let (table, frozen) = unsafe { (&*entry.table.get(), &mut *entry.frozen.get()) };
        if let (Some(table), None) = (table, &frozen) {
            *frozen = Some(Box::new(Frozen::of(table)));
        }
    }

    /// Ends the freezing of a collection of which the snapshot has let go every node.
    ///
    /// # Safety
    /// That of `tables_mut`.
    pub unsafe fn thaw(&self, id: CollectionId) -> Option<Box<Frozen>> {
        // SAFETY: as the caller says.
        unsafe { (*self.entry(id).frozen.get()).take() }
    }

    /// Returns true if a collection waits for lazy free.
    pub fn is_dying(&self, id: CollectionId) -> bool {
        self.entry(id).is_dying.load(Relaxed)
    }

    /// Notes that no client can reach a frozen collection any more. `is_counted` tells whether its
    /// bytes are counted as waiting for lazy free.
    ///
    /// # Safety
    /// That of `tables_mut`.
    pub unsafe fn leave_to_snapshot(&self, id: CollectionId, is_counted: bool) {
        let entry = self.entry(id);
        entry.is_dying.store(true, Relaxed);
        // SAFETY: as the caller says.
        if let Some(frozen) = unsafe { &mut *entry.frozen.get() } {
            frozen.is_counted = is_counted;
        }
    }

    /// Hands a collection that no client can reach over to lazy free. The lock of the owner's shard
    /// is held.
    pub fn hand_to_lazy_free(&self, id: CollectionId) {
        self.entry(id).is_dying.store(true, Relaxed);
        self.dying().push_back(Dying { id, next: 1 });
    }

    /// Takes the collection that has waited longest for lazy free from its list.
    pub fn next_dying(&self) -> Option<Dying> {
        self.dying().pop_front()
    }

    /// Number of collections that wait for lazy free.
    pub fn dying_len(&self) -> u64 {
        self.dying().len() as u64
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
        let entry = self.entry(id);
        // SAFETY: as the caller says.
        debug_assert!(unsafe { self.frozen(id) }.is_none(), "a snapshot still reads it");
        // SAFETY: as the caller says.
        let table = unsafe { (*entry.table.get()).take() };
        entry.keyspace.store(NOBODY, Release);
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
            let mut access = store.lock_all(&mut thread, shards, Millis(1)).muted();
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
}
