//! The sparse form: runs of equal registers, in one or two bytes each.
//!
//! ```text
//! ZERO    00llllll              1 to 64 registers of zero
//! XZERO   01llllll llllllll     1 to 16384 registers of zero
//! VAL     1vvvvvll              1 to 4 registers of one value, from 1 to 32
//! ```
//! Lengths and values are stored less one. An XZERO whose second byte is missing at the end of a
//! string reads as if that byte were zero.

use super::format::{Corrupted, HEAD_BYTES, REGISTERS};
use super::hash::Mark;
use super::registers::{Histogram, Registers};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::ops::Range;

/// Highest value that a run can have.
const VALUE_MAX: u8 = 32;
const VALUES_MAX: usize = 4;
const SHORT_ZEROS_MAX: usize = 64;
/// Number of runs checked after a change for neighbours that can be joined.
const RUNS_JOINED_MAX: usize = 5;

/// Run of equal registers; its length is never zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Run {
    /// Opcode ZERO, with its length.
    ShortZeros(usize),
    /// Opcode XZERO, with its length.
    LongZeros(usize),
    /// Opcode VAL, with its value and length.
    Values(u8, usize),
}

/// Outcome of raising a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Raised {
    /// The register was as high already.
    No,
    /// The register has been raised.
    Yes,
    /// The register would be raised, but the value is too high for a run or the string would be too
    /// long.
    NeedsDense,
}

type Codes = SmallVec<[u8; 8]>;

impl Run {
    #[inline]
    fn at(bytes: &[u8], at: usize) -> Run {
        let first = bytes[at];
        let len = usize::from(first & 0x3f);
        match first >> 6 {
            0 => Run::ShortZeros(len + 1),
            1 => {
                let second = bytes.get(at + 1).copied().unwrap_or(0);
                Run::LongZeros((len << 8 | usize::from(second)) + 1)
            }
            _ => Run::Values((first >> 2 & 0x1f) + 1, usize::from(first & 3) + 1),
        }
    }

    /// Number of registers in the run.
    #[inline]
    fn len(self) -> usize {
        match self {
            Run::ShortZeros(len) | Run::LongZeros(len) | Run::Values(_, len) => len,
        }
    }

    /// Bytes of its opcode.
    #[inline]
    fn bytes(self) -> usize {
        if matches!(self, Run::LongZeros(_)) { 2 } else { 1 }
    }

    #[inline]
    fn value(self) -> u8 {
        if let Run::Values(value, _) = self { value } else { 0 }
    }

    fn write(self, to: &mut Codes) {
        match self {
            Run::ShortZeros(len) => to.push(narrow::to_u8(len - 1)),
            Run::LongZeros(len) => to.extend((narrow::to_u16(len - 1) | 0x4000).to_be_bytes()),
            Run::Values(value, len) => to.push(0x80 | (value - 1) << 2 | narrow::to_u8(len - 1)),
        }
    }

    /// Returns a run of `len` registers of the same value; `None` if `len` is zero.
    fn part(self, len: usize) -> Option<Run> {
        match self {
            _ if len == 0 => None,
            Run::Values(value, _) => Some(Run::Values(value, len)),
            _ if len > SHORT_ZEROS_MAX => Some(Run::LongZeros(len)),
            _ => Some(Run::ShortZeros(len)),
        }
    }
}

/// Iterates over the runs in the part of a string behind its head, without checking their total
/// length.
pub fn runs(bytes: &[u8]) -> impl Iterator<Item = Run> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let run = (at < bytes.len()).then(|| Run::at(bytes, at))?;
        at += run.bytes();
        Some(run)
    })
}

/// Calls `visit` for each run with the range of its registers and their value.
///
/// # Errors
/// When the runs do not cover all registers exactly.
pub fn each_run(bytes: &[u8], mut visit: impl FnMut(Range<usize>, u8)) -> Result<(), Corrupted> {
    let mut first = 0;
    for run in runs(bytes) {
        let end = first + run.len();
        if end > REGISTERS {
            return Err(Corrupted);
        }
        visit(first..end, run.value());
        first = end;
    }
    if first == REGISTERS { Ok(()) } else { Err(Corrupted) }
}

