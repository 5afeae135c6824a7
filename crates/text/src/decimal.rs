//! Sums of decimal numbers without rounding errors, for increments by a float.
//!
//! Operands are held digit by digit, so `0.1 + 0.2` is `0.3` on every machine. Numbers have the
//! range of an 80-bit float, which bounds the digits of any operand to its text plus some 5000
//! places.

use crate::exponent::parse_exponent;
use crate::hexadecimal::Hexadecimal;
use std::cmp::Ordering;

/// Returns the sum of two decimal numbers, without exponent, rounded to 17 places, without trailing
/// zeros.
///
/// An operand may have a sign, a point and an exponent: `-1.5`, `5.0e3`, `.5`, also `0x1.8p3`. Work
/// and memory are linear in the texts plus the distance between the exponents, which the range
/// bounds.
///
/// # Errors
/// [`FloatError::NotAFloat`] if an operand is not a number, is out of range or has
/// [`FLOAT_TEXT_BYTES_MAX`] bytes or more; [`FloatError::NotFinite`] if an operand is infinite or
/// the sum is out of range.
pub fn add_floats(left: &[u8], right: &[u8]) -> Result<String, FloatError> {
    match (Operand::parse(left)?, Operand::parse(right)?) {
        (Operand::Finite(left), Operand::Finite(right)) => Sum::of(&left, &right).text(),
        _ => Err(FloatError::NotFinite),
    }
}

/// Returns the double nearest to a number that [`add_floats`] takes. A number too large for a
/// double is infinite, and one too small is the smallest double above zero.
pub fn parse_f64_wide(text: &[u8]) -> Option<f64> {
    // Whole numbers of fifteen digits are exact.
    if text.len() < 16
        && let Some(whole) = crate::parse_i64(text)
    {
        return Some(whole as f64);
    }
    match Operand::parse(text).ok()? {
        Operand::Finite(number) => number.nearest(),
        Operand::Infinite { is_negative: true } => Some(f64::NEG_INFINITY),
        Operand::Infinite { is_negative: false } => Some(f64::INFINITY),
    }
}

/// Reason why there is no sum.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FloatError {
    /// An operand is not a number.
    #[error("value is not a valid float")]
    NotAFloat,
    /// An operand or the sum is infinite.
    #[error("increment would produce NaN or Infinity")]
    NotFinite,
}

/// Least bytes of a text that is refused as a float for its length.
pub const FLOAT_TEXT_BYTES_MAX: usize = 5 * 1024;

enum Operand {
    Finite(Decimal),
    Infinite { is_negative: bool },
}

impl Operand {
    fn parse(text: &[u8]) -> Result<Self, FloatError> {
        if text.len() >= FLOAT_TEXT_BYTES_MAX {
            return Err(FloatError::NotAFloat);
        }
        let (negative, unsigned) = match text {
            [b'-', tail @ ..] => (true, tail),
            [b'+', tail @ ..] => (false, tail),
            _ => (false, text),
        };
        if unsigned.eq_ignore_ascii_case(b"inf") || unsigned.eq_ignore_ascii_case(b"infinity") {
            return Ok(Self::Infinite { is_negative: negative });
        }
        let number = match unsigned {
            [b'0', b'x' | b'X', digits @ ..] => Decimal::parse_hexadecimal(negative, digits),
            _ => Decimal::parse(negative, unsigned),
        };
        number.map(Self::Finite).ok_or(FloatError::NotAFloat)
    }
}

/// Decimal number: `0.d1d2d3...` times ten to the `point`; `d1` is not zero, and zero has no
/// digits.
struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    point: i32,
}

