//! Doubles: scores, coordinates and timeouts.

use crate::grisu::Shortest;

/// Reads a double as scores are written: `3`, `-.5`, `1e5`, `+inf`, `Infinity`.
///
/// Refused: the empty text, blanks, hexadecimal digits, `nan`, and numbers so large or so small
/// that a double would hold infinity or zero in their place. Work is linear in the text.
#[inline]
pub fn parse_f64(text: &[u8]) -> Option<f64> {
    let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    if value.is_normal() {
        return Some(value);
    }
    if value.is_nan() {
        return None;
    }
    let mantissa = text.iter().take_while(|byte| !matches!(byte, b'e' | b'E'));
    let written_zero = !mantissa.clone().any(|byte| matches!(byte, b'1'..=b'9'));
    let written_infinite = !text.iter().any(u8::is_ascii_digit);
    let faithful = (value != 0.0 || written_zero) && (value.is_finite() || written_infinite);
    faithful.then_some(value)
}

/// Reads a double as bounds of scores are written: like [`parse_f64`], but empty text is zero,
/// bytes from a zero byte on are ignored, and numbers beyond the range are infinite or zero.
pub fn parse_f64_bound(text: &[u8]) -> Option<f64> {
    match text.split(|byte| *byte == 0).next() {
        None | Some([]) => Some(0.0),
        Some(text) => {
            let value: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
            (!value.is_nan()).then_some(value)
        }
    }
}

/// Returns a short text that reads back as `value`, in the notation of replies.
pub fn format_f64(value: f64) -> String {
    let mut out = Vec::with_capacity(F64_TEXT_BYTES_MAX);
    write_f64(&mut out, value);
    text_of(out)
}

/// Returns such a text in the notation that replies use for numbers that are not whole: `1e+9`.
pub fn format_f64_digits(value: f64) -> String {
    let mut out = Vec::with_capacity(F64_TEXT_BYTES_MAX);
    if value.is_finite() {
        write_digits(&mut out, value);
    } else {
        write_f64(&mut out, value);
    }
    text_of(out)
}

/// Appends a short text that reads back as `value`, in the notation of replies.
///
/// Whole numbers up to 2^62 have no point and no exponent; others use an exponent when plain digits
/// would need a longer run of zeros than they save: `3.1`, `0.00001`, `1e+20`, `1.5e-7`, `inf`,
/// `-inf`, `nan`, `-0`.
#[inline]
pub fn write_f64(out: &mut Vec<u8>, value: f64) {
    if let Some(whole) = whole_number(value) {
        crate::write_i64(out, whole);
    } else if value.is_finite() {
        write_digits(out, value);
    } else if value.is_nan() {
        out.extend_from_slice(b"nan");
    } else {
        out.extend_from_slice(if value > 0.0 { b"inf" } else { b"-inf" });
    }
}

