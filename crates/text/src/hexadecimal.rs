//! Hexadecimal floats with an exponent of two, as in C: `0x1.8p3`.

use crate::exponent::parse_exponent;

/// Number above or equal to zero: `mantissa` times two to the `exponent`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hexadecimal {
    mantissa: u64,
    exponent: i32,
}

impl Hexadecimal {
    /// Reads the text behind `0x`, rounded to an 80-bit float. `None` for text that is not such a
    /// number, and for numbers that overflow to infinity or underflow to zero.
    pub(crate) fn parse(text: &[u8]) -> Option<Hexadecimal> {
        let (whole, rest) = take_digits(text);
        let (fraction, rest) = match rest {
            [b'.', tail @ ..] => take_digits(tail),
            _ => (&[][..], rest),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let exponent = match rest {
            [] => 0,
            [b'p' | b'P', tail @ ..] => parse_exponent(tail)?,
            _ => return None,
        };
        let fraction_bits = 4 * i32::try_from(fraction.len()).ok()?;
        Wide::of(whole.iter().chain(fraction), exponent - fraction_bits).rounded()
    }

    /// Returns the number as decimal digits, and the power of ten that is the weight of the last
    /// one.
    pub(crate) fn decimal_digits(self) -> (Vec<u8>, i32) {
        // A smaller number matters only where it breaks a tie in rounding, which any small number
        // does as well.
        let exponent = self.exponent.max(EXPONENT_SEEN_MIN);
        let mut digits = Limbs::from(self.mantissa);
        if exponent < 0 {
            digits.multiply_by_power(5, exponent.unsigned_abs());
        } else {
            digits.multiply_by_power(2, exponent.unsigned_abs());
        }
        (digits.into_digits(), exponent.min(0))
    }
}

/// Number with more bits than are kept.
struct Wide {
    mantissa: u128,
    exponent: i32,
    /// True if bits below the mantissa are set.
    has_more: bool,
}

impl Wide {
    fn of<'t>(digits: impl Iterator<Item = &'t u8>, exponent: i32) -> Wide {
        let mut wide = Wide { mantissa: 0, exponent, has_more: false };
        for digit in digits.map(|digit| char::from(*digit).to_digit(16).unwrap_or(0)) {
            if wide.mantissa >> (u128::BITS - 4) == 0 {
                wide.mantissa = wide.mantissa << 4 | u128::from(digit);
            } else {
                wide.exponent += 4;
                wide.has_more |= digit != 0;
            }
        }
        wide
    }

    /// Returns the number rounded to the bits that an 80-bit float has at this size; ties go to
    /// even.
    fn rounded(self) -> Option<Hexadecimal> {
        if self.mantissa == 0 {
            return Some(Hexadecimal { mantissa: 0, exponent: 0 });
        }
        let bits = i32::try_from(u128::BITS - self.mantissa.leading_zeros()).ok()?;
        let dropped = (bits - MANTISSA_BITS).max(EXPONENT_MIN - self.exponent).max(0);
        if dropped > bits {
            return None;
        }
        let exponent = self.exponent + dropped;
        let dropped = dropped.unsigned_abs();
        let kept = self.mantissa.checked_shr(dropped).unwrap_or(0);
        let lost = self.mantissa - kept.checked_shl(dropped).unwrap_or(0);
        let half = dropped.checked_sub(1).map_or(0, |places| 1u128 << places);
        let is_up = lost > half || (lost == half && half > 0 && (self.has_more || kept % 2 == 1));
        let mantissa = kept + u128::from(is_up);
        let zeros = mantissa.trailing_zeros();
        let (mantissa, exponent) = (mantissa.checked_shr(zeros)?, exponent + zeros.cast_signed());
        let mantissa = u64::try_from(mantissa).ok()?;
        let bits = i32::try_from(u64::BITS - mantissa.leading_zeros()).ok()?;
        (exponent + bits <= EXPONENT_MAX).then_some(Hexadecimal { mantissa, exponent })
    }
}

/// Whole number of any size, nine decimal digits in each limb, the lowest first.
struct Limbs(Vec<u32>);

