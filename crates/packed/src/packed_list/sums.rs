//! Counts and sums over all elements of a packed list, many at a time.

use crate::element::{are_short, has_far, integer_size, is_small_integer, is_text, short_size};
use crate::packed_list::{PackedList, Place};

/// Number of codes whose sums are added up with few bits each.
const SUMMED: usize = 16;
/// Number of elements that are looked at together if they have the same code; a byte counts them.
const ALIKE: usize = 32;

impl PackedList<'_> {
    /// Returns true if there is no text of 64 to 239 bytes, no integer of more than 32 bits and no
    /// far element.
    pub fn is_all_short(&self) -> bool {
        are_short(self.codes())
    }

    /// Returns the number of integers of at most two bytes, and of texts too long for their code to
    /// hold the length.
    pub fn count_unusual(&self) -> (usize, usize) {
        let long = self.sum_over_codes(|code| u8::from(short_size(code).is_none()));
        (self.sum_over_codes(|code| u8::from(is_small_integer(code))), long)
    }

    /// Returns the sum of what `of_text` makes of the length of each text and `of_integer` of the
    /// bytes of each integer, which are none for a long text; `None` if there is a far element.
    pub fn sum_by_size(
        &self,
        of_text: impl Fn(u8) -> u8,
        of_integer: impl Fn(u8) -> u8,
    ) -> Option<usize> {
        let is_far = has_far(self.codes());
        (!is_far).then(|| {
            // Both are computed, so that many codes are at a time.
            self.sum_over_codes(|code| {
                let (text, integer) = (of_text(code), of_integer(integer_size(code)));
                if is_text(code) { text } else { integer }
            })
        })
    }

    /// Returns the sum of what `of` makes of the codes of all elements.
    #[inline]
    fn sum_over_codes(&self, of: impl Fn(u8) -> u8) -> usize {
        let codes = self.codes();
        if self.head.is_repeating() {
            let times = |at: usize| (self.head.count - at).div_ceil(codes.len());
            return (0..codes.len()).map(|at| usize::from(of(codes[at])) * times(at)).sum();
        }
        let (chunks, rest) = codes.as_chunks::<SUMMED>();
        let mut sum = 0;
        for chunk in chunks {
            sum += usize::from(chunk.iter().map(|code| u16::from(of(*code))).sum::<u16>());
        }
        sum + rest.iter().map(|code| usize::from(of(*code))).sum::<usize>()
    }

    /// Returns the number of integers of one byte that `one` means, and of those of two bytes that
    /// `two` means. Where many of one kind stand together they are looked at together.
    pub fn count_small_integers(
        &self,
        one: impl Fn(i8) -> bool,
        two: impl Fn(i16) -> bool,
    ) -> usize {
        let (mut place, mut found) = (self.front(), 0);
        while place.index < self.head.count {
            let (code, alike) = (self.code(place.index), self.alike(place.index));
            let Some(size) = short_size(code) else {
                place = self.after(place);
                continue;
            };
            let bytes = &self.bytes[place.offset..][..size * alike];
            let words = || bytes.as_chunks().0.iter().map(|word| i16::from_le_bytes(*word));
            found += usize::from(match size {
                1 if is_small_integer(code) => {
                    bytes.iter().map(|byte| u8::from(one(byte.cast_signed()))).sum::<u8>()
                }
                2 if is_small_integer(code) => words().map(|word| u8::from(two(word))).sum(),
                _ => 0,
            });
            place = Place { index: place.index + alike, offset: place.offset + bytes.len() };
        }
        found
    }

    /// Returns the number of elements from number `index` on that are known to have its code, up to
    /// `ALIKE`.
    fn alike(&self, index: usize) -> usize {
        if self.head.is_repeating() {
            return if self.head.mask == 0 { ALIKE.min(self.head.count - index) } else { 1 };
        }
        let next = self.codes()[index..].first_chunk::<ALIKE>();
        let is_alike =
            |next: &&[u8; ALIKE]| next.iter().fold(0, |all, it| all | (it ^ next[0])) == 0;
        next.filter(is_alike).map_or(1, |next| next.len())
    }
}
