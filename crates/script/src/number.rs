//! Doubles as whole numbers, cut as processors of the x86 family cut them.

use narrow::low_u32;

/// Returns a double without its fraction; the lowest number for what no `i64` holds.
#[inline]
pub fn to_i64(value: f64) -> i64 {
    // The upper bound itself, 2^63, is no `i64`.
    if (-TWO_TO_63..TWO_TO_63).contains(&value) { cut(value) } else { i64::MIN }
}

/// Returns a double of 0 or more without its fraction; 0 for what no `u64` holds.
#[inline]
pub fn to_u64(value: f64) -> u64 {
    if value < TWO_TO_63 || value.is_nan() {
        return to_i64(value).cast_unsigned();
    }
    to_i64(value - TWO_TO_63).cast_unsigned() ^ 1 << 63
}

/// Returns the lowest 32 bits of a double without its fraction.
#[inline]
pub fn to_i32(value: f64) -> i32 {
    low_u32(to_i64(value).cast_unsigned()).cast_signed()
}

#[expect(clippy::cast_possible_truncation, reason = "the caller knows that it fits")]
fn cut(value: f64) -> i64 {
    value as i64
}

const TWO_TO_63: f64 = 9_223_372_036_854_775_808.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fractions_are_cut_towards_zero() {
        assert_eq!([to_i64(3.99), to_i64(-3.99)], [3, -3]);
    }

    #[test]
    fn what_is_too_large_is_the_lowest_number() {
        for value in [1e20, -1e20, TWO_TO_63, f64::NAN, f64::INFINITY] {
            assert_eq!(to_i64(value), i64::MIN);
        }
        assert_eq!(to_i64(-TWO_TO_63), i64::MIN);
    }

    #[test]
    fn the_upper_half_of_sixty_four_bits_is_there_without_a_sign() {
        assert_eq!([to_u64(TWO_TO_63), to_u64(5.9), to_u64(1e300)], [1 << 63, 5, 0]);
    }

    #[test]
    fn thirty_two_bits_are_the_lowest() {
        assert_eq!([to_i32(4_294_967_301.0), to_i32(-1.0), to_i32(1e20)], [5, -1, 0]);
    }
}
