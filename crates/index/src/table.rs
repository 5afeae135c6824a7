//! One index: the blocks of one keyspace in one shard, found through a directory.
//!
//! ```text
//! root   | present 1 | ... | depth 8 | word 32 |     depth 0: the word is the block's entry
//! entry  | local depth 4 | size 4 | frame 24 |        else: the first unit of the directory
//! ```
//! The directory is extendible (Fagin et al. 1979): a block of local depth d serves 2^(depth - d)
//! entries.

use crate::Records;
use crate::block::SlotAt;
use crate::blocks::{Blocks, SIZES};
use crate::bucket::{Entry, SLOTS};
use crate::error::OutOfBlocks;
use base::{PositionHash, Tick};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Number of top bits of the hash, above those of the directory, that name the shard.
pub(crate) const SHARD_BITS: u32 = 8;
/// Number of bits of the tag that come from the lowest bits of the hash alone.
const OWN_TAG_BITS: u32 = 9;

const PRESENT: u64 = 1 << 63;
const TICK_PRESENT: u32 = 1 << 16;

/// One index. All zeros is an empty one. Methods that change it need the shard's lock.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub struct Index {
    pub(crate) root: AtomicU64,
    count: AtomicU64,
    with_deadline: AtomicU64,
    with_timed_parts: AtomicU64,
    /// Sum that the index keeps for the store: live bytes of the records.
    bytes: AtomicU64,
}

/// Place of an entry, valid until the index is changed. One word, so that it stays in a register on
/// its way through the store.
///
/// ```text
/// | slot 16 | bucket 16 | block 32 |
/// ```
#[derive(Clone, Copy, Debug)]
pub struct EntrySlot(u64);

impl EntrySlot {
    /// Slot of no entry.
    pub const NONE: EntrySlot = EntrySlot(u64::MAX);

    #[inline]
    pub(crate) fn new(block: BlockRef, at: SlotAt) -> EntrySlot {
        EntrySlot(u64::from(block.0) | u64::from(at.bucket) << 32 | u64::from(at.slot) << 48)
    }

    #[inline]
    fn block(self) -> BlockRef {
        BlockRef(narrow::low_u32(self.0))
    }

    #[inline]
    fn at(self) -> SlotAt {
        SlotAt { bucket: (self.0 >> 32) as u32 & 0xffff, slot: (self.0 >> 48) as u32 }
    }
}

/// Word of a directory: frame, size and local depth of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BlockRef(pub u32);

impl BlockRef {
    pub fn new(frame: u32, size: u32, depth: u32) -> BlockRef {
        BlockRef(frame | size << 24 | depth << 28)
    }

    #[inline]
    pub fn frame(self) -> u32 {
        self.0 & 0xff_ffff
    }

    #[inline]
    pub fn size(self) -> u32 {
        (self.0 >> 24 & 0xf).min(narrow::to_u32(SIZES.len()) - 1)
    }

    #[inline]
    pub fn depth(self) -> u32 {
        self.0 >> 28
    }

    pub fn buckets(self) -> u32 {
        SIZES[self.size() as usize]
    }

    /// Entries at which the block grows: beyond nine tenths, insertions displace many others.
    pub fn entries_max(self) -> u32 {
        self.buckets() * SLOTS * 9 / 10
    }

    /// Position in the block: 16 bits of `hash`.
    #[inline]
    pub fn position(self, hash: PositionHash) -> u32 {
        ((hash.0 << (SHARD_BITS + self.depth())) >> 48) as u32
    }
}

/// Tag of an entry: nine bits of the hash's own and the seven lowest of the position.
#[inline]
pub(crate) fn tag_of(own: u16, position: u32) -> u16 {
    own << 7 | (position & 0x7f) as u16
}

#[inline]
pub(crate) fn own_tag(hash: PositionHash) -> u16 {
    narrow::low_u16(hash.0) & ((1 << OWN_TAG_BITS) - 1)
}

impl Index {
    /// Number of entries.
    pub fn len(&self) -> u64 {
        self.count.load(Relaxed)
    }

    /// Returns true if there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if there are blocks, as in any index that ever had an entry.
    pub(crate) fn has_blocks(&self) -> bool {
        self.root.load(Relaxed) & PRESENT != 0
    }

    /// Number of entries with a deadline.
    pub fn with_deadline(&self) -> u64 {
        self.with_deadline.load(Relaxed)
    }