impl Decimal {
    fn parse(negative: bool, unsigned: &[u8]) -> Option<Self> {
        let (whole, rest) = take_digits(unsigned);
        let (fraction, rest) = match rest {
            [b'.', tail @ ..] => take_digits(tail),
            _ => (&[][..], rest),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let exponent = match rest {
            [] => 0,
            [b'e' | b'E', tail @ ..] => parse_exponent(tail)?,
            _ => return None,
        };
        let digits = whole.iter().chain(fraction).map(|byte| byte - b'0').collect();
        let decimal = Self::of(negative, digits, exponent - i32::try_from(fraction.len()).ok()?)?;
        decimal.in_range().then_some(decimal)
    }

    /// Reads the text behind `0x`.
    fn parse_hexadecimal(negative: bool, text: &[u8]) -> Option<Self> {
        let (digits, exponent) = Hexadecimal::parse(text)?.decimal_digits();
        Self::of(negative, digits, exponent)
    }

    /// Returns the number of any digits, of which the last has the weight ten to the `exponent`.
    fn of(negative: bool, mut digits: Vec<u8>, exponent: i32) -> Option<Self> {
        let leading_zeros = digits.iter().take_while(|digit| **digit == 0).count();
        digits.drain(..leading_zeros);
        let point = i32::try_from(digits.len()).ok()? + exponent;
        while digits.last() == Some(&0) {
            digits.pop();
        }
        Some(Self { negative, digits, point })
    }

    fn nearest(&self) -> Option<f64> {
        let sign = if self.negative { "-" } else { "" };
        let digits: String = self.digits.iter().map(digit_char).collect();
        let value: f64 = format!("{sign}0.{digits}e{}", self.point).parse().ok()?;
        let is_lost = value == 0.0 && !self.digits.is_empty();
        Some(if is_lost { f64::from_bits(1).copysign(value) } else { value })
    }

    fn in_range(&self) -> bool {
        self.digits.is_empty()
            || (compare(&self.digits, self.point, LARGEST, LARGEST_POINT).is_le()
                && compare(&self.digits, self.point, SMALLEST, SMALLEST_POINT).is_gt())
    }

    /// Returns the number of places after the point.
    fn fraction_len(&self) -> usize {
        usize::try_from(i64::try_from(self.digits.len()).unwrap_or(0) - i64::from(self.point))
            .unwrap_or(0)
    }

    /// Returns the number of places before the point.
    fn whole_len(&self) -> usize {
        if self.digits.is_empty() { 0 } else { usize::try_from(self.point).unwrap_or(0) }
    }

    /// Returns the digits laid out with `whole` places before the point and `fraction` after it.
    fn laid_out(&self, whole: usize, fraction: usize) -> Vec<u8> {
        let mut places = vec![0; whole + fraction];
        let start = i64::try_from(whole).unwrap_or(0) - i64::from(self.point);
        let start = usize::try_from(start).unwrap_or(0);
        if let Some(target) = places.get_mut(start..start + self.digits.len()) {
            target.copy_from_slice(&self.digits);
        }
        places
    }
}

/// Sum: all places of a result, `whole` of them before the point.
struct Sum {
    negative: bool,
    places: Vec<u8>,
    whole: usize,
}

impl Sum {
    fn of(left: &Decimal, right: &Decimal) -> Self {
        // One place more than either operand takes the carry, of the addition and of rounding.
        let whole = left.whole_len().max(right.whole_len()) + 1;
        let fraction = left.fraction_len().max(right.fraction_len());
        let (mut larger, mut smaller) =
            (left.laid_out(whole, fraction), right.laid_out(whole, fraction));
        let mut negative = left.negative;
        if left.negative == right.negative {
            add_places(&mut larger, &smaller);
        } else {
            if larger < smaller {
                std::mem::swap(&mut larger, &mut smaller);
                negative = right.negative;
            }
            subtract_places(&mut larger, &smaller);
        }
        Self { negative, places: larger, whole }
    }

    fn text(mut self) -> Result<String, FloatError> {
        let leading_zeros =
            self.places[..self.whole].iter().take_while(|place| **place == 0).count();
        let point = i32::try_from(self.whole - leading_zeros).unwrap_or(i32::MAX);
        if point > 0
            && compare(&self.places[leading_zeros..], point, LARGEST, LARGEST_POINT).is_gt()
        {
            return Err(FloatError::NotFinite);
        }
        self.round();
        let leading_zeros =
            self.places[..self.whole].iter().take_while(|place| **place == 0).count();
        let (whole, fraction) = self.places.split_at(self.whole);
        let fraction_len =
            fraction.iter().rposition(|place| *place != 0).map_or(0, |last| last + 1);
        let mut text = String::with_capacity(whole.len() + fraction_len + 2);
        let whole = &whole[leading_zeros..];
        if self.negative && (!whole.is_empty() || fraction_len > 0) {
            text.push('-');
        }
        if whole.is_empty() {
            text.push('0');
        }
        text.extend(whole.iter().map(digit_char));
        if fraction_len > 0 {
            text.push('.');
            text.extend(fraction[..fraction_len].iter().map(digit_char));
        }
        Ok(text)
    }

