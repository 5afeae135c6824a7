//! Bitwise combination of strings.

use crate::access::Access;
use crate::fault::WrongKind;
use crate::key::{Encoding, Expiry, Key};
use crate::value::long_string::WHOLE_BYTES_MAX;
use crate::value::string::{StringError, StringView};
use smallvec::SmallVec;
use std::ops::Range;

/// Operation of BITOP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Bits set in all sources.
    And,
    /// Bits set in any source.
    Or,
    /// Bits set in an odd number of sources.
    Xor,
    /// Bits not set in the source, which must be the only one.
    Not,
}

/// Outcome of BITOP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Combined {
    /// Length of the result in bytes.
    pub len: usize,
    /// True if the target has changed.
    pub changed: bool,
}

/// Stores the combination of `sources` in `target`. All sources count as long as the longest of
/// them; if the result is empty, the target is removed.
///
/// # Errors
/// When a source holds something else, or there is no room.
pub fn store(
    access: &mut Access<'_>,
    operation: Operation,
    target: &Key<'_>,
    sources: &[Key<'_>],
) -> Result<Combined, StringError> {
    for source in sources {
        access.read_string(source)?;
    }
    let lens = sources.iter().map(|source| access.lookup_string_without_touch(source));
    let lens = lens.map(|string| Ok(string?.map_or(0, |string| string.len())));
    let len = lens.collect::<Result<SmallVec<[usize; 8]>, WrongKind>>()?.into_iter().max();
    let len = len.unwrap_or(0);
    if len == 0 {
        return Ok(Combined { len, changed: access.remove(target) });
    }
    if len > WHOLE_BYTES_MAX {
        access.write_chunks(target, len, |access, place, result| {
            combine_place(access, operation, sources, place, result);
        })?;
    } else {
        let mut result = Vec::new();
        combine_place(access, operation, sources, 0..len, &mut result);
        access.set_string(target, &result, Encoding::Raw, Expiry::Never)?;
    }
    Ok(Combined { len, changed: true })
}

/// Combines the byte range `place` of the sources, which lies within one chunk if they have chunks.
fn combine_place(
    access: &Access<'_>,
    operation: Operation,
    sources: &[Key<'_>],
    place: Range<usize>,
    result: &mut Vec<u8>,
) {
    let strings =
        sources.iter().map(|source| access.lookup_string_without_touch(source).ok().flatten());
    let bytes = strings.map(|string| string.map_or(&[][..], |string| bytes_at(&string, &place)));
    combine(operation, &bytes.collect::<SmallVec<[&[u8]; 8]>>(), place.len(), result);
}

/// Returns the bytes that a string stores for a byte range; the rest of the range is zeros.
fn bytes_at<'v>(string: &StringView<'v>, place: &Range<usize>) -> &'v [u8] {
    let end = place.end.min(string.len());
    let part = string.parts(place.start.min(end)..end).next();
    part.map_or(&[], |part| part.stored_bytes())
}

/// Combines bitmaps, all extended by zeros to `len` bytes.
fn combine(operation: Operation, sources: &[&[u8]], len: usize, result: &mut Vec<u8>) {
    result.clear();
    let Some((first, others)) = sources.split_first() else { return };
    result.extend_from_slice(first);
    result.resize(len, 0);
    for other in others {
        fold(operation, result, other);
    }
    if operation == Operation::Not {
        result.iter_mut().for_each(|byte| *byte = !*byte);
    }
}

/// Combines bitmaps that are all in memory.
#[cfg(test)]
pub(crate) fn combined(operation: Operation, sources: &[&[u8]]) -> Vec<u8> {
    let mut result = Vec::new();
    let len = sources.iter().map(|source| source.len()).max().unwrap_or(0);
    combine(operation, sources, len, &mut result);
    result
}

fn fold(operation: Operation, result: &mut [u8], other: &[u8]) {
    let (common, beyond) = result.split_at_mut(other.len());
    match operation {
        Operation::And => {
            common.iter_mut().zip(other).for_each(|(to, from)| *to &= from);
            beyond.fill(0);
        }
        Operation::Or => common.iter_mut().zip(other).for_each(|(to, from)| *to |= from),
        Operation::Xor => common.iter_mut().zip(other).for_each(|(to, from)| *to ^= from),
        Operation::Not => {}
    }
}
