//! What records count for: their live bytes, and those that they may still grow into.

use crate::counters::Counters;
use crate::key::Label;
use heap::{Record, Weight};

/// What a record counts for. Nodes and collections in one record grow bit by bit, so their gap is
/// spare; that of a string is what an older value left.
///
/// # Safety
/// The caller holds the owner's lock.
#[inline]
pub(crate) unsafe fn weight_of(record: &Record<'_>) -> Weight {
    // SAFETY: as the caller says.
    unsafe { record.weight(record.is_node() || Label(record.label()).grows()) }
}

impl Counters {
    /// Counts bytes that came.
    #[inline]
    pub fn gain(&self, weight: Weight) {
        self.live_bytes.add(u64::from(weight.live));
        self.spare_bytes.add(u64::from(weight.spare));
    }

    /// Counts bytes that went.
    #[inline]
    pub fn lose(&self, weight: Weight) {
        self.live_bytes.sub(u64::from(weight.live));
        self.spare_bytes.sub(u64::from(weight.spare));
    }
}