    /// Rounds to 17 places after the point; half goes to the even digit.
    fn round(&mut self) {
        let kept = self.whole + FRACTION_LEN_MAX;
        let Some((first, rest)) = self.places.get(kept..).and_then(<[u8]>::split_first) else {
            return;
        };
        let odd = self.places[kept - 1] % 2 == 1;
        let up = *first > 5 || (*first == 5 && (odd || rest.iter().any(|place| *place != 0)));
        self.places.truncate(kept);
        if up {
            add_places(&mut self.places, &[1]);
        }
    }
}

/// Adds `right` to `left`, both ending at the same place; the first place of `left` takes the last
/// carry.
fn add_places(left: &mut [u8], right: &[u8]) {
    let mut carry = 0;
    let right = right.iter().rev().copied().chain(std::iter::repeat(0));
    for (place, other) in left.iter_mut().rev().zip(right) {
        let sum = *place + other + carry;
        carry = u8::from(sum > 9);
        *place = sum - 10 * carry;
    }
}

/// Subtracts `smaller` from `larger`, which has as many places.
fn subtract_places(larger: &mut [u8], smaller: &[u8]) {
    let mut borrow = 0;
    for (place, other) in larger.iter_mut().rev().zip(smaller.iter().rev()) {
        let taken = other + borrow;
        borrow = u8::from(*place < taken);
        *place = *place + 10 * borrow - taken;
    }
}

/// Orders two positive numbers in the form of [`Decimal`].
fn compare(left: &[u8], left_point: i32, right: &[u8], right_point: i32) -> Ordering {
    left_point.cmp(&right_point).then_with(|| left.cmp(right))
}

fn take_digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().take_while(|byte| byte.is_ascii_digit()).count())
}

fn digit_char(place: &u8) -> char {
    char::from(b'0' + place)
}

const FRACTION_LEN_MAX: usize = 17;
/// Digits of the largest 80-bit float, 1.18973149535723176502e4932: those that matter.
const LARGEST: &[u8] = &[1, 1, 8, 9, 7, 3, 1, 4, 9, 5, 3, 5, 7, 2, 3, 1, 7, 6, 5, 0, 2];
const LARGEST_POINT: i32 = 4933;
/// Half of the smallest 80-bit float above zero, 1.8225997659412373e-4951: this and less reads as
/// zero.
const SMALLEST: &[u8] = &[1, 8, 2, 2, 5, 9, 9, 7, 6, 5, 9, 4, 1, 2, 3, 7, 3];
const SMALLEST_POINT: i32 = -4950;

#[cfg(test)]
mod tests {
    use super::{FloatError, add_floats, parse_f64_wide};
    use proptest::prelude::{any, prop_assert, prop_assert_eq, proptest};

    #[track_caller]
    fn sum(left: &str, right: &str, expected: &str) {
        assert_eq!(add_floats(left.as_bytes(), right.as_bytes()).as_deref(), Ok(expected));
    }

    #[track_caller]
    fn refused(left: &str, right: &str, error: FloatError) {
        assert_eq!(add_floats(left.as_bytes(), right.as_bytes()), Err(error));
        assert_eq!(add_floats(right.as_bytes(), left.as_bytes()), Err(error));
    }

    #[test]
    fn decimal_sums_are_exact() {
        sum("0.1", "0.2", "0.3");
        sum("10.5", "0.1", "10.6");
        sum("5.0e3", "200", "5200");
        sum("3", "-1.5", "1.5");
        sum("-3", "1.5", "-1.5");
        sum("1.5", "-3", "-1.5");
        sum("-1.5", "1.5", "0");
        sum("99.9", "0.1", "100");
        sum("1e17", "0.1", "100000000000000000.1");
        sum("1.", "+.5", "1.5");
        sum("-0.0", "-0", "0");
        sum("0e99999", "0e-99999999999999999999", "0");
        sum("17179869184", "-1.5E0", "17179869182.5");
    }

