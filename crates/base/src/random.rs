//! Random numbers: a small generator (xoshiro256++, Blackman and Vigna 2019), one per thread,
//! handed in as an argument.

/// Random number generator, not for secrets.
#[derive(Clone, Debug)]
pub struct Random {
    state: [u64; 4],
}

impl Random {
    /// Returns a generator whose sequence repeats for the same seed.
    pub fn from_seed(seed: u64) -> Random {
        // SplitMix64 spreads the seed, as the generator's authors recommend.
        let mut z = seed;
        let mut spread = || {
            z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut x = z;
            x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            x ^ (x >> 31)
        };
        Random { state: std::array::from_fn(|_| spread()) }
    }

    /// Returns a generator seeded by the operating system, or with `fallback` if that has no random
    /// numbers.
    pub fn seeded(fallback: u64) -> Random {
        Random::from_seed(getrandom::u64().unwrap_or(fallback))
    }

    /// Returns the next 64 bits.
    #[inline]
    #[expect(clippy::should_implement_trait, reason = "an endless sequence needs no Option")]
    pub fn next(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }

    /// Returns a number below `bound`, uniform but for a bias of `bound` in 2^64 (Lemire 2019).
    #[inline]
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }

    /// Returns true with a probability of one in `n`.
    #[inline]
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}
