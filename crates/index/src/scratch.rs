//! Buffers for the rebuild of a block.

use crate::bucket::{Bucket, Entry};
use base::Tick;

/// Buffers of one rebuild.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// Entries taken out of the block.
    pub moved: Vec<Moved>,
    /// Copies of the buckets, to restore them if the rebuild fails.
    pub kept: Vec<Bucket>,
}

/// An entry on its way from one shape of the block to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved {
    /// Position in 17 bits, the lowest of which is known only where records were read.
    pub position: u32,
    /// Bits of the tag that come from the lowest bits of the hash.
    pub own: u16,
    /// Tick of its bucket, if the entry is timed.
    pub tick: Option<Tick>,
    /// The entry itself.
    pub entry: Entry,
}
