//! Growth, one block at a time: a rebuild takes 0.1 to 0.4 ms.
//!
//! The seven low bits of a tag repeat those of the position, and the natives of one bucket have at
//! most 128 positions once a block has 512 buckets, so the exact position of an entry is recovered
//! from bucket and tag. Only a split needs one bit more, and reads the records for it; so does the
//! growth of small blocks.

use crate::Records;
use crate::block::Block;
use crate::blocks::{Blocks, SIZES};
use crate::bucket::{Bucket, SLOTS};
use crate::directories::DEPTH_MAX;
use crate::error::OutOfBlocks;
use crate::scratch::{Moved, Scratch};
use crate::table::{BlockRef, Index, block_tick, own_tag, set_block_tick, tag_of};
use base::PositionHash;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;

/// Number of buckets from which positions are recovered without reading records.
const EXACT_FROM_BUCKETS: u32 = 512;
/// Smallest size of the two halves of a split, as an index into `SIZES`: 640 buckets.
const SPLIT_SIZE: u32 = 5;
/// Records prefetched ahead of those that are read.
const AHEAD: usize = 12;

impl Index {
    pub(crate) fn create(&self, blocks: &Blocks) -> Result<BlockRef, OutOfBlocks> {
        let block = BlockRef::new(blocks.take(bytes_of(0))?, 0, 0);
        self.set_root(0, block.0);
        Ok(block)
    }

    /// Makes the block of `hash` larger, or splits it.
    #[cold]
    pub(crate) fn grow(
        &self,
        blocks: &Blocks,
        hash: PositionHash,
        block: BlockRef,
        records: &impl Records,
    ) -> Result<(), OutOfBlocks> {
        let entries = blocks.facts(block.frame()).count.load(Relaxed);
        blocks.note_growth(entries, block.buckets() * SLOTS);
        let larger = block.size() + 1;
        if self.resize(blocks, hash, block, larger..narrow::to_u32(SIZES.len()), records).is_ok() {
            return Ok(());
        }
        self.split(blocks, hash, block, records)
    }

    /// Rebuilds a block with the first of `sizes` into which its entries fit.
    pub(crate) fn resize(
        &self,
        blocks: &Blocks,
        hash: PositionHash,
        block: BlockRef,
        mut sizes: Range<u32>,
        records: &impl Records,
    ) -> Result<(), OutOfBlocks> {
        if sizes.is_empty() {
            return Err(OutOfBlocks);
        }
        let mut scratch = blocks.borrow_scratch();
        gather(blocks, block, records, &mut scratch);
        let entries = || scratch.moved.iter().map(|it| (it.position >> 1, it));
        let shape = |size| BlockRef::new(block.frame(), size, block.depth());
        let fitting = sizes.find(|size| refill(blocks, shape(*size), entries()));
        match fitting {
            Some(size) => {
                blocks.resize_frame(block.frame(), bytes_of(block.size()), bytes_of(size));
                self.point_at(blocks, hash, shape(size));
            }
            None => restore(blocks, block, &scratch),
        }
        blocks.return_scratch(scratch);
        fitting.map(|_| ()).ok_or(OutOfBlocks)
    }

    fn split(
        &self,
        blocks: &Blocks,
        hash: PositionHash,
        block: BlockRef,
        records: &impl Records,
    ) -> Result<(), OutOfBlocks> {
        if block.depth() == self.depth() {
            self.deepen(blocks)?;
        }
        let upper_frame = blocks.take(0)?;
        let mut scratch = blocks.borrow_scratch();
        gather_buckets(blocks, block, &mut scratch);
        read_positions(&mut scratch.moved, block, records);
        let depth = block.depth() + 1;
        let tick = block_tick(blocks, block.frame());
        let half = |bit: u32, frame: u32| {
            let entries = || {
                let half = scratch.moved.iter().filter(move |it| it.position >> 16 == bit);
                half.map(|it| (it.position & 0xffff, it))
            };
            let sizes = SPLIT_SIZE..narrow::to_u32(SIZES.len());
            let mut shapes = sizes.map(|size| BlockRef::new(frame, size, depth));
            shapes.find(|shape| refill(blocks, *shape, entries()))
        };
        let halves = half(1, upper_frame).zip(half(0, block.frame()));
        if let Some((upper, lower)) = halves {
            blocks.resize_frame(upper_frame, 0, bytes_of(upper.size()));
            blocks.resize_frame(block.frame(), bytes_of(block.size()), bytes_of(lower.size()));
            set_block_tick(blocks, upper_frame, tick);
            let upper_bit = 1_u64 << (64 - crate::table::SHARD_BITS - depth);
            self.point_at(blocks, PositionHash(hash.0 & !upper_bit), lower);
            self.point_at(blocks, PositionHash(hash.0 | upper_bit), upper);
        } else {
            restore(blocks, block, &scratch);
            blocks.give_back(upper_frame, 0);
        }
        blocks.return_scratch(scratch);
        halves.map(|_| ()).ok_or(OutOfBlocks)
    }

