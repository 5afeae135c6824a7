//! The store: heap, indexes, locks, keyspaces, and the lanes that work on them.

use crate::ahead::Reach;
use crate::budget::Budget;
use crate::cleaner::Cleaners;
use crate::collections::Collections;
use crate::counters::{Counters, Totals};
use crate::key::Key;
use crate::keyspaces::Keyspaces;
use crate::locks::Locks;
use base::{Gate, KeyHasher, KeyspaceId, Location, PositionHash};
use heap::Heap;
use index::{Blocks, Indexes, Records, prefetch};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a store is made with.
#[derive(Debug)]
pub struct StoreConfig {
    /// Databases that SELECT knows.
    pub databases: usize,
    /// Where keys stand.
    pub hasher: KeyHasher,
    /// Address space for records; `None` for as much as there is.
    pub address_space: Option<usize>,
}

/// See the module page.
#[derive(Debug)]
pub struct Store {
    pub(crate) heap: Heap,
    pub(crate) blocks: Blocks,
    pub(crate) indexes: Indexes,
    pub(crate) locks: Locks,
    pub(crate) gate: Gate,
    pub(crate) keyspaces: Keyspaces,
    pub(crate) budget: Budget,
    pub(crate) cleaners: Cleaners,
    pub(crate) collections: Collections,
    pub(crate) hasher: KeyHasher,
    pub(crate) reach: Reach,
    keeps_expired: AtomicBool,
    lanes: Mutex<Vec<Arc<Counters>>>,
}

impl Store {
    /// An empty store.
    ///
    /// # Errors
    /// When the system refuses address space.
    pub fn new(config: StoreConfig) -> io::Result<Store> {
        let small = config.address_space.is_some();
        let heap = config.address_space.map_or_else(Heap::new, Heap::with_address_space)?;
        let blocks = if small { Blocks::with_slots(1024)? } else { Blocks::new()? };
        let indexes = Indexes::new()?;
        let keyspaces = Keyspaces::new(config.databases, indexes.keyspaces());
        Ok(Store {
            heap,
            blocks,
            indexes,
            locks: Locks::new(),
            gate: Gate::new(),
            keyspaces,
            budget: Budget::default(),
            reach: Reach::default(),
            cleaners: Cleaners::default(),
            collections: Collections::new(small)?,
            hasher: config.hasher,
            keeps_expired: AtomicBool::new(false),
            lanes: Mutex::new(Vec::new()),
        })
    }

    /// A key of a keyspace.
    #[inline]
    pub fn key<'k>(&self, keyspace: KeyspaceId, bytes: &'k [u8]) -> Key<'k> {
        Key { bytes, hash: self.hasher.hash(bytes), keyspace }
    }

    /// Sums of what all lanes have counted.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.lanes().iter().for_each(|lane| totals.add(lane));
        totals
    }

    /// Live bytes of all records.
    pub fn live_bytes(&self) -> u64 {
        self.sum_over_lanes(|lane| lane.live_bytes.get())
    }

    /// Bytes that collections and their nodes may still grow into.
    pub fn spare_bytes(&self) -> u64 {
        self.sum_over_lanes(|lane| lane.spare_bytes.get())
    }

    fn sum_over_lanes(&self, count: impl Fn(&Counters) -> u64) -> u64 {
        let sum = self.lanes().iter().fold(0_u64, |sum, lane| sum.wrapping_add(count(lane)));
        // Lanes are read one after the other, so a gain may be missed whose loss is seen.
        if sum > u64::MAX / 2 { 0 } else { sum }
    }

    /// Bytes of all indexes.
    pub fn index_bytes(&self) -> u64 {
        self.blocks.touched_bytes()
    }

    /// Share of the index's entries that was in use when its blocks grew.
    pub fn index_load_before_growth(&self) -> f64 {
        self.blocks.load_before_growth()
    }

    /// The heap, for its figures.
    pub fn heap(&self) -> &Heap {
        &self.heap
    }

    /// Whether keys past their deadline stay until they are changed: absent for clients, but not
    /// removed.
    pub fn keeps_expired(&self) -> bool {
        self.keeps_expired.load(Relaxed)
    }

    /// Keeps keys past their deadline from now on, or does so no more.
    pub fn keep_expired(&self, keep: bool) {
        self.keeps_expired.store(keep, Relaxed);
    }

    pub(crate) fn lanes(&self) -> MutexGuard<'_, Vec<Arc<Counters>>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn records(&self) -> RecordHashes<'_> {
        RecordHashes { heap: &self.heap, hasher: &self.hasher }
    }
}

/// Answers the index's questions about records. Lives while the shard's lock is held.
pub(crate) struct RecordHashes<'a> {
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
