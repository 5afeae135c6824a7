//! Lengths of the slices in which large values are read.

/// Elements that are looked at under one hold of a lock.
pub(crate) const LOOKED_AT: usize = 2048;
