//! Population count with the widest vectors that the processor has.

use super::adders::sum_of;

/// Counts the bits that are set in `bytes`.
pub(super) fn count_bytes(bytes: &[u8]) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
        // SAFETY: the processor has what the function is compiled for.
        return unsafe { with_avx2(bytes) };
    }
    sum_of(bytes)
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,popcnt")]
fn with_avx2(bytes: &[u8]) -> u64 {
    // The compiler turns this into lookups in tables that are kept in vectors (Muła, Kurz and
    // Lemire, Faster Population Counts Using AVX2 Instructions, section 3).
    let (words, rest) = bytes.as_chunks::<8>();
    let words: u64 = words.iter().map(|it| u64::from(u64::from_ne_bytes(*it).count_ones())).sum();
    let rest: u64 = rest.iter().map(|it| u64::from(it.count_ones())).sum();
    words + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_ways_to_count_agree() {
        let bytes: Vec<u8> =
            (0..3_000_u32).map(|it| (it.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        for (from, to) in [(0, 0), (0, 7), (1, 9), (3, 258), (5, 1_030), (0, 3_000), (7, 2_993)] {
            let bytes = &bytes[from..to];
            let one_by_one: u32 = bytes.iter().map(|byte| byte.count_ones()).sum();
            assert_eq!(sum_of(bytes), u64::from(one_by_one));
            assert_eq!(count_bytes(bytes), u64::from(one_by_one));
        }
    }
}
