//! What both forms of the string have in common.

/// Bits of a hash that choose the register.
pub const INDEX_BITS: u32 = 14;
/// How many registers there are.
pub const REGISTERS: usize = 1 << INDEX_BITS;
/// Bytes before the registers.
pub const HEAD_BYTES: usize = 16;

/// The runs of a sparse string do not cover all registers exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corrupted;
