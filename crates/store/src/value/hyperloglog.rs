//! HyperLogLog: strings that estimate the number of different elements added to them, with a
//! standard error of 0.81 %, in 12 KiB or less.
//!
//! The hash of an element chooses one of 16384 registers, which keeps the longest row of zeros seen
//! so far (Flajolet, Fusy, Gandouet and Meunier, 2007; with hashes of 64 bits as Heule, Nunkesser
//! and Hall have it, 2013). The bytes are those of Redis and Valkey, so that clients can carry them
//! from one server to another:
//!
//! ```text
//! | "HYLL" | form: 0 dense, 1 sparse | 3 unused | count, 8 bytes, little-endian | registers |
//! ```
//! The count is the last estimate; its highest bit is set once a register has changed since.
//! Clients can write these strings themselves, so only the head is trusted before the registers
//! have been read and checked.

mod dense;
mod format;
mod hash;
mod registers;
mod self_test;
mod sketch;
mod sparse;

pub use dense::BYTES as DENSE_BYTES;
pub use format::{Corrupted, REGISTERS};
pub use hash::{Mark, mark_of};
pub use registers::{Histogram, Registers};
pub use self_test::{SelfTestError, self_test};
pub use sketch::{Layout, Sketch};
pub use sparse::Run;

use crate::access::Access;
use crate::fault::NoSpace;
use crate::key::{Encoding, Key, Kind, Value};

/// Reason for which a key could not be counted or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HyperLogLogError {
    /// The key holds no string.
    #[error("the key holds no string")]
    WrongKind,
    /// The key's string is not a HyperLogLog.
    #[error("the string is no HyperLogLog")]
    NotOne,
    /// The key's string looks like a HyperLogLog, but its registers cannot be read.
    #[error("the HyperLogLog is corrupted")]
    Corrupted,
    /// There is no room for the changed string.
    #[error("no space")]
    NoSpace,
}

impl From<NoSpace> for HyperLogLogError {
    fn from(_: NoSpace) -> HyperLogLogError {
        HyperLogLogError::NoSpace
    }
}

impl From<Corrupted> for HyperLogLogError {
    fn from(_: Corrupted) -> HyperLogLogError {
        HyperLogLogError::Corrupted
    }
}

/// Outcome of PFCOUNT for one key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// Estimated number of different elements.
    pub elements: u64,
    /// True if the estimate was computed now and stored in the string.
    pub is_new: bool,
}

/// Returns a value as a HyperLogLog.
///
/// # Errors
/// When it is not one.
pub fn sketch_of<'v>(value: &Value<'v>) -> Result<Sketch<'v>, HyperLogLogError> {
    if value.kind != Kind::String {
        return Err(HyperLogLogError::WrongKind);
    }
    if value.is_tree {
        // A string in chunks is too long for a HyperLogLog.
        return Err(HyperLogLogError::NotOne);
    }
    Sketch::of(value.bytes).ok_or(HyperLogLogError::NotOne)
}

/// Adds elements to the HyperLogLog of a key, created if need be. Returns the number of changes;
/// creation counts as one.
///
/// # Errors
/// When the key holds something else, or there is no room; nothing has changed then. When the
/// string is corrupted; elements added before that was noticed are kept.
pub fn add<'e>(
    access: &mut Access<'_>,
    key: &Key<'_>,
    elements: impl Iterator<Item = &'e [u8]> + Clone,
    sparse_bytes_max: u64,
) -> Result<u64, HyperLogLogError> {
    let (mut sketch, is_raw, mut changes) = match access.lookup_for_write(key) {
        Some(value) => (sketch_of(&value)?, value.encoding == Encoding::Raw, 0),
        None => (Sketch::empty(), true, 1),
    };
    if sketch.form() == Layout::Dense {
        return Ok(add_in_place(access, key, elements));
    }
    if changes > 0 {
        sketch.forget_count();
    }
    let mut outcome = Ok(());
    for element in elements {
        match sketch.add(element, sparse_bytes_max) {
            Ok(is_added) => changes += u64::from(is_added),
            Err(corrupted) => {
                outcome = Err(corrupted);
                break;
            }
        }
    }
    let changed = sketch.into_changed();
    keep(access, key, changed, is_raw)?;
    outcome?;
    Ok(changes)
}

