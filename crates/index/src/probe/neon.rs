//! NEON, which every AArch64 processor has.

use super::SLOTS_MASK;
use std::arch::aarch64::{
    vaddvq_u16, vandq_u16, vceqq_u16, vcombine_u64, vcreate_u64, vdupq_n_u16, vld1q_u16,
    vreinterpretq_u16_u64,
};

const SLOT_BITS: [u16; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

/// Slots of the two words whose tag is `wanted`.
#[inline]
pub fn match_tags(words: [u64; 2], wanted: u16) -> u32 {
    // SAFETY: NEON is part of the baseline; the load reads the eight numbers of `SLOT_BITS`.
    unsafe {
        let tags =
            vreinterpretq_u16_u64(vcombine_u64(vcreate_u64(words[0]), vcreate_u64(words[1])));
        let equal = vceqq_u16(tags, vdupq_n_u16(wanted));
        u32::from(vaddvq_u16(vandq_u16(equal, vld1q_u16(SLOT_BITS.as_ptr())))) & SLOTS_MASK
    }
}
