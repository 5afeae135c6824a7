//! BITFIELD: integers of 1 to 64 bits inside a bitmap.

use crate::value::string::{Form, StringView};
use std::ops::Range;

/// Most bytes that a field can touch.
const FIELD_BYTES_MAX: usize = 9;

/// Place and type of an integer in a bitmap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Offset of its first bit, the most significant one.
    pub offset: u64,
    /// Width in bits: 1 to 64, or to 63 if unsigned.
    pub bits: u32,
    /// True if the first bit is a sign.
    pub signed: bool,
}

/// Treatment of a number that does not fit into its field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// The lowest bits are kept.
    Wrap,
    /// The number becomes the largest or smallest that fits.
    Saturate,
    /// The field stays unchanged.
    Fail,
}

/// Old and new number of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// Number before the change.
    pub old: i64,
    /// Number after the change.
    pub new: i64,
}

impl Field {
    /// Offset of the last bit.
    pub fn last_bit(&self) -> u64 {
        self.offset + u64::from(self.bits) - 1
    }

    /// Range of the bytes that the field touches.
    pub fn bytes(&self) -> Range<usize> {
        (self.offset / 8) as usize..(self.last_bit() / 8) as usize + 1
    }

    /// Returns the same field for a buffer that begins with its first byte.
    pub fn alone(self) -> Field {
        Field { offset: self.offset % 8, ..self }
    }

    /// Reads the number from a string.
    pub fn get_from(&self, string: &StringView<'_>) -> i64 {
        match string.form {
            Form::Whole(bytes) => self.get(bytes),
            Form::Long(_) => self.alone().get(&self.copied_from(string)),
        }
    }

    /// Copies the bytes that the field touches, and others behind them; zeros beyond the end.
    pub fn copied_from(&self, string: &StringView<'_>) -> [u8; FIELD_BYTES_MAX] {
        let (at, mut copy) = ((self.offset / 8) as usize, [0; FIELD_BYTES_MAX]);
        match string.form {
            Form::Whole(bytes) => {
                let from = bytes.get(at..).unwrap_or_default();
                let len = from.len().min(FIELD_BYTES_MAX);
                copy[..len].copy_from_slice(&from[..len]);
            }
            Form::Long(long) => long.copy_to(at, &mut copy),
        }
        copy
    }

    /// Reads the number from `bytes`; bits beyond the end are zeros.
    pub fn get(&self, bytes: &[u8]) -> i64 {
        self.read(window(bytes, self.offset))
    }

    /// Writes `value` into the field, which must lie inside `bytes`. `None` if it does not fit and
    /// `overflow` is `Fail`. For an unsigned field, `value` stands for the unsigned number with the
    /// same bits.
    pub fn set(&self, bytes: &mut [u8], value: i64, overflow: Overflow) -> Option<Change> {
        let wanted = if self.signed { value.into() } else { value.cast_unsigned().into() };
        self.store(bytes, wanted, overflow)
    }

    /// Adds to the field, which must lie inside `bytes`. `None` if the sum does not fit and
    /// `overflow` is `Fail`.
    pub fn add(&self, bytes: &mut [u8], by: i64, overflow: Overflow) -> Option<Change> {
        let sum = i128::from(self.get(bytes)) + i128::from(by);
        self.store(bytes, sum, overflow)
    }

    fn store(&self, bytes: &mut [u8], wanted: i128, overflow: Overflow) -> Option<Change> {
        let old = self.get(bytes);
        let fitting = wanted.clamp(self.least(), self.most());
        let number = match overflow {
            _ if fitting == wanted => wanted,
            Overflow::Wrap => wanted,
            Overflow::Saturate => fitting,
            Overflow::Fail => return None,
        };
        self.write(bytes, number.cast_unsigned());
        Some(Change { old, new: self.get(bytes) })
    }

    fn least(&self) -> i128 {
        if self.signed { -(1 << (self.bits - 1)) } else { 0 }
    }

    fn most(&self) -> i128 {
        (1 << (self.bits - u32::from(self.signed))) - 1
    }

    /// Extracts the field from a window that begins with its first byte.
    fn read(&self, window: u128) -> i64 {
        let top = window << (self.offset % 8);
        let shift = u128::BITS - self.bits;
        // Right shift of a signed number repeats the sign bit.
        let bits =
            if self.signed { (top.cast_signed() >> shift).cast_unsigned() } else { top >> shift };
        narrow::low_u64(bits).cast_signed()
    }

    fn write(&self, bytes: &mut [u8], number: u128) {
        let above = (self.offset % 8) as u32;
        let below = u128::BITS - self.bits - above;
        let mask = (u128::MAX >> (u128::BITS - self.bits)) << below;
        let window = window(bytes, self.offset) & !mask | number << below & mask;
        let begin = (self.offset / 8) as usize;
        let end = (self.last_bit() / 8) as usize + 1;
        let len = end - begin;
        bytes[begin..end].copy_from_slice(&window.to_be_bytes()[..len]);
    }
}

/// Sixteen bytes from the one that holds bit `offset` on, zeros beyond the end.
fn window(bytes: &[u8], offset: u64) -> u128 {
    let mut window = [0; size_of::<u128>()];
    let rest = usize::try_from(offset / 8).ok().and_then(|at| bytes.get(at..)).unwrap_or(&[]);
    let len = rest.len().min(window.len());
    window[..len].copy_from_slice(&rest[..len]);
    u128::from_be_bytes(window)
}