    #[test]
    fn sums_are_rounded_to_seventeen_places() {
        sum("0", "1e-5", "0.00001");
        sum("0", "1e-17", "0.00000000000000001");
        sum("0", "1e-18", "0");
        sum("0", "-1e-18", "0");
        sum("0", "0.999999999999999999", "1");
        sum("0", "0.000000000000000006", "0.00000000000000001");
        sum("0", "-0.000000000000000015", "-0.00000000000000002");
        sum("1", "1e-4930", "1");
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in [
            "",
            " 1",
            "1 ",
            ".",
            "e5",
            "1e",
            "1e+",
            "--1",
            "nan",
            "0x",
            "0x1p99999",
            "1,5",
            "1.19e4932",
            "1e-4951",
        ] {
            refused("3", text, FloatError::NotAFloat);
            refused("inf", text, FloatError::NotAFloat);
        }
        refused("3", &"1".repeat(5120), FloatError::NotAFloat);
        refused("3", &"1".repeat(5119), FloatError::NotAFloat);
    }

    #[test]
    fn infinite_operands_and_sums_are_refused() {
        for text in ["inf", "-INF", "+Infinity"] {
            refused("3", text, FloatError::NotFinite);
        }
        refused("1e4932", "1e4932", FloatError::NotFinite);
    }

    #[test]
    fn hexadecimal_operands_count_by_their_exact_value() {
        sum("1", "0x10", "17");
        sum("1", "-0X1.8p3", "-11");
        sum("0x1p-58", "0x1p-58", "0.00000000000000001");
        sum("0.1", "0x1.999999999999ap-4", "0.20000000000000001");
        sum("0x1p-16445", "1", "1");
        refused("0x1p16383", "0x1p16383", FloatError::NotFinite);
    }

    #[test]
    fn the_nearest_double_is_infinite_beyond_the_range_and_never_zero_for_want_of_it() {
        for (text, value) in [
            ("1.5", 1.5),
            ("-0x18", -24.0),
            ("1e309", f64::INFINITY),
            ("-1e4932", f64::NEG_INFINITY),
            ("-inf", f64::NEG_INFINITY),
            ("1e-400", f64::from_bits(1)),
            ("-1e-4950", -f64::from_bits(1)),
            ("0e5", 0.0),
        ] {
            assert_eq!(parse_f64_wide(text.as_bytes()), Some(value), "{text}");
        }
        for text in ["1e5000", "1e-5000", "nan", "", " 1", "1 "] {
            assert_eq!(parse_f64_wide(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn the_whole_range_is_covered() {
        sum("1e4932", "0.5", &format!("1{}.5", "0".repeat(4932)));
        sum("-1e4932", "1e-4950", &format!("-1{}", "0".repeat(4932)));
        sum("3", "1.9e-4951", "3");
    }

    proptest! {
        #[test]
        fn scaled_integers_add_as_integers(
            left in -1_000_000_000_000i64..1_000_000_000_000,
            right in -1_000_000_000_000i64..1_000_000_000_000,
            scale in 0i32..18,
        ) {
            let operand = |number: i64| format!("{number}e-{scale}");
            let text = add_floats(operand(left).as_bytes(), operand(right).as_bytes()).unwrap();
            let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
            prop_assert!(!fraction.ends_with('0'));
            let places = usize::try_from(scale).unwrap();
            prop_assert!(fraction.len() <= places);
            let scaled: i128 = format!("{whole}{fraction:0<places$}").parse().unwrap();
            prop_assert_eq!(scaled, i128::from(left) + i128::from(right));
        }

        #[test]
        fn a_sum_can_be_added_to_again(left in any::<f64>(), right in any::<f64>()) {
            let operand = |number: f64| format!("{number:e}");
            if let Ok(text) = add_floats(operand(left).as_bytes(), operand(right).as_bytes()) {
                prop_assert!(text.len() < 5000);
                prop_assert_eq!(add_floats(text.as_bytes(), b"0"), Ok(text));
            }
        }

        #[test]
        fn any_text_is_read_or_refused(left in "[-+.0-9eE]{0,12}", right in any::<Vec<u8>>()) {
            let _ = add_floats(left.as_bytes(), &right);
        }
    }
}
