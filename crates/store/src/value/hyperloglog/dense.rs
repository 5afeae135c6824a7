//! The dense form: 16384 registers of six bits, from the low end of each byte to its high end.
//!
//! ```text
//! byte      0        1        2
//!       11000000 22221111 33333322        four registers in three bytes, and so on
//! ```

use super::format::{HEAD_BYTES, REGISTERS};
use super::registers::{REGISTER_MAX, Registers};

/// Total bytes of the registers.
pub const REGISTER_BYTES: usize = REGISTERS / 4 * 3;
/// Length in bytes of a string in this form.
pub const BYTES: usize = HEAD_BYTES + REGISTER_BYTES;

/// The register at `at`.
#[inline]
pub fn get(bytes: &[u8], at: usize) -> u8 {
    let (byte, shift) = place(at);
    // The last register ends with the last byte.
    let next = bytes.get(byte + 1).copied().unwrap_or(0);
    narrow::low_u8(u64::from(u16::from_le_bytes([bytes[byte], next]) >> shift)) & REGISTER_MAX
}

/// Raises the register at `at` to `value`; false if it is as high or higher already.
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

/// Reads all registers from `bytes`.
pub fn registers(bytes: &[u8]) -> Registers {
    let mut registers = Registers::zeros();
    let (sixes, _) = bytes.as_chunks::<6>();
    let (eights, _) = registers.0.as_chunks_mut::<8>();
    for (eight, six) in eights.iter_mut().zip(sixes) {
        *eight = unpack(*six);
    }
    registers
}

/// Writes all registers to `bytes`.
pub fn fill(bytes: &mut [u8], registers: &Registers) {
    let (sixes, _) = bytes.as_chunks_mut::<6>();
    let (eights, _) = registers.0.as_chunks::<8>();
    for (six, eight) in sixes.iter_mut().zip(eights) {
        *six = pack(*eight);
    }
}

/// Unpacks eight registers: halves, quarters and eighths of the 48 bits are moved apart, all at
/// once.
#[inline]
fn unpack([a, b, c, d, e, f]: [u8; 6]) -> [u8; 8] {
    let bits = u64::from_le_bytes([a, b, c, d, e, f, 0, 0]);
    let bits = bits & 0x0000_0000_00ff_ffff | (bits & 0x0000_ffff_ff00_0000) << 8;
    let bits = bits & 0x0000_0fff_0000_0fff | (bits & 0x00ff_f000_00ff_f000) << 4;
    let bits = bits & 0x003f_003f_003f_003f | (bits & 0x0fc0_0fc0_0fc0_0fc0) << 2;
    bits.to_le_bytes()
}

/// Packs eight registers, none above `REGISTER_MAX`: the inverse of `unpack`.
#[inline]
fn pack(registers: [u8; 8]) -> [u8; 6] {
    let bits = u64::from_le_bytes(registers);
    let bits = bits & 0x003f_003f_003f_003f | (bits & 0x3f00_3f00_3f00_3f00) >> 2;
    let bits = bits & 0x0000_0fff_0000_0fff | (bits & 0x0fff_0000_0fff_0000) >> 4;
    let bits = bits & 0x0000_0000_00ff_ffff | (bits & 0x00ff_ffff_0000_0000) >> 8;
    let [a, b, c, d, e, f, ..] = bits.to_le_bytes();
    [a, b, c, d, e, f]
}

/// Returns the byte in which a register begins, and the number of bits before it in that byte.
#[inline]
fn place(at: usize) -> (usize, usize) {
    (at * 6 / 8, at * 6 % 8)
}