    /// Number of entries of values of which parts have deadlines.
    pub fn with_timed_parts(&self) -> u64 {
        self.with_timed_parts.load(Relaxed)
    }

    /// Returns true if the sweep over deadlines has anything to look at.
    pub fn is_timed(&self) -> bool {
        self.with_deadline() + self.with_timed_parts() > 0
    }

    /// The store's sum of live bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// Adds to the store's sum.
    #[inline]
    pub fn add_bytes(&self, by: i64) {
        self.bytes.store(self.bytes.load(Relaxed).wrapping_add_signed(by), Relaxed);
    }

    /// The block of a hash; `None` in an index that never had an entry.
    #[inline(always)]
    pub(crate) fn block_ref(&self, blocks: &Blocks, hash: PositionHash) -> Option<BlockRef> {
        let root = self.root.load(Relaxed);
        if root & PRESENT == 0 {
            return None;
        }
        let depth = (root >> 32) as u32 & 0xf;
        if depth == 0 {
            return Some(BlockRef(narrow::low_u32(root)));
        }
        let at = (hash.0 << SHARD_BITS) >> (64 - depth);
        Some(BlockRef(
            blocks.directories.words(narrow::low_u32(root), depth)[narrow::to_usize(at)]
                .load(Relaxed),
        ))
    }

    pub(crate) fn depth(&self) -> u32 {
        (self.root.load(Relaxed) >> 32) as u32 & 0xf
    }

    pub(crate) fn set_root(&self, depth: u32, word: u32) {
        self.root.store(PRESENT | u64::from(depth) << 32 | u64::from(word), Relaxed);
    }

    pub(crate) fn clear_root(&self) {
        self.root.store(0, Relaxed);
        self.count.store(0, Relaxed);
        self.with_deadline.store(0, Relaxed);
        self.with_timed_parts.store(0, Relaxed);
        self.bytes.store(0, Relaxed);
    }

    /// Finds the entry of `hash` for which `is_it` returns true.
    #[inline(always)]
    pub fn find(
        &self,
        blocks: &Blocks,
        hash: PositionHash,
        is_it: impl Fn(Entry) -> bool,
    ) -> Option<(EntrySlot, Entry)> {
        let look = |entry| is_it(entry).then_some(());
        self.find_map(blocks, hash, look).map(|(slot, entry, ())| (slot, entry))
    }

    /// Finds the entry of `hash` for which `look` returns something, and returns that too.
    #[inline(always)]
    pub fn find_map<T>(
        &self,
        blocks: &Blocks,
        hash: PositionHash,
        look: impl Fn(Entry) -> Option<T>,
    ) -> Option<(EntrySlot, Entry, T)> {
        let found = self.block_ref(blocks, hash)?;
        let position = found.position(hash);
        let block = blocks.block(found.frame(), found.size());
        let tag = tag_of(own_tag(hash), position);
        let (at, entry, seen) = block.find_map(block.home(position), tag, look)?;
        Some((EntrySlot::new(found, at), entry, seen))
    }

    /// Adds an entry; `tick` is that of its deadline.
    ///
    /// # Errors
    /// When the index would have to grow and cannot.
    #[inline]
    pub fn insert(
        &self,
        blocks: &Blocks,
        hash: PositionHash,
        entry: Entry,
        tick: Option<Tick>,
        records: &impl Records,
    ) -> Result<EntrySlot, OutOfBlocks> {
        loop {
            let found = match self.block_ref(blocks, hash) {
                Some(found) => found,
                None => self.create(blocks)?,
            };
            let block = blocks.block(found.frame(), found.size());
            let position = found.position(hash);
            let tag = tag_of(own_tag(hash), position);
            let is_full = blocks.facts(found.frame()).count.load(Relaxed) >= found.entries_max();
            let placed = if is_full { None } else { block.place(block.home(position), tag, entry) };
            if let Some(at) = placed {
                let slot = EntrySlot::new(found, at);
                self.count_in(blocks, slot, entry, tick);
                return Ok(slot);
            }
            self.grow(blocks, hash, found, records)?;
        }
    }

