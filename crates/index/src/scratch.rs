//! What a block is taken apart into when it is rebuilt.

use crate::bucket::{Bucket, Entry};
use base::Tick;

/// What a rebuild works with.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    /// The entries on their way.
    pub moved: Vec<Moved>,
    /// The buckets as they were.
    pub kept: Vec<Bucket>,
}

/// An entry on its way from one shape of the block to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved {
    /// Position in 17 bits, the lowest of which only a split knows.
    pub position: u32,
    /// The bits of the tag that are the hash's own.
    pub own: u16,
    /// The tick of its bucket, if it is timed.
    pub tick: Option<Tick>,
    /// What stands in the bucket.
    pub entry: Entry,
}
