//! Slot by slot, for any processor; the other versions must give the same results.

use super::SLOTS_MASK;

/// Slots of the two words whose tag is `wanted`.
pub fn match_tags(words: [u64; 2], wanted: u16) -> u32 {
    let slot = |slot: usize| (words[slot / 4] >> (slot % 4 * 16)) as u16;
    let matches = (0..8).filter(|at| slot(*at) == wanted);
    matches.fold(0, |mask, at| mask | 1 << at) & SLOTS_MASK
}
