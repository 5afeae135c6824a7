//! Keys in base64, both ways.
//!
//! Decoding is as forgiving as that of Memcached 1.6.45: characters outside of the alphabet are
//! passed over, and what stands behind the first padded group means nothing.

use crate::KEY_BYTES_MAX;

/// Room for a decoded key.
pub type KeyRoom = [u8; KEY_BYTES_MAX];

/// Room for a decoded key, with nothing in it.
pub const KEY_ROOM: KeyRoom = [0; KEY_BYTES_MAX];

/// Decodes a key of at most [`KEY_BYTES_MAX`] characters into `room`. Returns `None` if it is not
/// base64: if the characters that count make no whole groups of four, or none at all.
pub fn decode<'a>(text: &[u8], room: &'a mut KeyRoom) -> Option<&'a [u8]> {
    let characters = || text.iter().filter_map(|character| value_of(*character));
    let count = characters().count();
    if text.len() > KEY_BYTES_MAX || count == 0 || !count.is_multiple_of(GROUP) {
        return None;
    }
    let (mut characters, mut len) = (characters(), 0);
    for _ in 0..count / GROUP {
        let (mut word, mut padding) = (0_u32, 0);
        for character in characters.by_ref().take(GROUP) {
            word = word << 6 | u32::from(character & VALUE_MAX);
            padding += usize::from(character == PADDING);
        }
        let decoded = 3_usize.checked_sub(padding).filter(|decoded| *decoded > 0)?;
        let [_, bytes @ ..] = word.to_be_bytes();
        room.get_mut(len..len + decoded)?.copy_from_slice(&bytes[..decoded]);
        len += decoded;
        if padding > 0 {
            break;
        }
    }
    Some(&room[..len])
}

/// Appends `key` in base64, padded to whole groups of four.
pub fn encode(key: &[u8], out: &mut Vec<u8>) {
    for group in key.chunks(3) {
        let mut bytes = [0; 4];
        bytes[1..=group.len()].copy_from_slice(group);
        let word = u32::from_be_bytes(bytes);
        for at in 0..GROUP {
            let value = word >> (18 - 6 * at) & u32::from(VALUE_MAX);
            let character = ALPHABET[value as usize];
            out.push(if at > group.len() { b'=' } else { character });
        }
    }
}

/// Returns the value of a character; `None` if it does not count.
fn value_of(character: u8) -> Option<u8> {
    Some(match character {
        b'A'..=b'Z' => character - b'A',
        b'a'..=b'z' => character - b'a' + 26,
        b'0'..=b'9' => character - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        b'=' => PADDING,
        _ => return None,
    })
}

const GROUP: usize = 4;
const VALUE_MAX: u8 = 63;
/// Value of a padding character; its lower six bits are 0.
const PADDING: u8 = 64;
const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

#[cfg(test)]
mod tests {
    use super::{KEY_ROOM, decode, encode};
    use proptest::collection::vec;
    use proptest::prelude::{any, prop_assert_eq, proptest};

    /// What Memcached 1.6.45 takes a key with flag `b` for, in the base64 of its reply.
    const MEASURED: &[(&str, Option<&str>)] = &[
        ("=", None),
        ("==", None),
        ("====", None),
        ("Q", None),
        ("Q=", None),
        ("Q===", None),
        ("QQ", None),
        ("QQ=", None),
        ("QQ==", Some("QQ==")),
        ("QQ===", None),
        ("QR==", Some("QQ==")),
        ("QUE", None),
        ("QUE=", Some("QUE=")),
        ("QUF=", Some("QUE=")),
        ("QUFB", Some("QUFB")),
        ("QUFBQ", None),
        ("QUFBQQ", None),
        ("QUFBQQ==", Some("QUFBQQ==")),
        ("QUFBQR==", Some("QUFBQQ==")),
        ("-_-_", None),
        ("+/+/", Some("+/+/")),
        ("QU\tB", None),
        ("QUFB=", None),
        ("QQ==QQ==", Some("QQ==")),
        ("QQ==A", None),
        ("QQ==AAAA", Some("QQ==")),
        ("QQ==????", Some("QQ==")),
        ("QUE=QUE=", Some("QUE=")),
        ("QUFBQQ==QUFB", Some("QUFBQQ==")),
        ("QU=B", Some("QUA=")),
        ("QU\r\r", None),
        ("QUFB\r\r", Some("QUFB")),
        ("\rQUFB", Some("QUFB")),
        ("QU\rFB", Some("QUFB")),
        ("QUFB\u{b}", Some("QUFB")),
        ("QUFB\0", Some("QUFB")),
        ("QUFBQ\r", None),
        ("Q\rQ==", Some("QQ==")),
        ("Q?==", None),
    ];

    #[test]
    fn keys_are_decoded_as_measured() {
        for (text, expected) in MEASURED {
            let mut room = KEY_ROOM;
            let decoded = decode(text.as_bytes(), &mut room).map(|key| {
                let mut out = Vec::new();
                encode(key, &mut out);
                out
            });
            assert_eq!(decoded.as_deref(), expected.map(str::as_bytes), "{text:?}");
        }
    }

    #[test]
    fn a_key_of_250_characters_is_decoded_and_one_of_more_is_not() {
        let len_of = |text: &[u8]| {
            let mut room = KEY_ROOM;
            decode(text, &mut room).map(<[u8]>::len)
        };
        let text = "QUFB".repeat(63);
        assert_eq!(len_of(&text.as_bytes()[..248]), Some(186));
        assert_eq!(len_of(&[&text.as_bytes()[..248], b"\r\r"].concat()), Some(186));
        assert_eq!(len_of(text.as_bytes()), None);
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded(key in vec(any::<u8>(), 1..=186)) {
            let (mut text, mut room) = (Vec::new(), KEY_ROOM);
            encode(&key, &mut text);
            prop_assert_eq!(decode(&text, &mut room), Some(&key[..]));
        }
    }
}
