//! A string as a HyperLogLog, dense or sparse.

use super::dense;
use super::format::{Corrupted, HEAD_BYTES};
use super::hash::{Mark, mark_of};
use super::registers::Registers;
use super::sparse::{self, Raised, Run, RunAt};
use std::borrow::Cow;

/// Layout of the registers in a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Six bits for each register.
    Dense,
    /// Runs of equal registers.
    Sparse,
}

impl Layout {
    /// Name in the reply of PFDEBUG ENCODING.
    pub fn name(self) -> &'static str {
        match self {
            Layout::Dense => "dense",
            Layout::Sparse => "sparse",
        }
    }
}

/// Bytes of a HyperLogLog, copied when they change for the first time.
///
/// Bytes written by a client are checked by `of` only in part: sparse runs may still be wrong,
/// which shows when they are read.
#[derive(Clone, Debug)]
pub struct Sketch<'v> {
    bytes: Cow<'v, [u8]>,
}

impl<'v> Sketch<'v> {
    /// Returns a sketch without elements.
    pub fn empty() -> Sketch<'v> {
        Sketch { bytes: Cow::Borrowed(EMPTY) }
    }

    /// Returns the string of a key as a sketch; `None` if it lacks the head of a HyperLogLog or the
    /// length that its form requires.
    pub fn of(bytes: &'v [u8]) -> Option<Sketch<'v>> {
        let head = bytes.first_chunk::<HEAD_BYTES>()?;
        let is_one = head.starts_with(MAGIC)
            && match head[FORM_AT] {
                DENSE => bytes.len() == dense::BYTES,
                form => form == SPARSE,
            };
        is_one.then_some(Sketch { bytes: Cow::Borrowed(bytes) })
    }

    /// The whole string.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the sketch with its own copy of the bytes if it has changed.
    pub fn into_changed(self) -> Option<Sketch<'static>> {
        match self.bytes {
            Cow::Owned(bytes) => Some(Sketch { bytes: Cow::Owned(bytes) }),
            Cow::Borrowed(_) => None,
        }
    }

    /// Layout of the registers.
    pub fn form(&self) -> Layout {
        if self.bytes[FORM_AT] == DENSE { Layout::Dense } else { Layout::Sparse }
    }

    /// Adds an element; true if a register has changed. A sparse sketch that would grow beyond
    /// `sparse_bytes_max` becomes dense.
    ///
    /// # Errors
    /// When its runs are wrong, as far as they are read.
    pub fn add(&mut self, element: &[u8], sparse_bytes_max: u64) -> Result<bool, Corrupted> {
        let mut from = RunAt::FIRST;
        self.raise(&mut from, mark_of(element), sparse_bytes_max)
    }

    fn raise(&mut self, from: &mut RunAt, mark: Mark, bytes_max: u64) -> Result<bool, Corrupted> {
        if self.form() == Layout::Sparse {
            match sparse::raise(&mut self.bytes, from, mark, bytes_max)? {
                Raised::No => return Ok(false),
                Raised::Yes => {
                    self.forget_count();
                    return Ok(true);
                }
                Raised::NeedsDense => self.make_dense()?,
            };
        }
        if dense::get(self.registers(), mark.register) >= mark.value {
            return Ok(false);
        }
        dense::set(&mut self.bytes.to_mut()[HEAD_BYTES..], mark.register, mark.value);
        self.forget_count();
        Ok(true)
    }

    /// Converts the sketch to the dense form; false if it is dense already. A stored count stays.
    ///
    /// # Errors
    /// When its runs are wrong.
    pub fn make_dense(&mut self) -> Result<bool, Corrupted> {
        if self.form() == Layout::Dense {
            return Ok(false);
        }
        let mut registers = Registers::zeros();
        sparse::merge(self.registers(), &mut registers)?;
        self.set_dense(&registers);
        Ok(true)
    }

    fn set_dense(&mut self, registers: &Registers) {
        let bytes = self.bytes.to_mut();
        bytes.resize(dense::BYTES, 0);
        bytes[FORM_AT] = DENSE;
        dense::fill(&mut bytes[HEAD_BYTES..], registers);
    }

    /// Raises each register of `into` to that of this sketch.
    ///
    /// # Errors
    /// When the runs of a sparse sketch are wrong.
    pub fn merge_into(&self, into: &mut Registers) -> Result<(), Corrupted> {
        match self.form() {
            Layout::Dense => into.raise(&dense::registers(self.registers())),
            Layout::Sparse => sparse::merge(self.registers(), into)?,
        }
        Ok(())
    }

    /// Takes over registers, each at least as high as the present one. The sketch becomes dense if
    /// `form` is, or if it would grow beyond `sparse_bytes_max`.
    ///
    /// # Errors
    /// When the present runs are wrong.
    pub fn take(
        &mut self,
        registers: &Registers,
        form: Layout,
        sparse_bytes_max: u64,
    ) -> Result<(), Corrupted> {
        match form {
            Layout::Dense => self.set_dense(registers),
            Layout::Sparse => {
                let mut from = RunAt::FIRST;
                let values = registers.0.iter().copied().enumerate();
                for (register, value) in values.filter(|(_, value)| *value > 0) {
                    self.raise(&mut from, Mark { register, value }, sparse_bytes_max)?;
                }
            }
        }
        self.forget_count();
        Ok(())
    }

    /// Iterates over the runs of the sparse form, without checking their total length.
    pub fn runs(&self) -> impl Iterator<Item = Run> {
        sparse::runs(self.registers())
    }

    /// Returns the stored estimate of the number of different elements, unless a register has
    /// changed since.
    pub fn kept_count(&self) -> Option<u64> {
        let count = *self.bytes[COUNT_AT..].first_chunk()?;
        Some(u64::from_le_bytes(count)).filter(|count| count & UNCOUNTED == 0)
    }

    /// Estimates the number of different elements.
    ///
    /// # Errors
    /// When the runs of a sparse sketch are wrong.
    pub fn count(&self) -> Result<u64, Corrupted> {
        let histogram = match self.form() {
            Layout::Dense => dense::registers(self.registers()).histogram(),
            Layout::Sparse => sparse::histogram(self.registers())?,
        };
        Ok(histogram.estimate())
    }

    /// Marks the stored count as out of date.
    pub fn forget_count(&mut self) {
        forget_count(self.bytes.to_mut());
    }

    fn registers(&self) -> &[u8] {
        &self.bytes[HEAD_BYTES..]
    }
}

