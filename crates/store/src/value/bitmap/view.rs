//! Bit operations on strings in one piece and in chunks.

use super::count::count as count_in;
use super::wide::count_bytes;
use super::{mask, position::position as position_in};
use crate::value::long_string::{LongView, Part};
use crate::value::string::{Form, StringView};
use std::ops::RangeInclusive;

/// The bit at `offset`.
pub fn get(string: &StringView<'_>, offset: u64) -> bool {
    let Ok(at) = usize::try_from(offset / 8) else { return false };
    let byte = match string.form {
        Form::Whole(bytes) => bytes.get(at).copied(),
        Form::Long(long) => long.byte(at),
    };
    byte.is_some_and(|byte| byte & mask(offset) != 0)
}

/// Counts the bits that are set within a range, which must lie inside the string.
pub fn count(string: &StringView<'_>, range: &RangeInclusive<u64>) -> u64 {
    match string.form {
        Form::Whole(bytes) => count_in(bytes, range),
        Form::Long(long) => parts(long, range)
            .map(|(_, part, bits)| match part {
                Part::Bytes(bytes) if is_all(bytes, &bits) => count_bytes(bytes),
                Part::Bytes(bytes) => count_in(bytes, &bits),
                Part::Zeros(_) => 0,
            })
            .sum(),
    }
}

/// Finds the first bit equal to `on` within a range, which must lie inside the string.
pub fn position(string: &StringView<'_>, on: bool, range: &RangeInclusive<u64>) -> Option<u64> {
    match string.form {
        Form::Whole(bytes) => position_in(bytes, on, range),
        Form::Long(long) => parts(long, range).find_map(|(begin, part, bits)| {
            let found = match part {
                Part::Bytes(bytes) => position_in(bytes, on, &bits)?,
                Part::Zeros(_) if on => return None,
                Part::Zeros(_) => *bits.start(),
            };
            Some(begin + found)
        }),
    }
}

fn is_all(bytes: &[u8], bits: &RangeInclusive<u64>) -> bool {
    *bits == (0..=bytes.len() as u64 * 8 - 1)
}

/// Splits a range of bits by chunks: the offset of the first bit of each part, the part, and the
/// range within it.
fn parts<'a>(
    long: LongView<'a>,
    range: &RangeInclusive<u64>,
) -> impl Iterator<Item = (u64, Part<'a>, RangeInclusive<u64>)> {
    let (first, last) = (*range.start(), *range.end());
    let mut at = first / 8 * 8;
    long.parts((first / 8) as usize..(last / 8) as usize + 1).map(move |part| {
        let begin = at;
        at += part.len() as u64 * 8;
        (begin, part, first.max(begin) - begin..=last.min(at - 1) - begin)
    })
}
