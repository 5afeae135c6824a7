//! Looks without the lock: hints about where an entry and its record are.
//!
//! Blocks and directories hold words of buckets and of directories for the life of the process, so
//! a look reads some atomic word, whatever became of the index meanwhile.

use crate::block::{Block, home_bucket};
use crate::blocks::{BUCKETS_PER_FRAME, Blocks};
use crate::bucket::Hint;
use crate::prefetch;
use crate::table::{BlockRef, Index, own_tag, tag_of};
use base::{Location, PositionHash};

/// Bucket in which a key's entry probably stands, and its tag there. One word, so that an array of
/// them is read in the pieces in which it was written.
///
/// ```text
/// | tag 16 | bucket 48 |
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Home(u64);

const BUCKET_BITS: u32 = 48;

impl Home {
    /// Home of a key in an index that never had an entry.
    pub const NOWHERE: Home = Home(u64::MAX);

    #[inline]
    fn new(block: BlockRef, hash: PositionHash) -> Home {
        let position = block.position(hash);
        let home = home_bucket(position, block.buckets());
        let bucket = u64::from(block.frame()) * BUCKETS_PER_FRAME as u64 + u64::from(home);
        Home(bucket | u64::from(tag_of(own_tag(hash), position)) << BUCKET_BITS)
    }

    #[inline]
    fn bucket(self) -> usize {
        (self.0 & ((1 << BUCKET_BITS) - 1)) as usize
    }

    #[inline]
    fn tag(self) -> u16 {
        (self.0 >> BUCKET_BITS) as u16
    }

    /// Prefetches the bucket.
    #[inline]
    pub fn prefetch(self, blocks: &Blocks) {
        prefetch(blocks.bucket_address(self.bucket()));
    }

    /// Looks for the entry in the bucket.
    #[inline]
    pub fn hint(self, blocks: &Blocks) -> Hint {
        blocks.bucket(self.bucket()).map_or(Hint::Absent, |bucket| bucket.hint(self.tag()))
    }
}

impl Index {
    /// Returns the bucket in which the entry of `hash` stands if it is not displaced.
    #[inline]
    pub fn home(&self, blocks: &Blocks, hash: PositionHash) -> Home {
        self.block_ref(blocks, hash).map_or(Home::NOWHERE, |block| Home::new(block, hash))
    }

    /// Prefetches the buckets to which natives of the home of `hash` were displaced.
    pub fn prefetch_displaced(&self, blocks: &Blocks, hash: PositionHash) {
        if let Some((block, home, _)) = self.hint(blocks, hash) {
            let marks = block.bucket(home).codes().marks();
            let buckets = block.marked_buckets(home, marks);
            buckets.for_each(|(_, bucket)| prefetch(std::ptr::from_ref(bucket)));
        }
    }

    /// Returns the probable location of the record of `hash` if its entry was displaced.
    pub fn hint_displaced(&self, blocks: &Blocks, hash: PositionHash) -> Option<Location> {
        let (block, home, tag) = self.hint(blocks, hash)?;
        let marks = block.bucket(home).codes().marks();
        block.marked_buckets(home, marks).find_map(|(code, bucket)| {
            let slot = bucket.matches(tag).find(|slot| bucket.codes().of(*slot) == code)?;
            Some(bucket.entry(slot).location())
        })
    }

    #[inline]
    fn hint<'b>(&self, blocks: &'b Blocks, hash: PositionHash) -> Option<(Block<'b>, u32, u16)> {
        let found = self.block_ref(blocks, hash).filter(|found| blocks.has(found.frame()))?;
        let block = blocks.block(found.frame(), found.size());
        let position = found.position(hash);
        Some((block, block.home(position), tag_of(own_tag(hash), position)))
    }
}
