//! Constants and errors that both forms of the string share.

/// Bits of a hash that choose the register.
pub const INDEX_BITS: u32 = 14;
/// Number of registers.
pub const REGISTERS: usize = 1 << INDEX_BITS;
/// Bytes before the registers.
pub const HEAD_BYTES: usize = 16;

/// Error for a sparse string whose runs do not cover all registers exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrupted;
