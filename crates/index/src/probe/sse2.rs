//! SSE2, which every x86-64 processor has.

use super::SLOTS_MASK;
use std::arch::x86_64::{
    _mm_cmpeq_epi16, _mm_movemask_epi8, _mm_packs_epi16, _mm_set_epi64x, _mm_set1_epi16,
    _mm_setzero_si128,
};

/// Slots of the two words whose tag is `wanted`.
#[inline]
pub fn match_tags(words: [u64; 2], wanted: u16) -> u32 {
    // SAFETY: SSE2 is part of the baseline.
    unsafe {
        let tags = _mm_set_epi64x(words[1] as i64, words[0] as i64);
        let equal = _mm_cmpeq_epi16(tags, _mm_set1_epi16(wanted as i16));
        // Sixteen bits of ones become eight, so that each slot has one bit in the mask.
        let bytes = _mm_packs_epi16(equal, _mm_setzero_si128());
        _mm_movemask_epi8(bytes) as u32 & SLOTS_MASK
    }
}
