//! Numbers by chance for scripts: the same after each seed, on every machine.

/// Generator with 48 bits of state, whose multiplier and sum are those of POSIX's `drand48`.
#[derive(Clone, Copy, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// Returns the generator of a seed.
    pub fn new(seed: i32) -> Self {
        Random { state: u64::from(seed.cast_unsigned()) << 16 | 0x330E }
    }

    /// Returns the generator that was never given a seed.
    pub fn first() -> Self {
        Random { state: 0x1234_ABCD_330E }
    }

    /// Returns the next number below 2^31.
    pub fn next(&mut self) -> i32 {
        self.state = self.state.wrapping_mul(0x5_DEEC_E66D).wrapping_add(0xB) & ((1 << 48) - 1);
        i32::try_from(self.state >> 17).unwrap_or(i32::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_numbers_again() {
        let (mut one, mut other) = (Random::new(7), Random::new(7));
        assert!((0..100).all(|_| one.next() == other.next()));
    }

    #[test]
    fn seed_zero_begins_as_drand48_does() {
        let mut random = Random::new(0);
        assert_eq!([random.next(), random.next()], [366_850_414, 1_610_402_240]);
    }
}
