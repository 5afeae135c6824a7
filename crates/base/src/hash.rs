//! Position hashes: XXH3-64 under a secret drawn at start, so that clients cannot aim at a bucket.

use crate::units::PositionHash;
use xxhash_rust::xxh3::xxh3_64_with_secret;

const SECRET_BYTES: usize = 192;

/// Hash function of keys; the same key has the same position for the life of the process.
#[derive(Clone)]
pub struct KeyHasher {
    secret: [u8; SECRET_BYTES],
}

impl std::fmt::Debug for KeyHasher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeyHasher(secret)")
    }
}

impl KeyHasher {
    /// Returns a hasher with a secret from the operating system.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub fn random() -> Result<KeyHasher, getrandom::Error> {
        let mut secret = [0; SECRET_BYTES];
        getrandom::fill(&mut secret)?;
        Ok(KeyHasher { secret })
    }

    /// Returns a hasher whose positions repeat from run to run, for tests.
    pub fn from_seed(seed: u64) -> KeyHasher {
        let mut random = crate::Random::from_seed(seed);
        KeyHasher { secret: std::array::from_fn(|_| narrow::low_u8(random.next())) }
    }

    /// Returns the position hash of `key`.
    #[inline]
    pub fn hash(&self, key: &[u8]) -> PositionHash {
        PositionHash(xxh3_64_with_secret(key, &self.secret))
    }
}
