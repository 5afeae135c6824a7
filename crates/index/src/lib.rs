//! The cache-line hash index: from a position hash to the location of a record.
//!
//! ```text
//! position hash  | shard 8 | directory 0-14 | block position 16 | ... | own tag bits 9 |
//!                              │                   │
//!           Index::root ──▶ directory ──▶ block ──▶ home bucket ──▶ up to five at +1 +4 +9 ...
//! ```
//! A block has 64 to 1,024 buckets and is rebuilt in one go when it fills; the largest splits in
//! two. Every word is atomic: the holder of the shard's lock changes buckets, others may look at
//! them without the lock, and what they find is a hint.
//!
//! Owner: the store's shards, one index per keyspace and shard.
//! Not here: keys (a trait tells their hashes), records, locks.
//! Start at: `bucket.rs`, then `block.rs`, then `table.rs`.
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

mod block;
mod blocks;
mod bucket;
mod directories;
mod error;
mod growth;
mod home;
mod indexes;
mod probe;
mod reserve;
mod scan;
mod scratch;
mod shrink;
mod sweep;
mod table;

pub use base::memory::prefetch;
pub use blocks::Blocks;
pub use bucket::{Entry, Hint, TIMED_PARTS};
pub use error::OutOfBlocks;
pub use home::Home;
pub use indexes::Indexes;
pub use scan::Position;
pub use sweep::DeadlineVisitor;
pub use table::{EntrySlot, Index};

use base::{Location, PositionHash};

/// Questions of the index to the owner of the records.
pub trait Records {
    /// The position hash of the key of the record at `at`.
    fn hash_of(&self, at: Location) -> PositionHash;

    /// Prefetches the record at `at`, for which `hash_of` will be called soon.
    fn prefetch(&self, at: Location);
}
