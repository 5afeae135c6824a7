//! Bitmaps: strings seen as bits, the first bit of a byte being its most significant one.
//!
//! Bits beyond the end of a string are zeros. Offsets and positions count bits from the string's
//! first; ranges have both ends included.

mod adders;
pub mod combine;
mod count;
pub mod field;
mod position;
mod view;
mod wide;

pub use view::{count, get, position};

use super::string::{StringError, StringMut, open_at_least};
use crate::access::Access;
use crate::key::Key;
use std::ops::{Range, RangeInclusive};

/// What SETBIT did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitSet {
    /// The bit as it was.
    pub old: bool,
    /// Whether the string is another one than before.
    pub changed: bool,
}

/// Sets or clears the bit at `offset` of a key, whose string is made long enough.
///
/// # Errors
/// When there is no room, or the string would be too long for a key to hold.
pub fn set(
    access: &mut Access<'_>,
    key: &Key<'_>,
    offset: u64,
    on: bool,
) -> Result<BitSet, StringError> {
    let at = (offset / 8) as usize;
    let (string, grown) = reaching(access, key, offset, std::iter::once(at..at + 1))?;
    let old = match string {
        StringMut::Whole(bytes) => set_in(&mut bytes[at], offset, on),
        StringMut::Long(mut long) => {
            long.with_bytes(at..at + 1, |bytes| set_in(&mut bytes[0], offset, on))
        }
    };
    Ok(BitSet { old, changed: grown || old != on })
}

/// Sets or clears a bit of its byte; returns what it was.
#[inline]
fn set_in(byte: &mut u8, offset: u64, on: bool) -> bool {
    let old = *byte & mask(offset) != 0;
    *byte = if on { *byte | mask(offset) } else { *byte & !mask(offset) };
    old
}

/// The string of a key for change, made to reach the bit at `offset`; and whether it was too short.
/// Of a long one these ranges of bytes can be written.
///
/// # Errors
/// As `set`.
pub fn reaching<'v, 'a>(
    access: &'v mut Access<'a>,
    key: &Key<'v>,
    offset: u64,
    written: impl Iterator<Item = Range<usize>>,
) -> Result<(StringMut<'v, 'a>, bool), StringError> {
    if offset > OFFSET_MAX {
        return Err(StringError::TooLong);
    }
    let len = (offset / 8) as usize + 1;
    let old_len = access.lookup_string_for_write(key)?.map_or(0, |value| value.len());
    Ok((open_at_least(access, key, old_len, len, written)?, old_len < len))
}

/// The range between two positions that may count from the end, of `len` bits or bytes; `None` if
/// it is empty.
pub fn range(len: u64, start: i64, end: i64) -> Option<RangeInclusive<u64>> {
    let place = |at: i64| {
        if at < 0 { len.saturating_sub(at.unsigned_abs()) } else { at.cast_unsigned() }
    };
    let (start, end) = (place(start), place(end).min(len.checked_sub(1)?));
    (start <= end).then_some(start..=end)
}

/// The bits of a range of bytes.
pub fn bits_of(bytes: RangeInclusive<u64>) -> RangeInclusive<u64> {
    bytes.start() * 8..=bytes.end() * 8 + 7
}

/// The parts of a range of bits that lies inside `bytes`: the bits of the first byte, whole bytes,
/// the bits of the last byte. A byte's bits come alone, the others being zero or `outside`.
struct Parts<'b> {
    first: u8,
    whole: &'b [u8],
    last: u8,
}

impl<'b> Parts<'b> {
    fn of(bytes: &'b [u8], range: &RangeInclusive<u64>, outside: bool) -> Parts<'b> {
        let (first, last) = ((range.start() / 8) as usize, (range.end() / 8) as usize);
        let (after_start, before_end) =
            (0xff_u8 >> (range.start() % 8), 0xff_u8 << (7 - range.end() % 8));
        let only = |byte: u8, inside: u8| if outside { byte | !inside } else { byte & inside };
        let neutral = if outside { 0xff } else { 0 };
        if first == last {
            let byte = only(bytes[first], after_start & before_end);
            return Parts { first: byte, whole: &[], last: neutral };
        }
        Parts {
            first: only(bytes[first], after_start),
            whole: &bytes[first + 1..last],
            last: only(bytes[last], before_end),
        }
    }
}

/// The bit at `offset` within its byte.
fn mask(offset: u64) -> u8 {
    0x80 >> (offset % 8)
}

/// The last bit that a string can be made to reach.
const OFFSET_MAX: u64 = (3 << 33) - 1;

#[cfg(test)]
pub(crate) mod model;
#[cfg(test)]
mod tests;