/// Returns the text of `value` with at most 17 significant digits, as `%.17g` prints it in C.
pub fn format_g17(value: f64) -> String {
    if !value.is_finite() {
        return format_f64(value);
    }
    let scientific = format!("{value:.16e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..17).contains(&exponent) {
        let decimals = usize::try_from(16 - exponent).unwrap_or(0);
        return trim_zeros(&format!("{value:.decimals$}")).to_owned();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", trim_zeros(mantissa), exponent.unsigned_abs())
}

/// Returns the value as an integer, if both types hold it exactly; `-0.0` is not an integer.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the range was checked")]
fn whole_number(value: f64) -> Option<i64> {
    if !(-WHOLE_MAX..=WHOLE_MAX).contains(&value) || (value == 0.0 && value.is_sign_negative()) {
        return None;
    }
    let whole = value as i64;
    (whole as f64 == value).then_some(whole)
}

/// Writes a finite number that is not a small whole number.
fn write_digits(out: &mut Vec<u8>, value: f64) {
    if value.is_sign_negative() {
        out.push(b'-');
    }
    if value == 0.0 {
        out.push(b'0');
        return;
    }
    Shortest::of(value.abs()).write(out);
}

impl Shortest {
    fn write(&self, out: &mut Vec<u8>) {
        let digits = &self.digits[..self.count];
        let count = i32::from(narrow::to_u8(self.count));
        let magnitude = self.exponent + count - 1;
        let zeros = |count: i32| std::iter::repeat_n(b'0', usize::try_from(count).unwrap_or(0));
        if self.exponent >= 0 && magnitude < count + 7 {
            out.extend_from_slice(digits);
            out.extend(zeros(self.exponent));
        } else if self.exponent < 0 && (self.exponent > -7 || magnitude.abs() < 4) {
            let whole = usize::try_from(count + self.exponent).unwrap_or(0);
            if whole == 0 {
                out.extend_from_slice(b"0.");
                out.extend(zeros(-self.exponent - count));
            } else {
                out.extend_from_slice(&digits[..whole]);
                out.push(b'.');
            }
            out.extend_from_slice(&digits[whole..]);
        } else {
            self.write_scientific(out, magnitude);
        }
    }

    fn write_scientific(&self, out: &mut Vec<u8>, magnitude: i32) {
        out.push(self.digits[0]);
        if self.count > 1 {
            out.push(b'.');
            out.extend_from_slice(&self.digits[1..self.count]);
        }
        out.extend_from_slice(if magnitude < 0 { b"e-" } else { b"e+" });
        crate::write_u64(out, u64::from(magnitude.unsigned_abs()));
    }
}

fn trim_zeros(text: &str) -> &str {
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

fn text_of(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_default()
}

/// Largest whole number that is printed as an integer.
const WHOLE_MAX: f64 = (1u64 << 62) as f64;
const F64_TEXT_BYTES_MAX: usize = 32;

#[cfg(test)]
mod tests {
    use super::{format_f64, format_g17, parse_f64, parse_f64_bound};
    use proptest::prelude::{any, prop_assert_eq, proptest};

    #[test]
    fn digits_alone_have_exponents_for_whole_numbers_too() {
        for (value, text) in
            [(1.0, "1"), (1e5, "100000"), (1e9, "1e+9"), (-0.0, "-0"), (0.5, "0.5")]
        {
            assert_eq!(super::format_f64_digits(value), text);
        }
    }

    #[test]
    fn doubles_print_in_the_notation_of_replies() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (3.0, "3"),
            (3.1, "3.1"),
            (-2.5, "-2.5"),
            (1e5, "100000"),
            (4e18, "4000000000000000000"),
            (4_611_686_018_427_387_904.0, "4611686018427387904"),
            (5e18, "5e+18"),
            (1e20, "1e+20"),
            (1.5e19, "1.5e+19"),
            (9_223_372_036_854_775_807.0, "9223372036854776000"),
            (1.2345678901234567e20, "123456789012345670000"),
            (1.234_567_890_123_456_8e22, "12345678901234568000000"),
            (1.234_567_890_123_456_6e25, "1.2345678901234566e+25"),
            (1.2e22, "1.2e+22"),
            (0.0001, "0.0001"),
            (0.000_001, "0.000001"),
            (1e-7, "1e-7"),
            (1.5e-6, "1.5e-6"),
            (0.000_123_45, "1.2345e-4"),
            (1.23456e-8, "1.23456e-8"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (-1.2345678901234567e-200, "-1.2345678901234567e-200"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
        ] {
            assert_eq!(format_f64(value), text);
        }
    }

    #[test]
    fn some_numbers_have_a_digit_more_than_need_be() {
        for (value, text) in [
            (1e23, "99999999999999990000000"),
            (-36_028_797_018_962_968.0, "-36028797018962968"),
            (0.193_395_597_045_261_2, "0.19339559704526121"),
            (-6_016.951_217_939_863, "-6016.9512179398635"),
            (1.710_215_611_751_856_1e-177, "1.7102156117518562e-177"),
        ] {
            assert_eq!(super::format_f64_digits(value), text);
            assert_eq!(text.parse(), Ok(value));
        }
    }

    #[test]
    fn scores_are_read_in_all_their_spellings() {
        for (text, value) in [
            ("1.", 1.0),
            (".5", 0.5),
            ("+5", 5.0),
            ("-0", 0.0),
            ("1E5", 1e5),
            ("0e999", 0.0),
            ("1e-320", 1e-320),
            ("5e-324", 5e-324),
            ("inf", f64::INFINITY),
            ("+INF", f64::INFINITY),
            ("-Infinity", f64::NEG_INFINITY),
        ] {
            assert_eq!(parse_f64(text.as_bytes()), Some(value), "{text:?}");
        }
    }

    #[test]
    fn what_is_no_score_is_refused() {
        for text in [
            "", " 1", "1 ", ".", "e5", "1e", "1e+", "+-1", "0x10", "1_0", "nan", "-nan", "infinit",
            "1d", "1e400", "-1.8e308", "1e-400", "2e-324", "١",
        ] {
            assert_eq!(parse_f64(text.as_bytes()), None, "{text:?}");
        }
        assert_eq!(parse_f64(b"1\xff"), None);
        assert_eq!(parse_f64(b"1\0"), None);
    }

    #[test]
    fn bounds_go_beyond_the_range_of_doubles() {
        for (text, value) in [
            ("", 0.0),
            ("\0", 0.0),
            ("2\0x", 2.0),
            ("-1.5", -1.5),
            ("1e309", f64::INFINITY),
            ("-1e309", f64::NEG_INFINITY),
            ("1e-400", 0.0),
            ("inf", f64::INFINITY),
        ] {
            assert_eq!(parse_f64_bound(text.as_bytes()), Some(value), "{text:?}");
        }
        for text in [" 1", "1 ", "0x10", "nan", "1e", "-"] {
            assert_eq!(parse_f64_bound(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn seventeen_digits_print_as_in_c() {
        for (value, text) in [
            (0.0, "0"),
            (3.1, "3.1000000000000001"),
            (0.1, "0.10000000000000001"),
            (100.0, "100"),
            (1e16, "10000000000000000"),
            (1e17, "1e+17"),
            (1.5e300, "1.5000000000000001e+300"),
            (0.0001, "0.0001"),
            (0.00001, "1.0000000000000001e-05"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(format_g17(value), text);
        }
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back_as_the_same_double(value in any::<f64>()) {
            for text in [format_f64(value), format_g17(value)] {
                let expected = Some(value).filter(|value| !value.is_nan());
                prop_assert_eq!(parse_f64(text.as_bytes()), expected);
            }
        }

        #[test]
        fn whole_numbers_print_as_integers(value in -(1i64 << 53)..(1i64 << 53)) {
            prop_assert_eq!(format_f64(value as f64), value.to_string());
        }

        #[test]
        fn reading_agrees_with_std(text in "[-+]?[0-9]{0,4}(\\.[0-9]{0,4})?(e[-+]?[0-9]{1,2})?") {
            prop_assert_eq!(parse_f64(text.as_bytes()), text.parse::<f64>().ok());
        }
    }
}
