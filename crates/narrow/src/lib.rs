//! Conversions of numbers to fewer bits, named by their meaning.
//!
//! ```text
//! to_usize            a count in 64 bits as one in memory: always the same number
//! to_u8 .. to_u32     a number that is known to fit: debug builds look
//! low_u8 .. low_u64   the lowest bits of a word; the others hold something else
//! ```
//! They cost as much as `as`. A number that a client, a file or a setting chose, and that was not
//! bounded yet, goes through `try_from` instead, and is refused if it does not fit.
//!
//! Owner: nobody; these are functions of their arguments.
//! Not here: types with a unit (`base::units`), numbers as text (`text`).
//! Start at: here.
#![forbid(unsafe_code)]
#![warn(clippy::cast_possible_truncation)]

const _: () = assert!(usize::BITS == u64::BITS, "pointers have 64 bits");

/// Returns the same number, for use as a length or an index.
#[inline(always)]
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "asserted above: both have 64 bits")]
pub const fn to_usize(number: u64) -> usize {
    number as usize
}

macro_rules! to {
    ($($name:ident $number:ty)+) => {$(
        /// Returns the same number in fewer bits, into which it is known to fit.
        ///
        /// # Panics
        /// In debug builds when it does not fit; other builds drop the upper bits.
        #[inline(always)]
        #[must_use]
        #[expect(clippy::cast_possible_truncation, reason = "the caller knows that it fits")]
        pub const fn $name(number: usize) -> $number {
            debug_assert!(number <= <$number>::MAX as usize, "a number is too large");
            number as $number
        }
    )+};
}

to! { to_u8 u8  to_u16 u16  to_u32 u32 }

macro_rules! low {
    ($($name:ident $number:ty)+) => {$(
        /// Returns the lowest bits of a word whose other bits mean something else.
        #[inline(always)]
        #[must_use]
        #[expect(clippy::cast_possible_truncation, reason = "the other bits are not wanted")]
        pub const fn $name(word: u64) -> $number {
            word as $number
        }
    )+};
}

low! { low_u8 u8  low_u16 u16  low_u32 u32 }

/// Returns the lower half of a double word.
#[inline(always)]
#[must_use]
#[expect(clippy::cast_possible_truncation, reason = "the other half is not wanted")]
pub const fn low_u64(word: u128) -> u64 {
    word as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_stays_the_same_number() {
        assert_eq!((to_u8(255), to_u16(65_535)), (u8::MAX, u16::MAX));
        assert_eq!((to_u32(u32::MAX as usize), to_usize(u64::MAX)), (u32::MAX, usize::MAX));
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "too large")]
    fn what_does_not_fit_ends_a_debug_build() {
        let _ = to_u32(1 << 32);
    }

    #[test]
    fn the_lowest_bits_are_taken_whatever_stands_above_them() {
        let word = 0x1122_3344_5566_7788;
        assert_eq!((low_u8(word), low_u16(word), low_u32(word)), (0x88, 0x7788, 0x5566_7788));
        assert_eq!(low_u64(1 << 64 | 5), 5);
    }
}
