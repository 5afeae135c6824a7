//! Whole numbers with one spelling each.
//!
//! A value that parses and prints to the same bytes may be stored as a number, so the parser
//! accepts exactly what the printer writes: no plus, no leading zero, no blank, no `-0`.

/// Reads a whole number in the range of `i64`, in its only accepted spelling.
#[inline]
pub fn parse_i64(text: &[u8]) -> Option<i64> {
    match text {
        [b'-', digits @ ..] => {
            let magnitude = parse_u64(digits)?;
            if magnitude == 0 || magnitude > i64::MIN.unsigned_abs() {
                return None;
            }
            Some(magnitude.wrapping_neg().cast_signed())
        }
        digits => i64::try_from(parse_u64(digits)?).ok(),
    }
}

/// Reads a whole number in the range of `u64`, in its only accepted spelling.
#[inline]
pub fn parse_u64(text: &[u8]) -> Option<u64> {
    match text {
        [b'0'] => Some(0),
        [b'1'..=b'9', ..] if text.len() < DIGITS_U64_MAX => digits_value(text),
        [b'1'..=b'9', ..] if text.len() == DIGITS_U64_MAX => {
            let (last, head) = text.split_last()?;
            digits_value(head)?.checked_mul(10)?.checked_add(digit(*last)?)
        }
        _ => None,
    }
}

/// Appends the decimal text of `value`.
#[inline]
pub fn write_i64(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends the decimal text of `value`.
#[inline]
pub fn write_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Buffer on the stack for the text of one integer.
#[derive(Clone, Copy, Default)]
pub struct IntegerText(itoa::Buffer);

impl IntegerText {
    /// Returns an empty buffer.
    #[inline]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the decimal text of `value`, valid until the next call.
    #[inline]
    pub fn format(&mut self, value: i64) -> &[u8] {
        self.0.format(value).as_bytes()
    }

    /// Returns the decimal text of an unsigned `value`, valid until the next call.
    #[inline]
    pub fn format_unsigned(&mut self, value: u64) -> &[u8] {
        self.0.format(value).as_bytes()
    }
}

/// Returns the value of up to 19 digits, which cannot overflow.
#[inline]
fn digits_value(text: &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for byte in text {
        value = value * 10 + digit(*byte)?;
    }
    Some(value)
}

#[inline]
fn digit(byte: u8) -> Option<u64> {
    let value = byte.wrapping_sub(b'0');
    (value <= 9).then_some(u64::from(value))
}

const DIGITS_U64_MAX: usize = 20;

#[cfg(test)]
mod tests {
    use super::{IntegerText, parse_i64, parse_u64, write_i64};
    use proptest::prelude::{any, prop_assert_eq, proptest};

    #[test]
    fn the_ends_of_the_range_are_read() {
        assert_eq!(parse_i64(b"9223372036854775807"), Some(i64::MAX));
        assert_eq!(parse_i64(b"-9223372036854775808"), Some(i64::MIN));
        assert_eq!(parse_u64(b"18446744073709551615"), Some(u64::MAX));
    }

    #[test]
    fn one_beyond_the_range_is_refused() {
        assert_eq!(parse_i64(b"9223372036854775808"), None);
        assert_eq!(parse_i64(b"-9223372036854775809"), None);
        assert_eq!(parse_u64(b"18446744073709551616"), None);
        assert_eq!(parse_u64(b"99999999999999999999"), None);
        assert_eq!(parse_u64(b"100000000000000000000"), None);
    }

    #[test]
    fn other_spellings_are_refused() {
        for text in
            ["", "-", "+1", "-0", "00", "01", "-01", " 1", "1 ", "1.0", "1e3", "0x1", "--1", "1-"]
        {
            assert_eq!(parse_i64(text.as_bytes()), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(value in any::<i64>()) {
            let mut out = Vec::new();
            write_i64(&mut out, value);
            prop_assert_eq!(out.clone(), value.to_string().into_bytes());
            prop_assert_eq!(IntegerText::new().format(value).to_vec(), out.clone());
            prop_assert_eq!(parse_i64(&out), Some(value));
        }

        #[test]
        fn the_accepted_spelling_is_the_one_std_prints(text in "[-+]?[0-9]{0,21}") {
            let expected = text.parse::<i64>().ok().filter(|value| value.to_string() == text);
            prop_assert_eq!(parse_i64(text.as_bytes()), expected);
            let expected = text.parse::<u64>().ok().filter(|value| value.to_string() == text);
            prop_assert_eq!(parse_u64(text.as_bytes()), expected);
        }
    }
}
