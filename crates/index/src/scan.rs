//! Walking an index in the order of position hashes, as SCAN does.

use crate::blocks::Blocks;
use crate::bucket::Entry;
use crate::table::{BlockRef, EntrySlot, Index, SHARD_BITS};
use base::{PositionHash, Random, ShardId};

/// Progress of a walk: the lowest position hash that it has not covered, in 40 bits. Positions
/// never change by growth, shrinking or displacement, so a walk misses nothing that stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(u64);

const CURSOR_SHIFT: u32 = 24;

impl Position {
    /// Begin of a walk.
    pub const START: Position = Position(0);

    /// Position at which a shard begins.
    pub fn of_shard(shard: ShardId) -> Position {
        Position(u64::from(shard.0) << (64 - SHARD_BITS))
    }

    /// Position of a hash.
    pub fn of_hash(hash: PositionHash) -> Position {
        Position(hash.0)
    }

    /// Position that a client's cursor names; bits that no position has are ignored.
    pub fn from_cursor(cursor: u64) -> Position {
        Position(cursor << CURSOR_SHIFT)
    }

    /// The cursor to continue from; zero only at the start.
    pub fn cursor(self) -> u64 {
        self.0 >> CURSOR_SHIFT
    }

    /// Returns the position as a hash, which names the shard in which to go on.
    pub fn hash(self) -> PositionHash {
        PositionHash(self.0)
    }

    /// Position at which the next shard begins; `None` after the last.
    pub fn next_shard(self) -> Option<Position> {
        let shard = (self.0 >> (64 - SHARD_BITS)) + 1;
        (shard < 1 << SHARD_BITS).then_some(Position(shard << (64 - SHARD_BITS)))
    }

    /// Position that stands at `place`, 2^16 at most, of the block in which this one lies; `None`
    /// when that is beyond its shard.
    #[inline]
    pub(crate) fn in_block(self, block: BlockRef, place: u32) -> Option<Position> {
        let width = SHARD_BITS + block.depth();
        let block_begin = self.0 & !(u64::MAX >> width);
        let there = block_begin.checked_add(u64::from(place) << (48 - width))?;
        (there >> (64 - SHARD_BITS) == self.0 >> (64 - SHARD_BITS)).then_some(Position(there))
    }
}

impl Index {
    /// Visits every native of the bucket in which `from` lies, wherever it was displaced to.
    /// Returns the begin of the next bucket; `None` when that is beyond this shard.
    #[inline]
    pub fn scan_bucket(
        &self,
        blocks: &Blocks,
        from: Position,
        mut visit: impl FnMut(EntrySlot, Entry),
    ) -> Option<Position> {
        let found = self.block_ref(blocks, from.hash())?;
        let block = blocks.block(found.frame(), found.size());
        let home = block.home(found.position(from.hash()));
        block.each_native(home, |at, entry| visit(EntrySlot::new(found, at), entry));
        from.in_block(found, block.lowest_position(home + 1))
    }

    /// Returns a random entry, each about as likely; `None` in an empty index.
    pub fn random(
        &self,
        blocks: &Blocks,
        shard: u8,
        random: &mut Random,
    ) -> Option<(EntrySlot, Entry)> {
        if self.is_empty() {
            return None;
        }
        let shard_bits = u64::from(shard) << (64 - SHARD_BITS);
        loop {
            let hash = PositionHash(shard_bits | random.next() >> SHARD_BITS);
            let found = self.block_ref(blocks, hash)?;
            let block = blocks.block(found.frame(), found.size());
            let bucket = narrow::low_u32(random.below(u64::from(block.len())));
            let slot = narrow::low_u32(random.below(7));
            if block.bucket(bucket).codes().of(slot) != 0 {
                let at = crate::block::SlotAt { bucket, slot };
                return Some((EntrySlot::new(found, at), block.bucket(bucket).entry(slot)));
            }
        }
    }
}