/// Adds an element to the bytes of a dense sketch, in place; true if a register has changed.
pub fn add_to_dense(bytes: &mut [u8], element: &[u8]) -> bool {
    let mark = mark_of(element);
    dense::raise(&mut bytes[HEAD_BYTES..], mark.register, mark.value)
}

/// Returns true if an element would change a register in the bytes of a dense sketch.
pub fn raises_dense(bytes: &[u8], element: &[u8]) -> bool {
    let mark = mark_of(element);
    dense::get(&bytes[HEAD_BYTES..], mark.register) < mark.value
}

/// Marks the count in the bytes of a sketch as out of date.
pub fn forget_count(bytes: &mut [u8]) {
    bytes[HEAD_BYTES - 1] |= (UNCOUNTED >> 56) as u8;
}

/// Stores a count in the bytes of a sketch.
pub fn keep_count(bytes: &mut [u8], count: u64) {
    bytes[COUNT_AT..HEAD_BYTES].copy_from_slice(&count.to_le_bytes());
}

const MAGIC: &[u8] = b"HYLL";
const FORM_AT: usize = 4;
const COUNT_AT: usize = 8;
const DENSE: u8 = 0;
const SPARSE: u8 = 1;
/// Bit of the count that marks it as out of date.
const UNCOUNTED: u64 = 1 << 63;
/// An empty sparse sketch: one run of zeros over all registers.
const EMPTY: &[u8] = b"HYLL\x01\0\0\0\0\0\0\0\0\0\0\0\x7f\xff";
