//! Checksum of files and payloads: CRC-64 as Redis computes it, beginning with zero.

use crc_fast::{CrcAlgorithm, Digest};

const ALGORITHM: CrcAlgorithm = CrcAlgorithm::Crc64Redis;

/// Checksum of bytes that come in pieces.
#[derive(Clone, Debug)]
pub struct Checksum(Digest);

impl Default for Checksum {
    fn default() -> Checksum {
        Checksum(Digest::new(ALGORITHM))
    }
}

impl Checksum {
    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Checksum of all bytes so far.
    pub fn value(&self) -> u64 {
        self.0.clone().finalize()
    }

    /// Checksum of bytes in one piece.
    pub fn of(bytes: &[u8]) -> u64 {
        crc_fast::checksum(ALGORITHM, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::Checksum;

    #[test]
    fn the_checksum_is_that_of_redis() {
        assert_eq!(Checksum::of(b"123456789"), 0xe9c6_d914_c4b8_d9ca);
        let mut pieces = Checksum::default();
        [&b"1234"[..], b"", b"56789"].iter().for_each(|piece| pieces.add(piece));
        assert_eq!(pieces.value(), 0xe9c6_d914_c4b8_d9ca);
    }
}
