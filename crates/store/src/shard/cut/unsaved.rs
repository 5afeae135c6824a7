//! What each shard knows of the cut.

use super::super::collections::CollectionId;
use super::copies::{Copies, Handed};
use super::retained::Retained;
use base::mutex::{Mutex, MutexGuard};
use base::units::SHARDS;
use base::{KeyspaceId, PositionHash, ShardId};
use crossbeam_utils::CachePadded;
use std::cell::UnsafeCell;
use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64};

/// The keyspaces of a cut.
#[derive(Debug)]
pub(in crate::shard) struct CutKeyspaces {
    /// Keyspaces with their numbers in the cut, in the order of their ids.
    by_id: Vec<(KeyspaceId, u16)>,
    /// True if the snapshot was given up.
    is_over: AtomicBool,
}

impl CutKeyspaces {
    fn new(numbered: Vec<KeyspaceId>) -> CutKeyspaces {
        let mut by_id: Vec<(KeyspaceId, u16)> = numbered.into_iter().zip(0..).collect();
        by_id.sort_unstable_by_key(|(id, _)| id.0);
        CutKeyspaces { by_id, is_over: AtomicBool::new(false) }
    }

    fn number_of(&self, keyspace: KeyspaceId) -> Option<u16> {
        let at = self.by_id.binary_search_by_key(&keyspace.0, |(id, _)| id.0).ok()?;
        Some(self.by_id[at].1)
    }
}

/// Place of the walk in a shard: number of the keyspace in the cut, and the position hash in it
/// below which all keys are settled.
pub(in crate::shard) type Place = (u16, u64);

/// What one shard knows of the cut, guarded by its lock.
#[derive(Debug, Default)]
pub(crate) struct Unsaved {
    keyspaces: Option<Arc<CutKeyspaces>>,
    pub(in crate::shard) place: Place,
    /// Position hashes settled or born before the walk came to them, in parts.
    noted: BTreeMap<NotedPart, Positions>,
    /// Bytes of those sets, and how many of them were counted.
    noted_bytes: (u64, u64),
    /// Copies that were handed over and not yet taken.
    pub(in crate::shard) handed: Handed,
    /// Collections frozen by who handed them over.
    pub(in crate::shard) frozen: Vec<CollectionId>,
}

/// Number of a keyspace in the cut, and the bits of position hashes behind those of the shard. Sets
/// are kept in such parts, so that none takes long to grow, and what the walk has passed is freed.
type NotedPart = (u16, u8);

fn part_of((number, hash): Place) -> NotedPart {
    (number, narrow::low_u8(hash >> 52) & 0xf)
}

/// Set of position hashes.
type Positions = HashSet<u64, BuildHasherDefault<Turned>>;

/// Bytes of memory of a set: a table that is filled to seven eighths, with a byte for each entry.
fn bytes_of(positions: &Positions) -> u64 {
    let entry_bytes = size_of::<u64>() + 1;
    (positions.capacity() * entry_bytes * 8 / 7) as u64
}

/// Hasher of position hashes, which are random bits already; the first of them name the shard.
#[derive(Debug, Default)]
pub(in crate::shard) struct Turned(u64);

impl Hasher for Turned {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash.rotate_left(16);
    }
}

impl Unsaved {
    pub(in crate::shard) fn is_settled(&self, number: u16, hash: PositionHash) -> bool {
        (number, hash.0) < self.place || self.is_noted(number, hash)
    }

    pub(in crate::shard) fn is_noted(&self, number: u16, hash: PositionHash) -> bool {
        self.noted.get(&part_of((number, hash.0))).is_some_and(|noted| noted.contains(&hash.0))
    }

    /// Returns true if something in front of the walk is settled, or was.
    pub(in crate::shard) fn has_noted(&self) -> bool {
        !self.noted.is_empty()
    }

    /// Notes a position hash as settled.
    pub(in crate::shard) fn note(&mut self, number: u16, hash: PositionHash) {
        let positions = self.noted.entry(part_of((number, hash.0))).or_default();
        let before = bytes_of(positions);
        positions.insert(hash.0);
        self.noted_bytes.0 += bytes_of(positions) - before;
    }

    /// Moves the place of the walk; what was noted before it is forgotten part by part.
    pub(in crate::shard) fn go_on_to(&mut self, place: Place) {
        let was = std::mem::replace(&mut self.place, place);
        if part_of(was) != part_of(place) {
            let passed = self.noted.split_off(&part_of(place));
            let passed = std::mem::replace(&mut self.noted, passed);
            self.noted_bytes.0 -= passed.values().map(bytes_of).sum::<u64>();
        }
    }
}

/// The cut of the present snapshot, if there is one, as its shards know it; see the module page.
#[derive(Debug)]
pub(crate) struct Cuts {
    /// True while there is a snapshot, or what one has kept is let go.
    is_taken: AtomicBool,
    keyspaces: Mutex<Option<Arc<CutKeyspaces>>>,
    /// Bytes of copies that were handed over and not yet written.
    waiting: AtomicU64,
    /// Collections that were handed over and not yet taken.
    frozen: AtomicU64,
    /// One bit for each shard in which something waits.
    marks: [AtomicU64; SHARDS / 64],
    pub(in crate::shard) retained: Retained,
    shards: Box<[CachePadded<UnsafeCell<Unsaved>>]>,
}

