//! The longest beginning of a text that C reads as a double.

/// Returns the number and the bytes that it takes, 0 where there is none.
pub fn strtod(text: &[u8]) -> (f64, usize) {
    let sign = usize::from(matches!(text.first(), Some(b'-' | b'+')));
    let rest = &text[sign..];
    let (value, length) = if let Some(found) = word(rest) {
        found
    } else if let Some(found) = hexadecimal(rest) {
        found
    } else {
        decimal(rest)
    };
    if length == 0 {
        return (0.0, 0);
    }
    let is_negative = text.first() == Some(&b'-');
    (if is_negative { -value } else { value }, length + sign)
}

fn word(text: &[u8]) -> Option<(f64, usize)> {
    let begins = |word: &str| {
        text.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
    };
    if begins("infinity") {
        return Some((f64::INFINITY, 8));
    }
    if begins("inf") {
        return Some((f64::INFINITY, 3));
    }
    if !begins("nan") {
        return None;
    }
    let is_inside = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let inside = text[3..].strip_prefix(b"(").map(|rest| rest.iter().take_while(|b| is_inside(b)));
    let extra = inside.map(Iterator::count).filter(|count| text.get(4 + count) == Some(&b')'));
    Some((f64::NAN, 3 + extra.map_or(0, |count| count + 2)))
}

fn decimal(text: &[u8]) -> (f64, usize) {
    let digits = |from: usize| text[from..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = digits(0);
    let mut end = whole;
    let mut count = whole;
    if text.get(end) == Some(&b'.') {
        let fraction = digits(end + 1);
        if whole + fraction > 0 {
            end += 1 + fraction;
            count += fraction;
        }
    }
    if count == 0 {
        return (0.0, 0);
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(end + 1), Some(b'-' | b'+')));
        if text.get(end + 1 + sign).is_some_and(u8::is_ascii_digit) {
            end += 1 + sign + digits(end + 1 + sign);
        }
    }
    let number = std::str::from_utf8(&text[..end]).ok().and_then(|text| text.parse().ok());
    (number.unwrap_or(0.0), end)
}

/// Reads `0x1.8p4`; `None` where no digit follows.
fn hexadecimal(text: &[u8]) -> Option<(f64, usize)> {
    let [b'0', b'x' | b'X', ..] = text else { return None };
    let (mut mantissa, mut exponent, mut count, mut at) = (0_u64, 0_i64, 0, 2);
    let mut is_behind_point = false;
    loop {
        match text.get(at) {
            Some(b'.') if !is_behind_point => is_behind_point = true,
            Some(byte) if byte.is_ascii_hexdigit() => {
                let digit = char::from(*byte).to_digit(16).map_or(0, u64::from);
                count += 1;
                if mantissa >> 60 == 0 {
                    mantissa = mantissa << 4 | digit;
                    exponent -= if is_behind_point { 4 } else { 0 };
                } else {
                    // The lowest bit stands for all that follow, for rounding.
                    mantissa |= u64::from(digit != 0);
                    exponent += if is_behind_point { 0 } else { 4 };
                }
            }
            _ => break,
        }
        at += 1;
    }
    if count == 0 {
        return None;
    }
    if matches!(text.get(at), Some(b'p' | b'P')) {
        let sign = usize::from(matches!(text.get(at + 1), Some(b'-' | b'+')));
        let digits = text.get(at + 1 + sign..).unwrap_or_default();
        let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if length > 0 {
            let size = digits[..length]
                .iter()
                .fold(0_i64, |size, digit| (size * 10 + i64::from(digit - b'0')).min(EXPONENT_MAX));
            exponent += if text[at + 1] == b'-' { -size } else { size };
            at += 1 + sign + length;
        }
    }
    Some((scale(mantissa, exponent), at))
}

/// Returns `mantissa * 2^exponent`, in two steps so that nothing overflows on the way.
#[expect(clippy::cast_precision_loss, reason = "rounding is what is wanted")]
fn scale(mantissa: u64, exponent: i64) -> f64 {
    let exponent = i32::try_from(exponent.clamp(-EXPONENT_MAX, EXPONENT_MAX)).unwrap_or(0);
    let half = exponent / 2;
    mantissa as f64 * 2_f64.powi(half) * 2_f64.powi(exponent - half)
}

/// Exponent beyond which every number is zero or infinite.
const EXPONENT_MAX: i64 = 2200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_number_is_taken() {
        for (text, value, length) in [
            ("1.5x", 1.5, 3),
            ("1e", 1.0, 1),
            ("1e+", 1.0, 1),
            ("-.5", -0.5, 3),
            ("0xg", 0.0, 1),
            ("0x10", 16.0, 4),
            ("-0x1.8p1", -3.0, 8),
            ("infinit", f64::INFINITY, 3),
            ("1.", 1.0, 2),
            (".", 0.0, 0),
            ("1e400", f64::INFINITY, 5),
        ] {
            assert_eq!(strtod(text.as_bytes()), (value, length), "{text}");
        }
        assert_eq!(strtod(b"nan(ab)").1, 7);
        assert_eq!(strtod(b"nan(ab").1, 3);
    }
}
