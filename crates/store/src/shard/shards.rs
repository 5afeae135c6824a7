//! All state behind the locks of the shards.

use super::change::Listeners;
use super::collections::{Collections, Dying, GivenUp};
use super::cut::Cuts;
use super::locks::Locks;
use crate::attributes::CasNumbers;
use crate::budget::Budget;
use crate::deadlines::Deadlines;
use crate::key::Key;
use crate::keyspaces::Keyspaces;
use base::{KeyHasher, KeyspaceId, Location, PositionHash, ShardId};
use heap::{Heap, HeapOwner};
use index::{Blocks, Index, Indexes, Records, prefetch};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

/// Most bytes of a record that are prefetched.
pub(super) const RECORD_BYTES_MAX: u64 = 64;

/// Distance in bytes from the first byte of a record to the last one that is prefetched.
#[derive(Debug)]
pub(super) struct Reach(pub AtomicUsize);

impl Default for Reach {
    fn default() -> Reach {
        Reach(AtomicUsize::new(narrow::to_usize(RECORD_BYTES_MAX) - 1))
    }
}

/// All state behind the locks of the shards, and what their holders need beside it.
#[derive(Debug)]
pub(crate) struct Shards {
    pub heap: Heap,
    pub hasher: KeyHasher,
    pub keyspaces: Keyspaces,
    pub budget: Budget,
    pub listeners: Listeners,
    pub deadlines: Deadlines,
    pub cas_numbers: CasNumbers,
    pub(super) blocks: Blocks,
    pub(super) indexes: Indexes,
    pub(super) locks: Locks,
    pub(super) collections: Collections,
    /// Staged values whose receivers are gone.
    pub given_up: Arc<GivenUp>,
    pub cuts: Cuts,
    pub(super) reach: Reach,
    keeps_expired: AtomicBool,
    applies_journal: AtomicBool,
}

impl HeapOwner for Shards {
    fn heap(&self) -> &Heap {
        &self.heap
    }
}

impl Shards {
    /// Creates empty shards for `databases` databases, in so much address space, or all there is.
    ///
    /// # Errors
    /// When the system refuses address space.
    pub fn new(
        databases: usize,
        hasher: KeyHasher,
        address_space: Option<usize>,
    ) -> io::Result<Arc<Shards>> {
        let small = address_space.is_some();
        let heap = address_space.map_or_else(Heap::new, Heap::with_address_space)?;
        let blocks = if small { Blocks::with_frames(1024)? } else { Blocks::new()? };
        let indexes = Indexes::new()?;
        let shards = Arc::new(Shards {
            heap,
            hasher,
            keyspaces: Keyspaces::new(databases, indexes.keyspaces()),
            budget: Budget::default(),
            listeners: Listeners::default(),
            deadlines: Deadlines::default(),
            cas_numbers: CasNumbers::default(),
            blocks,
            indexes,
            locks: Locks::new(),
            collections: Collections::new(small)?,
            given_up: Arc::default(),
            cuts: Cuts::new(),
            reach: Reach::default(),
            keeps_expired: AtomicBool::new(false),
            applies_journal: AtomicBool::new(false),
        });
        let owner: Arc<dyn HeapOwner> = shards.clone();
        shards.heap.set_owner(Arc::downgrade(&owner));
        Ok(shards)
    }

    /// A key of a keyspace.
    #[inline]
    pub fn key<'k>(&self, keyspace: KeyspaceId, bytes: &'k [u8]) -> Key<'k> {
        Key { bytes, hash: self.hasher.hash(bytes), keyspace }
    }

    /// Index of a keyspace in a shard, for its counts, which may be read without the lock.
    #[inline]
    pub fn counts(&self, keyspace: KeyspaceId, shard: ShardId) -> &Index {
        self.indexes.get(keyspace, shard)
    }

    /// Indexes of a keyspace, for their counts.
    pub fn counts_of(&self, keyspace: KeyspaceId) -> impl Iterator<Item = &Index> {
        self.indexes.of_keyspace(keyspace)
    }

    /// Bytes of all indexes.
    pub fn index_bytes(&self) -> u64 {
        self.blocks.touched_bytes()
    }

    /// Share of the index's entries that was in use when its blocks grew.
    pub fn index_load_before_growth(&self) -> f64 {
        self.blocks.load_before_growth()
    }

    /// Returns true if keys past their deadline stay until they are changed: absent for clients,
    /// but not removed.
    pub fn keeps_expired(&self) -> bool {
        self.keeps_expired.load(Relaxed) || self.applies_journal.load(Relaxed)
    }

    /// Sets whether keys past their deadline are kept.
    pub fn keep_expired(&self, keep: bool) {
        self.keeps_expired.store(keep, Relaxed);
    }

    /// Sets whether keys past their deadline are kept since a journal is applied.
    pub fn apply_journal(&self, on: bool) {
        self.applies_journal.store(on, Relaxed);
    }

    /// Returns true if a journal is applied.
    pub fn applies_journal(&self) -> bool {
        self.applies_journal.load(Relaxed)
    }

    /// Returns true if no client can reach the keys of a keyspace any more.
    pub fn is_dying(&self, keyspace: KeyspaceId) -> bool {
        self.budget.dying() > 0 && self.keyspaces.is_dying(keyspace)
    }

    /// Prefetches the record at `at`, which will be read soon.
    #[inline]
    pub fn prefetch(&self, at: Location) {
        prefetch(self.heap.address(at));
    }

    /// Takes the collection that has waited longest for lazy free from its list.
    pub fn next_dying(&self) -> Option<Dying> {
        self.collections.next_dying()
    }

    /// Number of collections that wait for lazy free.
    pub fn dying_collections(&self) -> u64 {
        self.collections.dying_len()
    }

    /// Puts back a collection that lazy free has not finished.
    pub fn put_back(&self, dying: Dying) {
        self.collections.put_back(dying);
    }

    pub(super) fn hashes(&self) -> RecordHashes<'_> {
        RecordHashes { heap: &self.heap, hasher: &self.hasher }
    }
}

/// Answers the index's questions about records, while the shard's lock is held.
pub(super) struct RecordHashes<'a> {
    heap: &'a Heap,
    hasher: &'a KeyHasher,
}

impl Records for RecordHashes<'_> {
    fn hash_of(&self, at: Location) -> PositionHash {
        // SAFETY: the index asks for locations of its own entries, under the shard's lock.
        let record = unsafe { self.heap.record(at) };
        self.hasher.hash(record.key())
    }

    fn prefetch(&self, at: Location) {
        prefetch(self.heap.address(at));
    }
}
