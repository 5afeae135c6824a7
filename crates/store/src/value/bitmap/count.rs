//! Number of bits set in a range.

use super::Parts;
use super::wide::count_bytes;
use std::ops::RangeInclusive;

/// Counts the bits that are set within a range, which must lie inside `bytes`.
pub fn count(bytes: &[u8], range: &RangeInclusive<u64>) -> u64 {
    let parts = Parts::of(bytes, range, false);
    let edges = parts.first.count_ones() + parts.last.count_ones();
    u64::from(edges) + count_bytes(parts.whole)
}
