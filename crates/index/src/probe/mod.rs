//! The probe: compares a bucket's seven tags at once. One function, one file per instruction set.

#[cfg(all(target_arch = "aarch64", not(miri)))]
mod neon;
#[cfg(any(test, miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
mod portable;
#[cfg(all(target_arch = "x86_64", not(miri)))]
mod sse2;

#[cfg(all(target_arch = "aarch64", not(miri)))]
pub(crate) use neon::match_tags;
#[cfg(any(miri, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub(crate) use portable::match_tags;
#[cfg(all(target_arch = "x86_64", not(miri)))]
pub(crate) use sse2::match_tags;

/// Mask of the seven slots, one bit each, lowest first; the eighth place holds no tag.
pub(crate) const SLOTS_MASK: u32 = 0x7f;

#[cfg(test)]
mod tests {
    use super::{match_tags, portable};
    use base::Random;

    #[test]
    fn every_instruction_set_agrees_with_the_portable_version() {
        let mut random = Random::from_seed(1);
        for round in 0..if cfg!(miri) { 100 } else { 100_000 } {
            let mut words = [random.next(), random.next()];
            let tag = random.next() as u16;
            for slot in 0..8 {
                if random.one_in(3) {
                    let shift = slot % 4 * 16;
                    let word = &mut words[slot / 4];
                    *word = *word & !(0xffff << shift) | u64::from(tag) << shift;
                }
            }
            assert_eq!(match_tags(words, tag), portable::match_tags(words, tag), "round {round}");
        }
        for tag in [0, 1, 0x7fff, 0x8000, 0xffff] {
            let words = [0x8000_7fff_0001_0000, 0xffff_8000_ffff_0000];
            assert_eq!(match_tags(words, tag), portable::match_tags(words, tag));
        }
    }
}
