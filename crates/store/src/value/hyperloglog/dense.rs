//! The dense form: 16384 registers of six bits, from the low end of each byte to its high end.
//!
//! ```text
//! byte      0        1        2
//!       11000000 22221111 33333322        four registers in three bytes, and so on
//! ```

use super::registers::{Histogram, REGISTER_MAX, Registers};
use super::{HEAD_BYTES, REGISTERS};

/// Bytes of all registers.
pub const REGISTER_BYTES: usize = REGISTERS / 4 * 3;
/// Bytes of a string in this form.
pub const BYTES: usize = HEAD_BYTES + REGISTER_BYTES;

/// The register at `at`.
#[inline]
pub fn get(bytes: &[u8], at: usize) -> u8 {
    let (byte, shift) = place(at);
    // The last register ends with the last byte.
    let next = bytes.get(byte + 1).copied().unwrap_or(0);
    (u16::from_le_bytes([bytes[byte], next]) >> shift) as u8 & REGISTER_MAX
}

/// Raises the register at `at` to `value`; false if it is as high already.
#[inline]
pub fn raise(bytes: &mut [u8], at: usize, value: u8) -> bool {
    let is_raised = get(bytes, at) < value;
    if is_raised {
        set(bytes, at, value);
    }
    is_raised
}

/// Sets the register at `at`.
#[inline]
pub fn set(bytes: &mut [u8], at: usize, value: u8) {
    let (byte, shift) = place(at);
    let [low_mask, high_mask] = (u16::from(REGISTER_MAX) << shift).to_le_bytes();
    let [low, high] = (u16::from(value) << shift).to_le_bytes();
    bytes[byte] = bytes[byte] & !low_mask | low;
    if high_mask != 0 {
        bytes[byte + 1] = bytes[byte + 1] & !high_mask | high;
    }
}

/// Raises each of `registers` to the one in `bytes`.
pub fn merge(bytes: &[u8], registers: &mut Registers) {
    let (threes, _) = bytes.as_chunks::<3>();
    let (fours, _) = registers.0.as_chunks_mut::<4>();
    for (four, three) in fours.iter_mut().zip(threes) {
        let values = unpack(*three);
        *four = std::array::from_fn(|at| four[at].max(values[at]));
    }
}

/// Sets all registers in `bytes`.
pub fn fill(bytes: &mut [u8], registers: &Registers) {
    let (threes, _) = bytes.as_chunks_mut::<3>();
    let (fours, _) = registers.0.as_chunks::<4>();
    for (three, [a, b, c, d]) in threes.iter_mut().zip(fours) {
        *three = [a | b << 6, b >> 2 | c << 4, c >> 4 | d << 2];
    }
}

/// How many registers have each value.
pub fn histogram(bytes: &[u8]) -> Histogram {
    let mut histogram = Histogram::new();
    let (threes, _) = bytes.as_chunks::<3>();
    threes.iter().for_each(|three| histogram.count_four(unpack(*three)));
    histogram
}

#[inline]
fn unpack([a, b, c]: [u8; 3]) -> [u8; 4] {
    [a & REGISTER_MAX, (a >> 6 | b << 2) & REGISTER_MAX, (b >> 4 | c << 4) & REGISTER_MAX, c >> 2]
}

/// The byte in which a register begins, and bits before it.
#[inline]
fn place(at: usize) -> (usize, usize) {
    (at * 6 / 8, at * 6 % 8)
}
