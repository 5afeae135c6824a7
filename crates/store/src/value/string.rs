//! Strings: numbers, appends, ranges.
//!
//! Functions that change a key take the access to it. All of them check before they change, so an
//! error leaves the key as it was. Module `long_string` keeps strings of more than 512 KiB in
//! chunks.

mod attributes;
mod view;
mod whole;

pub use view::{Form, StringView};

use super::long_string::{LongMut, WHOLE_BYTES_MAX};
use crate::access::Access;
use crate::fault::{Fault, NoSpace, WrongKind};
use crate::key::{Encoding, Expiry, Key};
use std::ops::Range;
use text::{FloatError, IntegerText};

/// Reason for which a string was not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StringError {
    /// The value is no integer of 64 bits.
    #[error("the value is no integer")]
    NotInteger,
    /// The sum is no integer of 64 bits.
    #[error("the sum is out of range")]
    Overflow,
    /// The value or the increment is no decimal number, or the sum is not finite.
    #[error(transparent)]
    Float(FloatError),
    /// The string would be longer than allowed.
    #[error("the string would be too long")]
    TooLong,
    /// There is no room for the new value.
    #[error("no space")]
    NoSpace,
    /// The key does not hold a string.
    #[error("the key holds no string")]
    WrongKind,
}

impl From<WrongKind> for StringError {
    fn from(_: WrongKind) -> StringError {
        StringError::WrongKind
    }
}

impl From<NoSpace> for StringError {
    fn from(_: NoSpace) -> StringError {
        StringError::NoSpace
    }
}

impl From<Fault> for StringError {
    fn from(fault: Fault) -> StringError {
        match fault {
            Fault::WrongKind => StringError::WrongKind,
            Fault::NoSpace => StringError::NoSpace,
        }
    }
}

/// Condition of a write on the present value of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition<'v> {
    /// True for any value and for none.
    Always,
    /// The key does not exist.
    Absent,
    /// The key exists.
    Present,
    /// The value equals these bytes.
    Equals(&'v [u8]),
}

impl Condition<'_> {
    /// Returns true if the present value of the key meets the condition. Counts as an access to the
    /// key.
    ///
    /// # Errors
    /// When the key does not hold a string and the condition is `Equals`.
    pub fn is_met(self, access: &mut Access<'_>, key: &Key<'_>) -> Result<bool, WrongKind> {
        if let Condition::Equals(wanted) = self {
            return Ok(access
                .lookup_string_for_write(key)?
                .is_some_and(|present| present == *wanted));
        }
        let is_present = access.lookup_for_write(key).is_some();
        Ok(match self {
            Condition::Absent => !is_present,
            Condition::Present => is_present,
            Condition::Always | Condition::Equals(_) => true,
        })
    }
}

/// Resolves positions `start` to `end`, both included, in a string of `len` bytes. Negative
/// positions count from the end.
pub fn range(len: usize, start: i64, end: i64) -> Range<usize> {
    if start < 0 && end < 0 && start > end {
        return 0..0;
    }
    let place = |at: i64| {
        let from_end = usize::try_from(at.unsigned_abs()).unwrap_or(usize::MAX);
        if at < 0 { len.saturating_sub(from_end) } else { from_end }
    };
    let end = place(end).saturating_add(1).min(len);
    place(start).min(end)..end
}

/// Adds to the integer of a key; a missing key counts as zero. Returns the sum.
///
/// # Errors
/// When value or sum is no integer of 64 bits, or there is no room.
#[inline]
pub fn add(access: &mut Access<'_>, key: &Key<'_>, by: i64) -> Result<i64, StringError> {
    let present = match access.lookup_string_for_write(key)? {
        Some(value) => value.as_slice().and_then(text::parse_i64).ok_or(StringError::NotInteger)?,
        None => 0,
    };
    let sum = present.checked_add(by).ok_or(StringError::Overflow)?;
    access.change_string(key, IntegerText::new().format(sum), Encoding::Int)?;
    Ok(sum)
}

/// Adds to the decimal number of a key; a missing key counts as zero. Returns the text of the sum.
///
/// # Errors
/// When value, `by` or sum is no finite decimal number, or there is no room.
pub fn add_float(access: &mut Access<'_>, key: &Key<'_>, by: &[u8]) -> Result<String, StringError> {
    let present = match access.lookup_string_for_write(key)? {
        // A string in chunks is too long to be a number.
        Some(value) => value.as_slice().unwrap_or(b"long"),
        None => b"0",
    };
    let sum = text::add_floats(present, by).map_err(StringError::Float)?;
    access.change_string(key, sum.as_bytes(), Encoding::Embedded)?;
    Ok(sum)
}