/// Raises each of `registers` to the value in the runs.
///
/// # Errors
/// Those of `each_run`.
pub fn merge(bytes: &[u8], registers: &mut Registers) -> Result<(), Corrupted> {
    each_run(bytes, |range, value| {
        if value > 0 {
            registers.0[range].iter_mut().for_each(|register| *register = value.max(*register));
        }
    })
}

/// Counts the registers of each value.
///
/// # Errors
/// Those of `each_run`.
pub fn histogram(bytes: &[u8]) -> Result<Histogram, Corrupted> {
    let mut histogram = Histogram::new();
    each_run(bytes, |range, value| histogram.count_run(value, range.len()))?;
    Ok(histogram)
}

/// Raises the register of a mark in a string, its head included, which must not grow beyond
/// `bytes_max`. The search begins at `from`, which is then set to where a search for a later
/// register may begin.
///
/// # Errors
/// When the runs end before the register.
pub fn raise(
    bytes: &mut Cow<'_, [u8]>,
    from: &mut RunAt,
    Mark { register, value }: Mark,
    bytes_max: u64,
) -> Result<Raised, Corrupted> {
    if value > VALUE_MAX {
        return Ok(Raised::NeedsDense);
    }
    let found = find(bytes, *from, register)?;
    *from = found.earlier;
    if found.run.value() >= value {
        return Ok(Raised::No);
    }
    let before = register - found.place.first;
    let after = found.run.len() - before - 1;
    let mut codes = Codes::new();
    let parts = [found.run.part(before), Some(Run::Values(value, 1)), found.run.part(after)];
    parts.into_iter().flatten().for_each(|run| run.write(&mut codes));
    let end = bytes.len().min(found.place.at + found.run.bytes());
    let len = bytes.len() - (end - found.place.at) + codes.len();
    if len > bytes.len() && len as u64 > bytes_max {
        return Ok(Raised::NeedsDense);
    }
    let bytes = bytes.to_mut();
    bytes.splice(found.place.at..end, codes);
    join(bytes, found.before.at);
    Ok(Raised::Yes)
}

/// Start of a run.
#[derive(Clone, Copy, Debug)]
pub struct RunAt {
    /// Offset in the string.
    at: usize,
    /// Number of the run's first register.
    first: usize,
}

impl RunAt {
    /// Start of the first run.
    pub const FIRST: RunAt = RunAt { at: HEAD_BYTES, first: 0 };
}

/// Run that contains a register, and the runs before it.
struct Found {
    run: Run,
    place: RunAt,
    /// Start of the run before it; its own if it is the first.
    before: RunAt,
    /// Start of the run before `before`, or of the search. Joins after the change cannot move the
    /// end of this run past the register, unless it is the first run.
    earlier: RunAt,
}

#[inline]
fn find(bytes: &[u8], from: RunAt, register: usize) -> Result<Found, Corrupted> {
    let (mut place, mut before, mut earlier) = (from, from, from);
    while place.at < bytes.len() {
        let run = Run::at(bytes, place.at);
        let end = place.first + run.len();
        if register < end {
            return Ok(Found { run, place, before, earlier });
        }
        (earlier, before) = (before, place);
        place = RunAt { at: place.at + run.bytes(), first: end };
    }
    Err(Corrupted)
}

/// Joins neighbouring runs of equal value, beginning with the run at `at`.
fn join(bytes: &mut Vec<u8>, mut at: usize) {
    for _ in 0..RUNS_JOINED_MAX {
        if at + 1 >= bytes.len() {
            return;
        }
        match (Run::at(bytes, at), Run::at(bytes, at + 1)) {
            (Run::Values(value, a), Run::Values(next, b))
                if value == next && a + b <= VALUES_MAX =>
            {
                bytes.remove(at);
                bytes[at] = 0x80 | (value - 1) << 2 | narrow::to_u8(a + b - 1);
            }
            (run, _) => at += run.bytes(),
        }
    }
}