    fn count_in(&self, blocks: &Blocks, slot: EntrySlot, entry: Entry, tick: Option<Tick>) {
        add(&self.count, 1);
        let facts = blocks.facts(slot.block().frame());
        facts.count.store(facts.count.load(Relaxed) + 1, Relaxed);
        self.count_timed(entry, 1);
        if let Some(tick) = tick {
            self.note_tick(blocks, slot, tick);
        }
    }

    /// Changes an entry in place; `tick` is that of its deadline, if it has one.
    #[inline]
    pub fn update(&self, blocks: &Blocks, slot: EntrySlot, entry: Entry, tick: Option<Tick>) {
        let bucket = bucket_at(blocks, slot);
        let old = bucket.entry(slot.at().slot);
        bucket.set_entry(slot.at().slot, entry);
        if old.is_timed() || entry.is_timed() {
            self.count_timed(old, -1);
            self.count_timed(entry, 1);
        }
        if let Some(tick) = tick {
            self.note_tick(blocks, slot, tick);
        }
    }

    /// Changes an entry's access bits.
    #[inline]
    pub fn set_access(&self, blocks: &Blocks, slot: EntrySlot, access: u8) {
        bucket_at(blocks, slot).set_access(slot.at().slot, access);
    }

    /// Notes a deadline in the tick of the entry's bucket and in that of its block.
    pub fn note_tick(&self, blocks: &Blocks, slot: EntrySlot, tick: Tick) {
        bucket_at(blocks, slot).note_tick(tick);
        let facts = blocks.facts(slot.block().frame());
        let earliest = block_tick(blocks, slot.block().frame()).map_or(tick, |it| it.earlier(tick));
        facts.tick.store(TICK_PRESENT | u32::from(earliest.0), Relaxed);
    }

    /// Removes an entry.
    pub fn remove(&self, blocks: &Blocks, slot: EntrySlot) {
        let block = blocks.block(slot.block().frame(), slot.block().size());
        let entry = block.bucket(slot.at().bucket).entry(slot.at().slot);
        block.remove(slot.at());
        self.count_out(blocks, slot.block().frame(), entry);
    }

    pub(crate) fn count_out(&self, blocks: &Blocks, frame: u32, entry: Entry) {
        add(&self.count, -1);
        let facts = blocks.facts(frame);
        facts.count.store(facts.count.load(Relaxed) - 1, Relaxed);
        self.count_timed(entry, -1);
    }

    #[inline]
    fn count_timed(&self, entry: Entry, by: i64) {
        if entry.has_deadline() {
            add(&self.with_deadline, by);
        }
        if entry.has_timed_parts() {
            add(&self.with_timed_parts, by);
        }
    }

    /// Visits every block once, with the lowest hash of its range; the shard's bits are zero.
    pub(crate) fn each_block(&self, blocks: &Blocks, mut visit: impl FnMut(BlockRef, u64)) {
        let mut hash = 0_u64;
        while let Some(found) = self.block_ref(blocks, PositionHash(hash)) {
            visit(found, hash);
            let span = 1_u64 << (64 - SHARD_BITS - found.depth());
            hash += span;
            if hash >> (64 - SHARD_BITS) != 0 {
                break;
            }
        }
    }

    /// Buckets of all blocks, for the load factor.
    pub fn buckets(&self, blocks: &Blocks) -> u64 {
        let mut buckets = 0;
        self.each_block(blocks, |block, _| buckets += u64::from(block.buckets()));
        buckets
    }
}

#[inline]
fn bucket_at(blocks: &Blocks, slot: EntrySlot) -> &crate::bucket::Bucket {
    blocks.block(slot.block().frame(), slot.block().size()).bucket(slot.at().bucket)
}

/// Adds to a sum. Only the lock's holder writes, so a load and a store suffice.
#[inline]
fn add(sum: &AtomicU64, by: i64) {
    sum.store(sum.load(Relaxed).wrapping_add_signed(by), Relaxed);
}

/// The earliest tick of a block.
pub(crate) fn block_tick(blocks: &Blocks, frame: u32) -> Option<Tick> {
    let word = blocks.facts(frame).tick.load(Relaxed);
    (word & TICK_PRESENT != 0).then_some(Tick(narrow::low_u16(word.into())))
}

pub(crate) fn set_block_tick(blocks: &Blocks, frame: u32, tick: Option<Tick>) {
    let word = tick.map_or(0, |tick| TICK_PRESENT | u32::from(tick.0));
    blocks.facts(frame).tick.store(word, Relaxed);
}
