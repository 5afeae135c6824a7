//! The hash slot of a key: its share of a cluster.

use crc_fast::{CrcAlgorithm, checksum};

/// Number of slots that the keys of a cluster are divided into.
const SLOTS: u64 = 16_384;

/// Returns the slot of a key. Keys with the same text in braces have the same slot.
pub(super) fn of_key(key: &[u8]) -> u16 {
    narrow::low_u16(checksum(CrcAlgorithm::Crc16Xmodem, hashed_part(key)) % SLOTS)
}

/// Returns what stands between the first opening brace and the next closing one; the whole key
/// where there is no such pair, or nothing within it.
fn hashed_part(key: &[u8]) -> &[u8] {
    let position = |text: &[u8], wanted: u8| text.iter().position(|byte| *byte == wanted);
    let Some(open) = position(key, b'{') else { return key };
    let behind = &key[open + 1..];
    match position(behind, b'}') {
        None | Some(0) => key,
        Some(len) => &behind[..len],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_pair_of_braces_that_holds_something_tells_the_slot() {
        let part = |key: &str| String::from_utf8_lossy(hashed_part(key.as_bytes())).into_owned();
        let same = ["", "foo", "{", "}", "{}", "foo{}{bar}", "{bar", "foo}bar{"];
        same.iter().for_each(|key| assert_eq!(part(key), *key));
        assert_eq!(part("{user}:1"), "user");
        assert_eq!(part("foo{{bar}}zap"), "{bar");
        assert_eq!(part("foo}{bar}{zap}"), "bar");
    }

    #[test]
    fn slots_are_those_of_other_servers() {
        let slots = [("", 0), ("foo", 12_182), ("123456789", 12_739), ("{user}:1", 5_474)];
        slots.iter().for_each(|(key, slot)| assert_eq!(of_key(key.as_bytes()), *slot, "{key}"));
    }
}