/// Appends to the string of a key, which is created if need be. Returns the new length.
///
/// # Errors
/// When it would be longer than `len_max`, or there is no room.
pub fn append(
    access: &mut Access<'_>,
    key: &Key<'_>,
    tail: &[u8],
    len_max: u64,
) -> Result<usize, StringError> {
    let Some(old_len) = access.lookup_string_for_write(key)?.map(|value| value.len()) else {
        access.set_string(key, tail, Encoding::of_new(tail), Expiry::Never)?;
        return Ok(tail.len());
    };
    let len = sum_within(old_len, tail.len(), len_max)?;
    if len > WHOLE_BYTES_MAX {
        return Ok(write_to_long(access, key, old_len, tail)?);
    }
    access.resize(key, len)?[old_len..].copy_from_slice(tail);
    Ok(len)
}

/// Overwrites the string of a key with `patch` from offset `at` on; a gap between the old end and
/// `at` is filled with zeros. Returns the new length; leaves the key alone if `patch` is empty.
///
/// # Errors
/// When it would be longer than `len_max`, or there is no room.
pub fn set_range(
    access: &mut Access<'_>,
    key: &Key<'_>,
    at: usize,
    patch: &[u8],
    len_max: u64,
) -> Result<usize, StringError> {
    let old_len = access.lookup_string_for_write(key)?.map_or(0, |value| value.len());
    if patch.is_empty() {
        return Ok(old_len);
    }
    let end = sum_within(at, patch.len(), len_max)?;
    if old_len.max(end) > WHOLE_BYTES_MAX {
        return Ok(write_to_long(access, key, at, patch)?);
    }
    let value = at_least(access, key, old_len, end)?;
    value[at..end].copy_from_slice(patch);
    Ok(value.len())
}

/// Upper bound of the bytes that a string which is made to end at `end` or later needs besides
/// those written to it: the bytes before them, unless that place is a hole.
pub fn bytes_before(end: usize) -> usize {
    if end > WHOLE_BYTES_MAX { 0 } else { end }
}

fn write_to_long(
    access: &mut Access<'_>,
    key: &Key<'_>,
    at: usize,
    patch: &[u8],
) -> Result<usize, Fault> {
    let end = at + patch.len();
    let mut string = access.open_long(key, end, std::iter::once(at..end))?;
    string.write(at, patch);
    Ok(string.len())
}

/// A string opened for change: all bytes of one in one piece, or some ranges of a long one.
#[derive(Debug)]
pub enum StringMut<'v, 'a> {
    /// In one piece.
    Whole(&'v mut [u8]),
    /// In chunks.
    Long(LongMut<'v, 'a>),
}

/// Opens the string of a key, `old_len` bytes long, for change; lengthened to `len` bytes if it is
/// shorter. `written` are the byte ranges that may be written in a long string; they lie inside.
pub(crate) fn open_at_least<'v, 'a>(
    access: &'v mut Access<'a>,
    key: &Key<'v>,
    old_len: usize,
    len: usize,
    written: impl Iterator<Item = Range<usize>>,
) -> Result<StringMut<'v, 'a>, Fault> {
    if old_len.max(len) > WHOLE_BYTES_MAX {
        return access.open_long(key, len, written).map(StringMut::Long);
    }
    Ok(StringMut::Whole(at_least(access, key, old_len, len)?))
}

/// Does the same for a string that is and stays in one piece.
fn at_least<'v>(
    access: &'v mut Access<'_>,
    key: &Key<'v>,
    old_len: usize,
    len: usize,
) -> Result<&'v mut [u8], NoSpace> {
    if old_len >= len { access.edit(key).ok_or(NoSpace) } else { access.resize(key, len) }
}

fn sum_within(one: usize, other: usize, most: u64) -> Result<usize, StringError> {
    let sum = one.checked_add(other).ok_or(StringError::TooLong)?;
    if sum as u64 > most.min(LEN_MAX) { Err(StringError::TooLong) } else { Ok(sum) }
}

/// Longest string, in bytes, whatever the settings allow.
const LEN_MAX: u64 = 3 << 30;

#[cfg(test)]
mod tests;