    /// Doubles the directory; each entry becomes two.
    fn deepen(&self, blocks: &Blocks) -> Result<(), OutOfBlocks> {
        let depth = self.depth();
        let root = narrow::low_u32(self.root.load(Relaxed));
        if depth == DEPTH_MAX {
            return Err(OutOfBlocks);
        }
        let larger = blocks.take_directory(depth + 1)?;
        let words = blocks.directories.words(larger, depth + 1);
        if depth == 0 {
            words.iter().for_each(|word| word.store(root, Relaxed));
        } else {
            for (at, word) in blocks.directories.words(root, depth).iter().enumerate() {
                let word = word.load(Relaxed);
                words[2 * at].store(word, Relaxed);
                words[2 * at + 1].store(word, Relaxed);
            }
            blocks.give_back_directory(root, depth);
        }
        self.set_root(depth + 1, larger);
        Ok(())
    }

    /// Points all directory entries of the block of `hash` to `block`.
    pub(crate) fn point_at(&self, blocks: &Blocks, hash: PositionHash, block: BlockRef) {
        let depth = self.depth();
        if depth == 0 {
            self.set_root(0, block.0);
            return;
        }
        let words = blocks.directories.words(narrow::low_u32(self.root.load(Relaxed)), depth);
        let span = 1_usize << (depth - block.depth());
        let at = narrow::to_usize((hash.0 << crate::table::SHARD_BITS) >> (64 - depth));
        let first = at & !(span - 1);
        words[first..first + span].iter().for_each(|word| word.store(block.0, Relaxed));
    }

    /// Gives all blocks back. The caller counts what the entries named.
    pub fn clear(&self, blocks: &Blocks) {
        self.each_block(blocks, |block, _| {
            blocks.give_back(block.frame(), bytes_of(block.size()));
        });
        let depth = self.depth();
        if depth > 0 {
            blocks.give_back_directory(narrow::low_u32(self.root.load(Relaxed)), depth);
        }
        self.clear_root();
    }
}

pub(crate) fn bytes_of(size: u32) -> usize {
    SIZES[size as usize] as usize * size_of::<Bucket>()
}

/// Takes all entries out of a block, with their positions, and keeps a copy of its buckets.
pub(crate) fn gather(
    blocks: &Blocks,
    from: BlockRef,
    records: &impl Records,
    scratch: &mut Scratch,
) {
    gather_buckets(blocks, from, scratch);
    if from.buckets() < EXACT_FROM_BUCKETS {
        read_positions(&mut scratch.moved, from, records);
    }
}

/// As `gather`, without reading records: positions are exact from `EXACT_FROM_BUCKETS` buckets on.
fn gather_buckets(blocks: &Blocks, from: BlockRef, scratch: &mut Scratch) {
    let block = blocks.block(from.frame(), from.size());
    for number in 0..block.len() {
        let bucket = block.bucket(number);
        let codes = bucket.codes();
        let tick = bucket.tick();
        for slot in codes.occupied() {
            let (entry, tag) = (bucket.entry(slot), bucket.tag(slot));
            let lowest = block.lowest_position(block.home_of(number, codes.of(slot)));
            let position = lowest + ((u32::from(tag) & 0x7f).wrapping_sub(lowest) & 0x7f);
            let tick = tick.filter(|_| entry.is_timed());
            scratch.moved.push(Moved { position: position << 1, own: tag >> 7, tick, entry });
        }
        let kept = Bucket::default();
        kept.copy_from(bucket);
        scratch.kept.push(kept);
        bucket.clear();
    }
}

/// Restores a block to its state before `gather`.
pub(crate) fn restore(blocks: &Blocks, block: BlockRef, scratch: &Scratch) {
    let buckets = blocks.block(block.frame(), block.size());
    for (number, kept) in scratch.kept.iter().enumerate() {
        buckets.bucket(narrow::to_u32(number)).copy_from(kept);
    }
    let count = narrow::to_u32(scratch.moved.len());
    blocks.facts(block.frame()).count.store(count, Relaxed);
    blocks.resize_frame(block.frame(), bytes_of(block.size()), bytes_of(block.size()));
}

/// Reads the hashes of the records, prefetching ahead so that their cache misses overlap.
fn read_positions(moved: &mut [Moved], from: BlockRef, records: &impl Records) {
    moved.iter().take(AHEAD).for_each(|it| records.prefetch(it.entry.location()));
    for at in 0..moved.len() {
        if let Some(next) = moved.get(at + AHEAD) {
            records.prefetch(next.entry.location());
        }
        let hash = records.hash_of(moved[at].entry.location());
        debug_assert_eq!(own_tag(hash), moved[at].own, "a record keeps its key");
        let shifted = hash.0 << (crate::table::SHARD_BITS + from.depth());
        moved[at].position = (shifted >> 47) as u32;
    }
}

/// Fills an empty block; returns false, with the block empty again, if it is too small.
pub(crate) fn refill<'m>(
    blocks: &Blocks,
    into: BlockRef,
    moved: impl Iterator<Item = (u32, &'m Moved)>,
) -> bool {
    let block: Block<'_> = blocks.block(into.frame(), into.size());
    let mut count = 0;
    for (position, it) in moved {
        let tag = tag_of(it.own, position);
        let Some(at) = block.place(block.home(position), tag, it.entry) else {
            (0..block.len()).for_each(|bucket| block.bucket(bucket).clear());
            return false;
        };
        if let Some(tick) = it.tick {
            block.bucket(at.bucket).note_tick(tick);
        }
        count += 1;
    }
    let facts = blocks.facts(into.frame());
    facts.count.store(count, Relaxed);
    facts.stuck.store(0, Relaxed);
    true
}
