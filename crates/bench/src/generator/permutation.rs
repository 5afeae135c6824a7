//! Permutation that scatters ranks over key numbers, so that popular keys are not neighbours.

/// Highest number of keys, in twelve digits.
pub(super) const KEY_COUNT_MAX: u64 = 1_000_000_000_000;

/// Bijection on `0..count`: multiplication by a factor that is coprime to the count.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    count: u64,
    factor: u64,
    /// True if the product of any number below the count and the factor fits 64 bits.
    is_narrow: bool,
}

impl Permutation {
    /// Returns the permutation of `0..count`; always the same for the same count.
    pub fn of(count: u64) -> Self {
        // Both are primes and their product exceeds any count, so one of them does not divide it.
        let [first, second] = PRIMES;
        let factor = if count.is_multiple_of(first) { second } else { first };
        Self { count, factor, is_narrow: count.checked_mul(factor).is_some() }
    }

    /// Returns the image of a number below the count.
    #[inline]
    pub fn apply(self, number: u64) -> u64 {
        if self.is_narrow {
            number * self.factor % self.count
        } else {
            (u128::from(number) * u128::from(self.factor) % u128::from(self.count)) as u64
        }
    }
}

const PRIMES: [u64; 2] = [2_654_435_761, 4_294_967_291];
const _: () = assert!(PRIMES[0] as u128 * PRIMES[1] as u128 > KEY_COUNT_MAX as u128);

#[cfg(test)]
mod tests {
    use super::{KEY_COUNT_MAX, PRIMES, Permutation};

    /// Returns the inverse of `factor` modulo `count`, by Euclid; `None` if there is none.
    fn inverse(factor: u64, count: u64) -> Option<u64> {
        let (mut high, mut low) = (i128::from(count), i128::from(factor % count));
        let (mut before, mut now) = (0_i128, 1_i128);
        while low != 0 {
            let quotient = high / low;
            (high, low) = (low, high - quotient * low);
            (before, now) = (now, before - quotient * now);
        }
        (high == 1).then(|| before.rem_euclid(i128::from(count)) as u64)
    }

    #[test]
    fn each_key_is_hit_once() {
        for count in [1, 2, 7, 1000, 65_536, 99_991, 1_048_575, 3_000_000] {
            let permutation = Permutation::of(count);
            let mut is_hit = vec![false; count as usize];
            for number in 0..count {
                let key = permutation.apply(number) as usize;
                assert!(!is_hit[key], "{key} of {count} twice");
                is_hit[key] = true;
            }
        }
    }

    #[test]
    fn counts_too_large_to_try_can_be_undone() {
        let [first, second] = PRIMES;
        let counts =
            [first, second, first * 300, u64::from(u32::MAX) + 1, KEY_COUNT_MAX - 1, KEY_COUNT_MAX];
        for count in counts {
            let permutation = Permutation::of(count);
            let back = inverse(permutation.factor, count).unwrap();
            for number in [0, 1, 2, count / 3, count / 2, count - 2, count - 1] {
                let key = permutation.apply(number);
                assert!(key < count);
                let product = u128::from(key) * u128::from(back) % u128::from(count);
                assert_eq!(product, u128::from(number), "of {count}");
            }
        }
    }

    #[test]
    fn primes_have_no_divisor() {
        for prime in PRIMES {
            assert!((2..=prime.isqrt()).all(|divisor| !prime.is_multiple_of(divisor)), "{prime}");
        }
    }
}
