//! Bitmaps: strings as arrays of bits, the most significant bit of each byte first.
//!
//! Bits beyond the end of a string are zeros. Offsets and positions count bits from the start of
//! the string; ranges include both ends.

mod adders;
pub mod combine;
mod count;
pub mod field;
mod position;
mod view;
mod wide;

pub use view::{count, get, position};

use super::string::{StringError, StringMut, StringView, open_at_least};
use crate::access::Access;
use crate::key::Key;
use std::ops::{Range, RangeInclusive};

/// Outcome of SETBIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BitSet {
    /// Value of the bit before the change.
    pub old: bool,
    /// True if the string has changed.
    pub changed: bool,
}

/// Sets or clears the bit at `offset` in the string of a key, lengthened or created if need be.
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
    let is_same =
        access.has_key_listener() && stays(access, key, offset, |string| get(string, offset) == on);
    access.unseen_if(is_same, |access| {
        let (string, grown) = reaching(access, key, offset, std::iter::once(at..at + 1))?;
        let old = match string {
            StringMut::Whole(bytes) => set_in(&mut bytes[at], offset, on),
            StringMut::Long(mut long) => {
                long.with_bytes(at..at + 1, |bytes| set_in(&mut bytes[0], offset, on))
            }
        };
        Ok(BitSet { old, changed: grown || old != on })
    })
}

/// Returns true if the string of a key reaches to the bit at `offset` and `is_same` as what is
/// about to be written.
pub fn stays(
    access: &Access<'_>,
    key: &Key<'_>,
    offset: u64,
    is_same: impl FnOnce(&StringView<'_>) -> bool,
) -> bool {
    let string = access.lookup_string_without_touch(key).ok().flatten();
    string.is_some_and(|string| offset / 8 < string.len() as u64 && is_same(&string))
}

/// Sets or clears the bit at `offset` in its byte; returns the old bit.
#[inline]
fn set_in(byte: &mut u8, offset: u64, on: bool) -> bool {
    let old = *byte & mask(offset) != 0;
    *byte = if on { *byte | mask(offset) } else { *byte & !mask(offset) };
    old
}

/// Opens the string of a key for change, lengthened to include the bit at `offset`; the flag says
/// that it was too short. `written` are the byte ranges that may be written in a long string.
///
/// # Errors
/// Those of [`set`].
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

/// Resolves two positions, negative ones counted from the end, to a range of `len` bits or bytes;
/// `None` if it is empty.
pub fn range(len: u64, start: i64, end: i64) -> Option<RangeInclusive<u64>> {
    let place = |at: i64| {
        if at < 0 { len.saturating_sub(at.unsigned_abs()) } else { at.cast_unsigned() }
    };
    let (start, end) = (place(start), place(end).min(len.checked_sub(1)?));
    (start <= end).then_some(start..=end)
}

/// Range of the bits in a range of bytes.
pub fn bits_of(bytes: RangeInclusive<u64>) -> RangeInclusive<u64> {
    bytes.start() * 8..=bytes.end() * 8 + 7
}

/// A range of bits that lies inside `bytes`, split into the bits of the first byte, whole bytes,
/// and the bits of the last byte. In the first and last byte, bits that are not in the range are
/// zeros, or ones if `outside`.
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

/// Mask of the bit at `offset` within its byte.
fn mask(offset: u64) -> u8 {
    0x80 >> (offset % 8)
}

/// Largest offset of a bit in a string.
const OFFSET_MAX: u64 = (3 << 33) - 1;

#[cfg(test)]
pub(crate) mod model;
#[cfg(test)]
mod tests;