fn add_in_place<'e>(
    access: &mut Access<'_>,
    key: &Key<'_>,
    elements: impl Iterator<Item = &'e [u8]> + Clone,
) -> u64 {
    let is_same = access.has_key_listener()
        && access.lookup_without_touch(key).is_some_and(|value| {
            elements.clone().all(|element| !sketch::raises_dense(value.bytes, element))
        });
    access.unseen_if(is_same, |access| {
        let Some(bytes) = access.edit(key) else { return 0 };
        let changes = elements.map(|element| u64::from(sketch::add_to_dense(bytes, element))).sum();
        if changes > 0 {
            sketch::forget_count(bytes);
        }
        changes
    })
}

/// Estimates the number of different elements added to a key; zero if the key does not exist.
///
/// # Errors
/// When the key holds something else, or is corrupted.
pub fn count(access: &mut Access<'_>, key: &Key<'_>) -> Result<Count, HyperLogLogError> {
    let Some(value) = access.read(key) else { return Ok(Count { elements: 0, is_new: false }) };
    let sketch = sketch_of(&value)?;
    let is_raw = value.encoding == Encoding::Raw;
    let kept = sketch.kept_count();
    let elements = kept.map_or_else(|| sketch.count(), Ok);
    let new = elements.ok().filter(|_| kept.is_none());
    if new.is_some() || !is_raw {
        access.unseen_if(new.is_none(), |access| {
            if let (Some(bytes), Some(elements)) = (access.edit(key), new) {
                sketch::keep_count(bytes, elements);
            }
        });
    }
    Ok(Count { elements: elements?, is_new: new.is_some() })
}

/// Estimates the number of different elements in the union of several keys.
///
/// # Errors
/// When a key holds something else or is corrupted: the error of the first such key.
pub fn count_all(access: &mut Access<'_>, keys: &[Key<'_>]) -> Result<u64, HyperLogLogError> {
    let (registers, _) = merged(access, keys)?;
    Ok(registers.histogram().estimate())
}

/// Merges the HyperLogLogs of keys into that of the first key, which is created if need be. The
/// result is dense if one of them is.
///
/// # Errors
/// Those of `count_all`, and when there is no room.
pub fn merge(
    access: &mut Access<'_>,
    keys: &[Key<'_>],
    sparse_bytes_max: u64,
) -> Result<(), HyperLogLogError> {
    let (registers, form) = merged(access, keys)?;
    let Some(target) = keys.first() else { return Ok(()) };
    let mut sketch = match access.lookup_for_write(target) {
        Some(value) => sketch_of(&value)?,
        None => Sketch::empty(),
    };
    sketch.take(&registers, form, sparse_bytes_max)?;
    let changed = sketch.into_changed();
    keep(access, target, changed, true)
}

/// Returns the maximum of each register over the keys, and `Layout::Dense` if one of them is dense.
fn merged(
    access: &mut Access<'_>,
    keys: &[Key<'_>],
) -> Result<(Registers, Layout), HyperLogLogError> {
    let (mut registers, mut form) = (Registers::zeros(), Layout::Sparse);
    for key in keys {
        let Some(value) = access.read(key) else { continue };
        let sketch = sketch_of(&value)?;
        sketch.merge_into(&mut registers)?;
        if sketch.form() == Layout::Dense {
            form = Layout::Dense;
        }
    }
    Ok((registers, form))
}

/// Converts the HyperLogLog of a key to the dense form; false if it is dense already or the key
/// does not exist.
///
/// # Errors
/// When the key holds something else or is corrupted, or there is no room.
pub fn make_dense(access: &mut Access<'_>, key: &Key<'_>) -> Result<bool, HyperLogLogError> {
    let Some(value) = access.lookup_for_write(key) else { return Ok(false) };
    let is_raw = value.encoding == Encoding::Raw;
    let mut sketch = sketch_of(&value)?;
    let is_changed = sketch.make_dense()?;
    let changed = sketch.into_changed();
    keep(access, key, changed, is_raw)?;
    Ok(is_changed)
}

/// Writes a sketch that has changed. For an unchanged one, the string only loses its embedded
/// encoding, as strings that change in place do.
fn keep(
    access: &mut Access<'_>,
    key: &Key<'_>,
    changed: Option<Sketch<'static>>,
    is_raw: bool,
) -> Result<(), HyperLogLogError> {
    match changed {
        // A sparse sketch will grow; `resize` leaves some slack for that.
        Some(sketch) if sketch.form() == Layout::Sparse => {
            access.resize(key, sketch.bytes().len())?.copy_from_slice(sketch.bytes());
        }
        Some(sketch) => access.change_string(key, sketch.bytes(), Encoding::Raw)?,
        None if is_raw => {}
        None => {
            access.unseen_if(true, |access| access.edit(key).is_some());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
