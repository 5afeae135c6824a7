//! Hash of an element to its register and value: MurmurHash64A (Austin Appleby, public domain).

use super::format::{INDEX_BITS, REGISTERS};

/// Register of an element, and the value to which the element raises it if it is lower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Number of the register.
    pub register: usize,
    /// Length of the row of zeros at the low end of the remaining hash bits, plus one: 1 to 51.
    pub value: u8,
}

/// Computes the mark of an element.
#[inline]
pub fn mark_of(element: &[u8]) -> Mark {
    let hash = hash(element);
    // A one above the remaining bits of the hash limits the row of zeros.
    let rest = hash >> INDEX_BITS | 1 << (64 - INDEX_BITS);
    let zeros = narrow::to_u8(rest.trailing_zeros() as usize);
    Mark { register: narrow::to_usize(hash) % REGISTERS, value: zeros + 1 }
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hash = SEED ^ (bytes.len() as u64).wrapping_mul(FACTOR);
    let (words, tail) = bytes.as_chunks::<8>();
    for word in words {
        let word = u64::from_le_bytes(*word).wrapping_mul(FACTOR);
        let word = (word ^ word >> SHIFT).wrapping_mul(FACTOR);
        hash = (hash ^ word).wrapping_mul(FACTOR);
    }
    if !tail.is_empty() {
        let mut word = [0; 8];
        word[..tail.len()].copy_from_slice(tail);
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(FACTOR);
    }
    hash = (hash ^ hash >> SHIFT).wrapping_mul(FACTOR);
    hash ^ hash >> SHIFT
}

/// Seed of the hash. It is part of the format: with another seed an element would mark another
/// register.
const SEED: u64 = 0xadc8_3b19;
const FACTOR: u64 = 0xc6a4_a793_5bd1_e995;
const SHIFT: u32 = 47;
