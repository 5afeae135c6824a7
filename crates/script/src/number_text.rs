//! Numbers with a fixed number of digits, as `%.14g` prints them in C.

use std::fmt::Write;

/// Appends a number with at most `precision` significant digits.
pub fn write_g(out: &mut Vec<u8>, value: f64, precision: i32) {
    if !value.is_finite() {
        let text: &[u8] = if value.is_nan() { b"nan" } else { b"inf" };
        out.extend_from_slice(if value.is_sign_negative() { b"-" } else { b"" });
        return out.extend_from_slice(text);
    }
    let mut text = Short { bytes: [0; 48], length: 0 };
    let after_point = usize::try_from(precision.max(1) - 1).unwrap_or(0);
    let _ = write!(text, "{value:.after_point$e}");
    let text = &text.bytes[..text.length];
    let Some(mark) = text.iter().position(|&byte| byte == b'e') else { return };
    let (mantissa, exponent) = (&text[..mark], read_exponent(&text[mark + 1..]));
    let mantissa = match mantissa.strip_prefix(b"-") {
        Some(rest) => {
            out.push(b'-');
            rest
        }
        None => mantissa,
    };
    let mut digits = [0; 48];
    let mut count = 0;
    for &byte in mantissa.iter().filter(|byte| byte.is_ascii_digit()) {
        digits[count] = byte;
        count += 1;
    }
    let significant = digits[..count].iter().rposition(|&byte| byte != b'0').map_or(1, |at| at + 1);
    let digits = &digits[..significant];
    if exponent < -4 || exponent >= precision {
        write_scientific(out, digits, exponent);
    } else {
        write_plain(out, digits, exponent);
    }
}

fn write_scientific(out: &mut Vec<u8>, digits: &[u8], exponent: i32) {
    out.push(digits[0]);
    if digits.len() > 1 {
        out.push(b'.');
        out.extend_from_slice(&digits[1..]);
    }
    out.extend_from_slice(if exponent < 0 { b"e-" } else { b"e+" });
    let size = exponent.unsigned_abs();
    if size < 10 {
        out.push(b'0');
    }
    text::write_u64(out, u64::from(size));
}

fn write_plain(out: &mut Vec<u8>, digits: &[u8], exponent: i32) {
    match usize::try_from(exponent) {
        Ok(exponent) => {
            let whole = (exponent + 1).min(digits.len());
            out.extend_from_slice(&digits[..whole]);
            out.extend(std::iter::repeat_n(b'0', exponent + 1 - whole));
            if digits.len() > whole {
                out.push(b'.');
                out.extend_from_slice(&digits[whole..]);
            }
        }
        Err(_) => {
            out.extend_from_slice(b"0.");
            let zeros = usize::try_from(-exponent - 1).unwrap_or(0);
            out.extend(std::iter::repeat_n(b'0', zeros));
            out.extend_from_slice(digits);
        }
    }
}

fn read_exponent(text: &[u8]) -> i32 {
    text::parse_i64(text).and_then(|exponent| i32::try_from(exponent).ok()).unwrap_or(0)
}

/// Text on the stack: a vector would be lost where Lua jumps.
struct Short {
    bytes: [u8; 48],
    length: usize,
}

impl Write for Short {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.length + text.len();
        self.bytes
            .get_mut(self.length..end)
            .ok_or(std::fmt::Error)?
            .copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn g(value: f64, precision: i32) -> String {
        let mut out = Vec::new();
        write_g(&mut out, value, precision);
        String::from_utf8(out).expect("ASCII")
    }

    #[test]
    fn numbers_are_printed_as_in_c() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (0.1, "0.1"),
            (1e14, "1e+14"),
            (99_999_999_999_999.0, "99999999999999"),
            (1e-7, "1e-07"),
            (0.0001, "0.0001"),
            (123_456_789_012_345.0, "1.2345678901234e+14"),
            (1e100, "1e+100"),
            (-2.5, "-2.5"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(g(value, 14), text);
        }
        assert_eq!([g(1234.5, 2), g(9.99, 2), g(0.5, 1)], ["1.2e+03", "10", "0.5"]);
    }
}
