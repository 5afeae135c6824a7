//! Increments of numbers in fields.

use super::deadline::Deadline;
use super::write::HashMut;
use crate::fault::NoSpace;
use text::{FloatError, IntegerText};

/// Reason for which a field was not incremented.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HashError {
    /// The value is not an integer.
    NotInteger,
    /// The sum does not fit into 64 bits.
    Overflow,
    /// The value is not a decimal number.
    NotFloat,
    /// The sum is not finite.
    NotFinite,
    /// See [`NoSpace`].
    NoSpace,
}

impl From<NoSpace> for HashError {
    fn from(_: NoSpace) -> HashError {
        HashError::NoSpace
    }
}

/// Adds to the integer of a field; a missing field counts as zero. The deadline stays. Returns the
/// sum.
///
/// # Errors
/// When value or sum is no integer of 64 bits, or there is no room.
pub fn add(hash: &mut HashMut<'_, '_>, field: &[u8], by: i64) -> Result<i64, HashError> {
    let present = match hash.get(field) {
        Some(pair) => pair.value.with_text(text::parse_i64).ok_or(HashError::NotInteger)?,
        None => 0,
    };
    let sum = present.checked_add(by).ok_or(HashError::Overflow)?;
    hash.set(field, IntegerText::new().format(sum), Deadline::Keep)?;
    Ok(sum)
}

/// Adds to the decimal number of a field; a missing field counts as zero. The deadline stays.
/// Returns the text of the sum.
///
/// # Errors
/// When value or sum is no finite decimal number, or there is no room.
pub fn add_float(hash: &mut HashMut<'_, '_>, field: &[u8], by: &[u8]) -> Result<String, HashError> {
    let sum = match hash.get(field) {
        Some(pair) => pair.value.with_text(|present| text::add_floats(present, by)),
        None => text::add_floats(b"0", by),
    };
    let sum = sum.map_err(|error| match error {
        FloatError::NotAFloat => HashError::NotFloat,
        FloatError::NotFinite => HashError::NotFinite,
    })?;
    hash.set(field, sum.as_bytes(), Deadline::Keep)?;
    Ok(sum)
}
