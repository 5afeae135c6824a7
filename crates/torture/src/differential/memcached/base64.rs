//! Keys in base64.

/// Returns true if no line can name a key as it is.
pub fn is_needed(key: &[u8]) -> bool {
    key.is_empty() || key.iter().any(|byte| b" \r\n".contains(byte))
}

/// Returns bytes in base64.
pub fn encode(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    for group in bytes.chunks(3) {
        let byte = |at: usize| u32::from(group.get(at).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for at in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * at) & 63) as usize];
            out.push(if at > group.len() { b'=' } else { letter });
        }
    }
    out
}

/// Returns the bytes that a text in base64 stands for. Letters of no alphabet are passed over.
pub fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let value = |letter: &u8| LETTERS.iter().position(|it| it == letter);
    let letters: Vec<_> =
        text.iter().filter(|letter| **letter == b'=' || value(letter).is_some()).collect();
    if letters.is_empty() || !letters.len().is_multiple_of(4) {
        return None;
    }
    let mut out = Vec::new();
    for group in letters.chunks(4) {
        let bits =
            group.iter().fold(0, |bits, letter| bits << 6 | value(letter).unwrap_or(0) as u32);
        let filling = group.iter().filter(|letter| ***letter == b'=').count();
        let [_, bytes @ ..] = bits.to_be_bytes();
        out.extend_from_slice(
            bytes.get(..3_usize.checked_sub(filling)?).filter(|it| !it.is_empty())?,
        );
        if filling > 0 {
            break;
        }
    }
    Some(out)
}

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_filled_up() {
        for (bytes, text) in [("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
        {
            assert_eq!(encode(bytes.as_bytes()), text.as_bytes());
            assert_eq!(decode(text.as_bytes()), Some(bytes.as_bytes().to_vec()));
        }
        assert_eq!(decode(b"Zm:9v"), Some(b"foo".to_vec()));
        for text in ["", "Zg=", "Zg", "Z*==", "Z===", "===="] {
            assert_eq!(decode(text.as_bytes()), None, "{text:?}");
        }
    }
}
