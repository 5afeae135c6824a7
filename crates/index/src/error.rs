//! Error of an index that cannot grow.

/// No frame is left: the address space for the index is used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfBlocks;
