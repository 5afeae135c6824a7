//! Position of the first set or clear bit.

use super::Parts;
use std::ops::RangeInclusive;

/// Finds the first bit equal to `on` within a range, which must lie inside `bytes`.
pub fn position(bytes: &[u8], on: bool, range: &RangeInclusive<u64>) -> Option<u64> {
    let parts = Parts::of(bytes, range, !on);
    let first = range.start() / 8;
    let in_first = || in_byte(parts.first, on).map(|bit| first * 8 + bit);
    let in_whole = || in_bytes(parts.whole, on).map(|bit| (first + 1) * 8 + bit);
    let in_last = || in_byte(parts.last, on).map(|bit| range.end() / 8 * 8 + bit);
    in_first().or_else(in_whole).or_else(in_last)
}

fn in_byte(byte: u8, on: bool) -> Option<u64> {
    let skipped = if on { byte.leading_zeros() } else { byte.leading_ones() };
    (skipped < 8).then_some(skipped.into())
}

fn in_bytes(bytes: &[u8], on: bool) -> Option<u64> {
    let dull = if on { 0_u8 } else { 0xff };
    let (words, _) = bytes.as_chunks::<8>();
    let dull_words = words.iter().take_while(|word| **word == [dull; 8]).count();
    let rest = &bytes[dull_words * 8..];
    let at = rest.iter().position(|byte| *byte != dull)?;
    in_byte(rest[at], on).map(|bit| (dull_words * 8 + at) as u64 * 8 + bit)
}
