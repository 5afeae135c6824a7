//! Shrinking, one block at a time: a block becomes smaller, or merges with its sibling.
//!
//! ```text
//! depth 5   | 01010: few entries | 01011: few entries |     siblings differ in the last bit
//! depth 4   | 0101: those of both                     |
//! ```
//! A split is undone when both halves together hold a third of what a block splits at, so no key
//! that comes and goes makes a block split and merge in turn. A directory that no block needs whole
//! is halved.

use crate::Records;
use crate::blocks::{Blocks, SIZES};
use crate::bucket::SLOTS;
use crate::growth::{bytes_of, gather, refill, restore};
use crate::table::{BlockRef, Index, SHARD_BITS, block_tick, set_block_tick};
use base::PositionHash;
use std::sync::atomic::Ordering::Relaxed;

/// Load below which a block shrinks, in percent of its slots.
const SHRINK_BELOW: u32 = 30;
/// Highest load after shrinking, in percent of the slots.
const SHRUNK_LOAD: u32 = 65;
/// Entries in two siblings together below which they merge: a third of what a block splits at.
const MERGE_BELOW: u32 = SIZES[SIZES.len() - 1] * SLOTS * SHRINK_BELOW / 100;

impl Index {
    /// Returns true if `shrink` would do something.
    #[inline]
    pub fn wants_shrink(&self, blocks: &Blocks, hash: PositionHash) -> bool {
        self.block_ref(blocks, hash).is_some_and(|block| {
            is_sparse(blocks, block) || self.sibling_to_merge(blocks, hash, block).is_some()
        })
    }

    /// Makes the block of `hash` smaller, or merges it with its sibling, if few of its slots are in
    /// use. To be called after a removal.
    pub fn shrink(&self, blocks: &Blocks, hash: PositionHash, records: &impl Records) {
        // Each round makes the block smaller or its depth less, or is the last for some time.
        while let Some(block) = self.block_ref(blocks, hash) {
            let is_done = if let Some(sibling) = self.sibling_to_merge(blocks, hash, block) {
                self.merge(blocks, hash, block, sibling, records)
            } else if is_sparse(blocks, block) {
                let sizes = shrunk_size(count_of(blocks, block))..block.size();
                self.resize(blocks, hash, block, sizes, records).is_ok()
            } else {
                return;
            };
            if !is_done {
                // Entries that crowd in a few buckets need them, however many others are empty.
                let facts = blocks.facts(block.frame());
                facts.stuck.store(facts.count.load(Relaxed).max(1), Relaxed);
                return;
            }
        }
    }

    /// Sibling of the block, if both are so empty that they may merge.
    #[inline]
    fn sibling_to_merge(
        &self,
        blocks: &Blocks,
        hash: PositionHash,
        block: BlockRef,
    ) -> Option<BlockRef> {
        let count = count_of(blocks, block);
        if block.depth() == 0 || count >= MERGE_BELOW || is_stuck(blocks, block) {
            return None;
        }
        let sibling = self.block_ref(blocks, PositionHash(hash.0 ^ last_bit(block)))?;
        let is_whole = sibling.depth() == block.depth() && !is_stuck(blocks, sibling);
        (is_whole && count + count_of(blocks, sibling) < MERGE_BELOW).then_some(sibling)
    }

    fn merge(
        &self,
        blocks: &Blocks,
        hash: PositionHash,
        block: BlockRef,
        sibling: BlockRef,
        records: &impl Records,
    ) -> bool {
        let is_upper = hash.0 & last_bit(block) != 0;
        let halves = if is_upper { [sibling, block] } else { [block, sibling] };
        let mut scratches = [blocks.borrow_scratch(), blocks.borrow_scratch()];
        for (half, scratch) in halves.iter().zip(&mut scratches) {
            gather(blocks, *half, records, scratch);
        }
        let [lower, upper] = halves;
        let entries = || {
            let numbered = scratches.iter().zip([0, 1 << 15]);
            numbered.flat_map(|(half, bit)| {
                half.moved.iter().map(move |it| (bit | it.position >> 2, it))
            })
        };
        let count = scratches.iter().map(|half| narrow::to_u32(half.moved.len())).sum();
        let mut shapes = (shrunk_size(count)..narrow::to_u32(SIZES.len()))
            .map(|size| BlockRef::new(lower.frame(), size, lower.depth() - 1));
        let merged = shapes.find(|shape| refill(blocks, *shape, entries()));
        if let Some(merged) = merged {
            let ticks = halves.map(|half| block_tick(blocks, half.frame()));
            let tick = match ticks {
                [Some(one), Some(other)] => Some(one.earlier(other)),
                [one, other] => one.or(other),
            };
            set_block_tick(blocks, merged.frame(), tick);
            blocks.resize_frame(lower.frame(), bytes_of(lower.size()), bytes_of(merged.size()));
            self.point_at(blocks, hash, merged);
            blocks.give_back(upper.frame(), bytes_of(upper.size()));
            self.halve_directory(blocks);
        } else {
            halves.iter().zip(&scratches).for_each(|(half, it)| restore(blocks, *half, it));
        }
        scratches.into_iter().for_each(|scratch| blocks.return_scratch(scratch));
        merged.is_some()
    }

    /// Halves the directory for as long as no block needs all of its bits.
    fn halve_directory(&self, blocks: &Blocks) {
        loop {
            let (depth, root) = (self.depth(), narrow::low_u32(self.root.load(Relaxed)));
            if depth == 0 {
                return;
            }
            let words = blocks.directories.words(root, depth);
            let word = |at: usize| BlockRef(words[at].load(Relaxed));
            if (0..words.len()).any(|at| word(at).depth() == depth) {
                return;
            }
            if depth == 1 {
                self.set_root(0, word(0).0);
            } else {
                // Without address space for a smaller one, the larger stays.
                let Ok(smaller) = blocks.take_directory(depth - 1) else { return };
                let halved = blocks.directories.words(smaller, depth - 1);
                for (at, to) in halved.iter().enumerate() {
                    to.store(word(2 * at).0, Relaxed);
                }
                self.set_root(depth - 1, smaller);
            }
            blocks.give_back_directory(root, depth);
        }
    }
}

fn count_of(blocks: &Blocks, block: BlockRef) -> u32 {
    blocks.facts(block.frame()).count.load(Relaxed)
}

/// Returns true if a smaller block would do. One that could not be made smaller is tried again when
/// half of its entries are gone, so that a removal costs little on average.
fn is_sparse(blocks: &Blocks, block: BlockRef) -> bool {
    let is_sparse = count_of(blocks, block) * 100 < block.buckets() * SLOTS * SHRINK_BELOW;
    block.size() > 0 && is_sparse && !is_stuck(blocks, block)
}

fn is_stuck(blocks: &Blocks, block: BlockRef) -> bool {
    let facts = blocks.facts(block.frame());
    let (count, stuck) = (facts.count.load(Relaxed), facts.stuck.load(Relaxed));
    stuck > 0 && count * 2 >= stuck
}

/// Smallest size, as an index into `SIZES`, in which `count` entries stay within `SHRUNK_LOAD`.
fn shrunk_size(count: u32) -> u32 {
    let wanted = count * 100 / (SHRUNK_LOAD * SLOTS);
    narrow::to_u32(SIZES.iter().position(|buckets| *buckets > wanted).unwrap_or(SIZES.len() - 1))
}

/// The bit of a hash in which the two halves of a split differ.
fn last_bit(block: BlockRef) -> u64 {
    1 << (64 - SHARD_BITS - block.depth())
}
