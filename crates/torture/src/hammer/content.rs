//! Values that identify their keys, and whose damage can be detected.
//!
//! ```text
//! 0          8         12        16                    length
//! │ checksum │ family  │ length  │ random bytes ...    │      16 bytes or more
//! │ digits derived from the family      │                     shorter values
//! ```

use super::chance::{Chance, mix};
use anyhow::{Result, bail, ensure};
use xxhash_rust::xxh3::xxh3_64;

/// Number shared by a value and all keys that may hold it.
pub(super) type Family = u32;

/// Bytes before the random part.
pub(super) const HEADER: usize = 16;

/// Returns a random value of so many bytes.
pub(super) fn value(family: Family, length: usize, chance: &mut Chance) -> Vec<u8> {
    if length < HEADER {
        return digits(family)[..length].to_vec();
    }
    let mut bytes = vec![0; length];
    let mut bits = chance.bits();
    for place in bytes[HEADER..].chunks_mut(8) {
        bits = mix(bits.wrapping_add(0x9e37_79b9_7f4a_7c15));
        place.copy_from_slice(&bits.to_le_bytes()[..place.len()]);
    }
    bytes[8..12].copy_from_slice(&family.to_le_bytes());
    bytes[12..16].copy_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_le_bytes());
    let checksum = xxh3_64(&bytes[8..]);
    bytes[..8].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

/// Checks that bytes are a complete and unchanged value of a family.
pub(super) fn check(family: Family, bytes: &[u8]) -> Result<()> {
    if bytes.len() < HEADER {
        ensure!(
            bytes == &digits(family)[..bytes.len()],
            "{:?} is no value of family {family}",
            String::from_utf8_lossy(bytes)
        );
        return Ok(());
    }
    check_header(family, bytes)?;
    let announced = u32_at(bytes, 12) as usize;
    ensure!(
        announced == bytes.len(),
        "a value of family {family} has {} bytes and was written with {announced}",
        bytes.len()
    );
    let checksum = xxh3_64(&bytes[8..]).to_le_bytes();
    if checksum != bytes[..8] {
        bail!("a value of family {family} with {announced} bytes does not fit its checksum");
    }
    Ok(())
}

/// Checks the beginning of a value, at least sixteen bytes.
pub(super) fn check_header(family: Family, bytes: &[u8]) -> Result<()> {
    let found = u32_at(bytes, 8);
    ensure!(found == family, "a value of family {found} where one of {family} belongs");
    Ok(())
}

/// Checks a string of equal blocks, each of which is a value or a hole of zeros.
pub(super) fn check_blocks(family: Family, block: usize, bytes: &[u8]) -> Result<()> {
    ensure!(
        bytes.len().is_multiple_of(block),
        "{} bytes in blocks of {block}, family {family}",
        bytes.len()
    );
    for (place, bytes) in bytes.chunks(block).enumerate() {
        if bytes.iter().any(|byte| *byte != 0)
            && let Err(error) = check(family, bytes)
        {
            bail!("block {place} of {block} bytes: {error}");
        }
    }
    Ok(())
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Digits of which short values are a part: servers can keep them as integers.
fn digits(family: Family) -> [u8; HEADER] {
    let number = mix(u64::from(family)) % 9_000_000_000_000_000 + 1_000_000_000_000_000;
    let mut digits = [0; HEADER];
    digits.copy_from_slice(number.to_string().as_bytes());
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTHS: [usize; 9] = [0, 1, 7, 15, 16, 17, 100, 4096, 1 << 20];

    #[test]
    fn a_value_of_any_length_is_known_by_its_family() {
        let mut chance = Chance::new(1, 1);
        for length in LENGTHS {
            let bytes = value(7, length, &mut chance);
            assert_eq!(bytes.len(), length);
            check(7, &bytes).unwrap();
            // An empty value identifies no family.
            assert_eq!(check(8, &bytes).is_err(), length > 0, "{length} bytes");
        }
    }

    #[test]
    fn each_changed_or_missing_byte_is_found() {
        let mut chance = Chance::new(2, 1);
        for length in [1, 15, 16, 100, 1000] {
            let whole = value(7, length, &mut chance);
            for at in 0..length {
                let mut changed = whole.clone();
                changed[at] ^= 1;
                assert!(check(7, &changed).is_err(), "byte {at} of {length}");
            }
            if length > HEADER {
                assert!((HEADER..length).all(|end| check(7, &whole[..end]).is_err()));
                assert!(check(7, &[&whole[..], b"x"].concat()).is_err());
            }
        }
    }

    #[test]
    fn halves_of_two_values_are_no_value() {
        let mut chance = Chance::new(3, 1);
        let [one, other] = [0, 1].map(|_| value(7, 5000, &mut chance));
        assert!(check(7, &[&one[..2500], &other[2500..]].concat()).is_err());
    }

    #[test]
    fn blocks_are_whole_values_or_holes() {
        let mut chance = Chance::new(4, 1);
        let [one, other] = [0, 1].map(|_| value(7, 64, &mut chance));
        let hole = vec![0; 128];
        check_blocks(7, 64, &[&one[..], &hole, &other].concat()).unwrap();
        assert!(check_blocks(7, 64, &[&one[..], &hole[1..], &other, b"x"].concat()).is_err());
        assert!(check_blocks(7, 64, &[&one[..], &other[..63]].concat()).is_err());
        assert!(check_blocks(6, 64, &one).is_err());
    }
}
