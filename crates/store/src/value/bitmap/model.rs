//! Bitmaps as lists of bits: the reference that tests compare the fast functions with.

use base::Random;

/// The bits of `bytes`, one by one.
pub fn bits(bytes: &[u8]) -> Vec<bool> {
    bytes.iter().flat_map(|byte| (0..8).map(move |bit| byte >> (7 - bit) & 1 == 1)).collect()
}

/// Returns random bytes, at most `len_max`; many of them are all zeros or all ones.
pub fn random_bytes(random: &mut Random, len_max: u64) -> Vec<u8> {
    let dull = random.below(3);
    let byte = |random: &mut Random| match (dull, random.below(20)) {
        (0, 1..) => 0,
        (1, 1..) => 0xff,
        _ => random.below(256) as u8,
    };
    (0..random.below(len_max + 1)).map(|_| byte(random)).collect()
}
