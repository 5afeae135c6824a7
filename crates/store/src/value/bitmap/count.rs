//! How many bits are set.

use super::Parts;
use super::wide::count_bytes;
use std::ops::RangeInclusive;

/// Bits set within a range of bits, which must lie inside `bytes`.
pub fn count(bytes: &[u8], range: &RangeInclusive<u64>) -> u64 {
    let parts = Parts::of(bytes, range, false);
    let edges = parts.first.count_ones() + parts.last.count_ones();
    u64::from(edges) + count_bytes(parts.whole)
}
