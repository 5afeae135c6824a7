//! Strings: numbers, appends, ranges.
//!
//! Functions that change a key take the access to it. All of them check before they change, so an
//! error leaves the key as it was.

use crate::access::{Access, Expiry, NoSpace, WrongKind};
use crate::key::{Encoding, Key};
use std::ops::Range;
use text::{FloatError, IntegerText};

/// Why a string was not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StringError {
    /// The value is no integer of 64 bits.
    #[error("the value is no integer")]
    NotInteger,
    /// The sum is no integer of 64 bits.
    #[error("the sum is out of range")]
    Overflow,
    /// The value or the increment is no decimal number, or the sum is none.
    #[error(transparent)]
    Float(FloatError),
    /// The string would be longer than allowed.
    #[error("the string would be too long")]
    TooLong,
    /// There is no room for it.
    #[error("no space")]
    NoSpace,
    /// The key holds something else.
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

/// What the present value has to be for a write to take place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition<'v> {
    /// Anything, or nothing.
    Always,
    /// Nothing.
    Absent,
    /// Anything.
    Present,
    /// These bytes.
    Equals(&'v [u8]),
}

impl Condition<'_> {
    /// Whether it holds for the present value.
    pub fn holds(self, present: Option<&[u8]>) -> bool {
        match self {
            Condition::Always => true,
            Condition::Absent => present.is_none(),
            Condition::Present => present.is_some(),
            Condition::Equals(wanted) => present == Some(wanted),
        }
    }
}

/// The bytes from the `start`th to the `end`th, both included, of a string of `len` bytes.
/// Negative positions count from the end.
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

/// Adds to the integer of a key, where none is zero. Returns the sum.
///
/// # Errors
/// When value or sum is no integer of 64 bits, or there is no room.
#[inline]
pub fn add(access: &mut Access<'_>, key: &Key<'_>, by: i64) -> Result<i64, StringError> {
    let present = match access.look_string(key)? {
        Some(value) => text::parse_i64(value.bytes).ok_or(StringError::NotInteger)?,
        None => 0,
    };
    let sum = present.checked_add(by).ok_or(StringError::Overflow)?;
    access.write(key, IntegerText::new().format(sum), Encoding::Int, Expiry::Keep)?;
    Ok(sum)
}

/// Adds to the decimal number of a key, where none is zero. Returns the text of the sum.
///
/// # Errors
/// When value, `by` or sum is no finite decimal number, or there is no room.
pub fn add_float(access: &mut Access<'_>, key: &Key<'_>, by: &[u8]) -> Result<String, StringError> {
    let present = access.look_string(key)?.map_or(&b"0"[..], |value| value.bytes);
    let sum = text::add_floats(present, by).map_err(StringError::Float)?;
    access.write(key, sum.as_bytes(), Encoding::Embedded, Expiry::Keep)?;
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
    let Some(old_len) = access.look_string(key)?.map(|value| value.bytes.len()) else {
        access.write(key, tail, Encoding::of_new(tail), Expiry::Never)?;
        return Ok(tail.len());
    };
    let len = sum_within(old_len, tail.len(), len_max)?;
    access.resize(key, len)?[old_len..].copy_from_slice(tail);
    Ok(len)
}

/// Writes `patch` over the string of a key from the `at`th byte on; what lies between its end and
/// there becomes zeros. Returns the new length, and leaves the key alone if `patch` is empty.
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
    let old_len = access.look_string(key)?.map_or(0, |value| value.bytes.len());
    if patch.is_empty() {
        return Ok(old_len);
    }
    let end = sum_within(at, patch.len(), len_max)?;
    let value = at_least(access, key, old_len, end)?;
    value[at..end].copy_from_slice(patch);
    Ok(value.len())
}

/// The string of a key, `old_len` bytes long, for change; made `len` bytes long if it is shorter.
pub(crate) fn at_least<'v>(
    access: &'v mut Access<'_>,
    key: &Key<'_>,
    old_len: usize,
    len: usize,
) -> Result<&'v mut [u8], NoSpace> {
    if old_len >= len { access.edit(key).ok_or(NoSpace) } else { access.resize(key, len) }
}

fn sum_within(one: usize, other: usize, most: u64) -> Result<usize, StringError> {
    let sum = one.checked_add(other).ok_or(StringError::TooLong)?;
    if sum as u64 > most.min(LEN_MAX) { Err(StringError::TooLong) } else { Ok(sum) }
}

/// What a record can hold, less a generous part for its key.
const LEN_MAX: u64 = 3 << 30;

#[cfg(test)]
mod tests;
