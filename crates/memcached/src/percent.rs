//! Percent-encoding of keys, as metadump lists them.

/// Appends a key. Letters, digits and `-._~` stand for themselves; each other byte becomes a
/// percent sign and two digits in capitals.
pub fn percent_encode(key: &[u8], out: &mut Vec<u8>) {
    for byte in key {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(byte) {
            out.push(*byte);
        } else {
            let digits = [byte >> 4, byte & 15].map(|digit| DIGITS[usize::from(digit)]);
            out.extend_from_slice(&[b'%', digits[0], digits[1]]);
        }
    }
}

const DIGITS: &[u8; 16] = b"0123456789ABCDEF";

#[cfg(test)]
mod tests {
    use super::percent_encode;

    #[test]
    fn keys_are_encoded_as_measured() {
        for (key, encoded) in [
            ("k\tx", "k%09x"),
            ("k%", "k%25"),
            ("k+", "k%2B"),
            ("k~", "k~"),
            ("k\u{1}", "k%01"),
            ("k/", "k%2F"),
            ("k.", "k."),
            ("k-_", "k-_"),
            ("k!", "k%21"),
            ("k\"<>", "k%22%3C%3E"),
            ("a b", "a%20b"),
        ] {
            let mut out = Vec::new();
            percent_encode(key.as_bytes(), &mut out);
            assert_eq!(out, encoded.as_bytes());
        }
        let mut out = Vec::new();
        percent_encode(b"k\xff", &mut out);
        assert_eq!(out, b"k%FF");
    }
}