impl Cuts {
    pub fn new() -> Cuts {
        Cuts {
            is_taken: AtomicBool::new(false),
            keyspaces: Mutex::new(None),
            waiting: AtomicU64::new(0),
            frozen: AtomicU64::new(0),
            marks: Default::default(),
            retained: Retained::default(),
            shards: (0..SHARDS).map(|_| CachePadded::default()).collect(),
        }
    }

    /// Takes the right to the one snapshot; false if another has it.
    pub fn take(&self) -> bool {
        !self.is_taken.swap(true, SeqCst)
    }

    /// Gives the right back.
    pub fn give_back(&self) {
        self.is_taken.store(false, SeqCst);
    }

    /// Bytes of copies that were handed over and not yet written.
    pub fn waiting(&self) -> u64 {
        self.waiting.load(Relaxed)
    }

    /// Bytes of the general heap that only the snapshot holds.
    pub fn retained_beside_records(&self) -> u64 {
        self.waiting() + self.retained.beside_records()
    }

    /// Bytes of records that only the snapshot holds.
    pub fn retained_in_records(&self) -> u64 {
        self.retained.in_records()
    }

    /// Counts what a shard's sets of noted position hashes have gained since it was counted.
    pub(in crate::shard) fn count_noted(&self, unsaved: &mut Unsaved) {
        let (bytes, counted) = unsaved.noted_bytes;
        if bytes != counted {
            self.retained.count_noted(bytes.wrapping_sub(counted).cast_signed());
            unsaved.noted_bytes.1 = bytes;
        }
    }

    /// Forgets what a shard knows of a cut that has ended.
    pub(in crate::shard) fn forget(&self, unsaved: &mut Unsaved) -> Unsaved {
        self.retained.count_noted(-unsaved.noted_bytes.1.cast_signed());
        std::mem::take(unsaved)
    }

    /// Returns true if collections that were handed over wait to be taken.
    pub fn has_frozen(&self) -> bool {
        self.frozen.load(Relaxed) > 0
    }

    fn keyspaces(&self) -> MutexGuard<'_, Option<Arc<CutKeyspaces>>> {
        self.keyspaces.lock()
    }

    /// Begins a cut of these keyspaces. To be called while the gate is closed.
    pub(in crate::shard) fn begin(&self, keyspaces: Vec<KeyspaceId>) {
        *self.keyspaces() = Some(Arc::new(CutKeyspaces::new(keyspaces)));
    }

    /// Ends the cut: what changes from now on is not handed over.
    pub(in crate::shard) fn end(&self) {
        self.give_up();
        *self.keyspaces() = None;
    }

    /// Gives the snapshot up; its saver learns of it at its next step.
    pub fn give_up(&self) {
        if let Some(keyspaces) = &*self.keyspaces() {
            keyspaces.is_over.store(true, SeqCst);
        }
    }

    /// Returns true if there is a snapshot that was not given up.
    pub fn is_on(&self) -> bool {
        self.keyspaces().as_ref().is_some_and(|keyspaces| !keyspaces.is_over.load(SeqCst))
    }

    /// What a shard knows of the cut.
    ///
    /// # Safety
    /// The caller holds the shard's lock for as long as it is used, and uses it no more than once
    /// at a time.
    #[expect(clippy::mut_from_ref, reason = "the lock makes it exclusive")]
    pub(in crate::shard) unsafe fn unsaved(&self, shard: ShardId) -> &mut Unsaved {
        // SAFETY: as the caller says.
        unsafe { &mut *self.shards[shard.index()].get() }
    }

    /// Number of a keyspace in the cut that a shard knows; `None` if it is not of the cut.
    pub(in crate::shard) fn number_of(
        &self,
        unsaved: &mut Unsaved,
        keyspace: KeyspaceId,
    ) -> Option<u16> {
        if unsaved.keyspaces.is_none() {
            unsaved.keyspaces.clone_from(&self.keyspaces());
        }
        let keyspaces = unsaved.keyspaces.as_ref()?;
        let number = keyspaces.number_of(keyspace)?;
        (!keyspaces.is_over.load(Relaxed)).then_some(number)
    }

    /// Counts bytes and collections that were handed over in a shard.
    pub(in crate::shard) fn handed_over(&self, shard: ShardId, bytes: usize, frozen: usize) {
        self.waiting.fetch_add(bytes as u64, Relaxed);
        self.frozen.fetch_add(frozen as u64, Relaxed);
        self.marks[shard.index() / 64].fetch_or(1 << (shard.index() % 64), Relaxed);
    }

    /// Counts collections that were taken out of a shard, with all copies.
    pub(in crate::shard) fn taken(&self, shard: ShardId, frozen: usize) {
        self.frozen.fetch_sub(frozen as u64, Relaxed);
        self.marks[shard.index() / 64].fetch_and(!(1 << (shard.index() % 64)), Relaxed);
    }

    /// Counts copies that were taken, and wait no more.
    pub fn written(&self, copies: &Copies) {
        self.waiting.fetch_sub(copies.room_bytes() as u64, Relaxed);
    }

    /// The next shard from one on, and around, in which something waits.
    pub fn next_marked(&self, from: ShardId) -> Option<ShardId> {
        let shards = (0..SHARDS).map(|at| ShardId(narrow::low_u8((from.index() + at) as u64)));
        shards.into_iter().find(|shard| {
            self.marks[shard.index() / 64].load(Relaxed) >> (shard.index() % 64) & 1 == 1
        })
    }
}

// SAFETY: what a shard knows is used under its lock only.
unsafe impl Sync for Cuts {}