impl Limbs {
    fn from(mut value: u64) -> Limbs {
        let mut limbs = Vec::new();
        while value > 0 {
            limbs.push((value % LIMB) as u32);
            value /= LIMB;
        }
        Limbs(limbs)
    }

    /// Multiplies by `base`, two or five, to the `power`.
    fn multiply_by_power(&mut self, base: u32, mut power: u32) {
        while power > 0 {
            // Five to the thirteenth is the highest power of five in 32 bits.
            let step = power.min(13);
            self.multiply(base.pow(step));
            power -= step;
        }
    }

    fn multiply(&mut self, factor: u32) {
        let mut carry = 0;
        for limb in &mut self.0 {
            let product = u64::from(*limb) * u64::from(factor) + carry;
            *limb = (product % LIMB) as u32;
            carry = product / LIMB;
        }
        self.0.extend(Limbs::from(carry).0);
    }

    /// Returns the digits, the highest first, with leading zeros.
    fn into_digits(self) -> Vec<u8> {
        let limbs = self.0.iter().rev();
        limbs.flat_map(|limb| format!("{limb:09}").into_bytes()).map(|it| it - b'0').collect()
    }
}

fn take_digits(text: &[u8]) -> (&[u8], &[u8]) {
    text.split_at(text.iter().take_while(|byte| byte.is_ascii_hexdigit()).count())
}

const LIMB: u64 = 1_000_000_000;
const MANTISSA_BITS: i32 = 64;
/// Power of two that all numbers are below.
const EXPONENT_MAX: i32 = 16384;
/// Power of two that is the smallest number above zero.
const EXPONENT_MIN: i32 = -16445;
/// Exponent whose numbers are below any digit of a result.
const EXPONENT_SEEN_MIN: i32 = -400;

#[cfg(test)]
mod tests {
    use super::Hexadecimal;

    #[track_caller]
    fn reads(text: &str, mantissa: u64, exponent: i32) {
        let expected = Some(Hexadecimal { mantissa, exponent });
        assert_eq!(Hexadecimal::parse(text.as_bytes()), expected, "{text}");
    }

    #[track_caller]
    fn is_refused(text: &str) {
        assert_eq!(Hexadecimal::parse(text.as_bytes()), None, "{text}");
    }

    #[test]
    fn digits_point_and_exponent_are_read() {
        reads("10", 1, 4);
        reads("1.8p1", 3, 0);
        reads(".8P+1", 1, 0);
        reads("fF.", 255, 0);
        reads("0p99999999999", 0, 0);
    }

    #[test]
    fn what_is_no_number_is_refused() {
        for text in ["", ".", "p1", ".p1", "1p", "1p+", "1g", "1.1.1", "1p1.0", "-1", " 1"] {
            is_refused(text);
        }
    }

    #[test]
    fn more_than_64_bits_are_rounded_and_half_goes_to_the_even_number() {
        reads("10000000000000001", 1, 64);
        reads("10000000000000003", (1 << 62) + 1, 2);
        reads(&format!("10000000000000001{}1", "0".repeat(100)), (1 << 63) + 1, 405);
        reads("ffffffffffffffff8", 1, 68);
    }

    #[test]
    fn the_range_is_that_of_an_80_bit_float() {
        reads("1p16383", 1, 16383);
        reads("ffffffffffffffffp16320", u64::MAX, 16320);
        is_refused("1p16384");
        is_refused("ffffffffffffffff8p16316");
        reads("1p-16445", 1, -16445);
        reads("3p-16447", 1, -16445);
        is_refused("1p-16446");
        is_refused("1p-99999999999");
        is_refused("1p99999999999");
    }

    #[test]
    fn decimal_digits_are_exact() {
        let digits = |mantissa, exponent| Hexadecimal { mantissa, exponent }.decimal_digits();
        assert_eq!(digits(3, -1), (vec![0, 0, 0, 0, 0, 0, 0, 1, 5], -1));
        let (all, exponent) = digits(1, 100);
        let text: String = all.iter().map(u8::to_string).collect();
        assert_eq!(text.trim_start_matches('0'), (1u128 << 100).to_string());
        assert_eq!(exponent, 0);
    }
}
