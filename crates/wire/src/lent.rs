//! Bytes of replies that are sent from where they lie, instead of being copied into the output.

use std::fmt::Debug;
use std::io::IoSlice;

/// Bytes that stay where they are, and as they are, until this is dropped.
pub trait LentBytes: Debug + Send {
    /// Number of bytes.
    fn len(&self) -> usize;

    /// Returns true if there are no bytes.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory that it takes besides the bytes that are lent.
    fn overhead(&self) -> usize;

    /// Fills `slices` with at most `most` bytes from `from` on, and returns how many slices were
    /// filled.
    fn slices<'l>(&'l self, from: usize, most: usize, slices: &mut [IoSlice<'l>]) -> usize;
}

/// What the replies in an output leave out, as it is lent, in the order of its places.
#[derive(Debug, Default)]
pub struct Lent {
    all: Vec<(usize, Box<dyn LentBytes>)>,
    /// Their bytes together.
    bytes: usize,
}

impl Lent {
    /// Returns true if nothing is lent.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Number of bytes that are lent.
    pub fn len(&self) -> usize {
        self.bytes
    }

    /// Drops what stands behind the first `end` bytes of the output.
    pub fn truncate(&mut self, end: usize) {
        self.all.retain(|(at, _)| *at <= end);
        self.bytes = self.all.iter().map(|(_, bytes)| bytes.len()).sum();
    }

    /// Takes all, each with the number of bytes of the output that come before it.
    pub fn take(&mut self) -> Vec<(usize, Box<dyn LentBytes>)> {
        std::mem::take(self).all
    }

    pub(crate) fn add(&mut self, at: usize, bytes: Box<dyn LentBytes>) {
        self.bytes += bytes.len();
        self.all.push((at, bytes));
    }
}
