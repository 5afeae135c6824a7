//! Exponents behind decimal and hexadecimal digits.

/// Reads an exponent, limited to plus or minus `EXPONENT_MAX`, far beyond the range that any
/// mantissa can bring back into a double.
pub(crate) fn parse_exponent(text: &[u8]) -> Option<i32> {
    let (negative, digits) = match text {
        [b'-', tail @ ..] => (true, tail),
        [b'+', tail @ ..] => (false, tail),
        _ => (false, text),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let magnitude = digits
        .iter()
        .fold(0i32, |value, byte| (value * 10 + i32::from(byte - b'0')).min(EXPONENT_MAX));
    Some(if negative { -magnitude } else { magnitude })
}

const EXPONENT_MAX: i32 = 1_000_000;
