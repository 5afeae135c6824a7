//! Element of a packed list: bytes, or an integer that clients see as decimal text.
//!
//! ```text
//! code     0..=239   so many bytes
//! code     240       | length 4 | bytes | length 4 |     found from either end
//! code     241..=248 an integer in 1..=8 bytes, little-endian
//! code     249       | node 4 | length 5 |               bytes that are kept somewhere else
//! ```
//! Every text has exactly one form, so elements are equal if their forms are equal.

use std::cmp::Ordering;
use text::{IntegerText, parse_i64};

/// Longest text that takes only one byte besides its own bytes.
pub const SHORT_BYTES_MAX: usize = 239;

const CODE_LONG: u8 = narrow::to_u8(SHORT_BYTES_MAX) + 1;
const CODE_INTEGER: u8 = CODE_LONG;
/// A far element, like an integer, takes as many bytes as its code is above `CODE_INTEGER`.
const CODE_FAR: u8 = CODE_INTEGER + narrow::to_u8(FAR_BYTES);
const FAR_BYTES: usize = 9;
const LENGTH_BYTES: usize = 4;

/// Element of a packed list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element<'a> {
    /// Text that is not the decimal text of an integer.
    Bytes(&'a [u8]),
    /// Integer, whose text is its decimal text.
    Integer(i64),
    /// Text that the owner of the packed list keeps elsewhere, and has to look up.
    Far(Far),
}

/// Reference to a text kept elsewhere, with a meaning only to the owner of the packed list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Far {
    /// Number of the node that holds the text.
    pub node: u32,
    /// Bytes of the text, up to 1 TiB.
    pub len: u64,
}

impl Far {
    fn to_bytes(self) -> [u8; FAR_BYTES] {
        let word = u128::from(self.node) | u128::from(self.len) << 32;
        let mut bytes = [0; FAR_BYTES];
        bytes.copy_from_slice(&word.to_le_bytes()[..FAR_BYTES]);
        bytes
    }

    fn read(from: &[u8]) -> Far {
        let mut word = [0; size_of::<u128>()];
        word[..FAR_BYTES].copy_from_slice(&from[..FAR_BYTES]);
        let word = u128::from_le_bytes(word);
        Far { node: narrow::low_u32(narrow::low_u64(word)), len: narrow::low_u64(word >> 32) }
    }
}

impl<'a> Element<'a> {
    /// Returns the element for a text, as an integer if it is the decimal text of one.
    #[inline]
    pub fn of(text: &'a [u8]) -> Element<'a> {
        // The text of an integer has at most 20 bytes and begins with a digit or minus.
        let may_be_integer = text.len() <= 20 && matches!(text, [b'0'..=b'9' | b'-', ..]);
        match may_be_integer.then(|| parse_i64(text)).flatten() {
            Some(value) => Element::Integer(value),
            None => Element::Bytes(text),
        }
    }

    /// Calls `use_text` with the text that clients see; with an empty text for a far element.
    #[inline]
    pub fn with_text<T>(self, use_text: impl FnOnce(&[u8]) -> T) -> T {
        match self {
            Element::Bytes(bytes) => use_text(bytes),
            Element::Integer(value) => use_text(IntegerText::new().format(value)),
            Element::Far(_) => use_text(&[]),
        }
    }

    /// Returns the text that clients see as a vector.
    pub fn to_text(self) -> Vec<u8> {
        self.with_text(<[u8]>::to_vec)
    }

    /// Returns the length of the text that clients see.
    #[inline]
    pub fn text_len(self) -> usize {
        match self {
            Element::Far(far) => narrow::to_usize(far.len),
            other => other.with_text(<[u8]>::len),
        }
    }

    /// Compares the texts byte by byte.
    pub fn cmp_text(self, other: Element<'_>) -> Ordering {
        self.with_text(|left| other.with_text(|right| left.cmp(right)))
    }

    /// Returns the bytes that the element takes in a packed list, including its code.
    #[inline]
    pub fn cost(self) -> usize {
        self.size() + 1
    }

    #[inline]
    pub(crate) fn code(self) -> u8 {
        match self {
            Element::Bytes(bytes) if bytes.len() <= SHORT_BYTES_MAX => narrow::to_u8(bytes.len()),
            Element::Bytes(_) => CODE_LONG,
            Element::Integer(value) => CODE_INTEGER + narrow::to_u8(integer_bytes(value)),
            Element::Far(_) => CODE_FAR,
        }
    }

    /// Returns the bytes that the element takes, without its code.
    #[inline]
    pub(crate) fn size(self) -> usize {
        match self {
            Element::Bytes(bytes) if bytes.len() <= SHORT_BYTES_MAX => bytes.len(),
            Element::Bytes(bytes) => bytes.len() + 2 * LENGTH_BYTES,
            Element::Integer(value) => integer_bytes(value),
            Element::Far(_) => FAR_BYTES,
        }
    }

    /// Returns the bytes that `write` writes, except for the length behind a long text.
    #[inline]
    pub(crate) fn form<'b>(self, buffer: &'b mut FormBuffer) -> &'b [u8]
    where
        'a: 'b,
    {
        match self {
            Element::Bytes(bytes) if bytes.len() <= SHORT_BYTES_MAX => bytes,
            Element::Bytes(bytes) => {
                buffer.long.clear();
                buffer.long.extend_from_slice(&narrow::to_u32(bytes.len()).to_le_bytes());
                buffer.long.extend_from_slice(bytes);
                &buffer.long
            }
            Element::Integer(value) => {
                buffer.short[..8].copy_from_slice(&value.to_le_bytes());
                &buffer.short[..integer_bytes(value)]
            }
            Element::Far(far) => {
                buffer.short = far.to_bytes();
                &buffer.short
            }
        }
    }

    /// Writes the element into `to`, which is `size` bytes long.
    #[inline]
    pub(crate) fn write(self, to: &mut [u8]) {
        match self {
            Element::Bytes(bytes) if bytes.len() <= SHORT_BYTES_MAX => to.copy_from_slice(bytes),
            Element::Bytes(bytes) => {
                let length = narrow::to_u32(bytes.len()).to_le_bytes();
                let (head, rest) = to.split_at_mut(LENGTH_BYTES);
                let (middle, tail) = rest.split_at_mut(bytes.len());
                head.copy_from_slice(&length);
                middle.copy_from_slice(bytes);
                tail.copy_from_slice(&length);
            }
            Element::Integer(value) => {
                let size = to.len();
                to.copy_from_slice(&value.to_le_bytes()[..size]);
            }
            Element::Far(far) => to.copy_from_slice(&far.to_bytes()),
        }
    }

    /// Writes code and element into `to`, which is `cost` bytes long: for several elements within
    /// the bytes of one.
    #[inline]
    pub fn write_inline(self, to: &mut [u8]) {
        to[0] = self.code();
        self.write(&mut to[1..]);
    }

    /// Reads an element that `write_inline` wrote at the beginning of `from`. Returns it and the
    /// bytes behind it; `None` if these bytes cannot have been written so.
    #[inline]
    pub fn read_inline(from: &'a [u8]) -> Option<(Element<'a>, &'a [u8])> {
        let (code, rest) = from.split_first()?;
        let (bytes, rest) = rest.split_at_checked(size_at_start(*code, rest)?)?;
        Some((Element::read(*code, bytes), rest))
    }

    /// Reads an element that `write` wrote, given its code.
    #[inline]
    pub(crate) fn read(code: u8, from: &'a [u8]) -> Element<'a> {
        match code {
            0..CODE_LONG => Element::Bytes(from),
            CODE_LONG => Element::Bytes(&from[LENGTH_BYTES..from.len() - LENGTH_BYTES]),
            CODE_FAR => Element::Far(Far::read(from)),
            _ => Element::Integer(read_integer(from)),
        }
    }
}

/// Returns true if any of these codes is that of a far element.
#[inline]
pub(crate) fn has_far(codes: &[u8]) -> bool {
    codes.contains(&CODE_FAR)
}

/// Buffer for forms that differ from the text.
#[derive(Default)]
pub(crate) struct FormBuffer {
    short: [u8; FAR_BYTES],
    long: Vec<u8>,
}

/// Returns the total bytes of elements with these codes; `None` if one is long, as its code does
/// not hold its length.
#[inline]
pub(crate) fn sum_of_sizes(codes: &[u8]) -> Option<usize> {
    let (chunks, rest) = codes.as_chunks::<SUMMED_CODES>();
    let (mut sum, mut has_long) = (0, false);
    for chunk in chunks {
        sum += usize::from(chunk.iter().map(|code| size_if_short(*code)).sum::<u16>());
        has_long |= chunk.iter().fold(false, |found, code| found | (*code == CODE_LONG));
    }
    for code in rest {
        sum += usize::from(size_if_short(*code));
        has_long |= *code == CODE_LONG;
    }
    (!has_long).then_some(sum)
}

/// Returns true if no code is that of a text of 64 to 239 bytes, an integer of more than 32 bits or
/// a far element.
pub(crate) fn are_short(codes: &[u8]) -> bool {
    let is_short = |code: u8| code < 64 || code.wrapping_sub(CODE_INTEGER) <= 4;
    codes.chunks(64).all(|chunk| chunk.iter().fold(true, |all, code| all & is_short(*code)))
}

/// Returns true if a code is that of a text that is not long.
#[inline]
pub(crate) fn is_text(code: u8) -> bool {
    code < CODE_LONG
}

/// Returns the bytes of an integer with this code.
#[inline]
pub(crate) fn integer_size(code: u8) -> u8 {
    code.wrapping_sub(CODE_INTEGER)
}

/// Returns true if a code is that of an integer of at most two bytes.
#[inline]
pub(crate) fn is_small_integer(code: u8) -> bool {
    matches!(code.wrapping_sub(CODE_INTEGER), 1 | 2)
}

/// Number of codes that are summed at a time, by a handful of instructions.
const SUMMED_CODES: usize = 16;

/// Returns the bytes of an element with a code that is not `CODE_LONG`.
#[inline]
fn size_if_short(code: u8) -> u16 {
    // Of a text the code is the smaller one, as the subtraction wraps; of an integer the difference
    // is.
    u16::from(code.min(code.wrapping_sub(CODE_INTEGER)))
}

/// Returns the bytes of an element with a code; `None` for a long one, as its code does not hold
/// its length.
#[inline]
pub(crate) fn short_size(code: u8) -> Option<usize> {
    (code != CODE_LONG).then(|| usize::from(size_if_short(code)))
}

/// Returns the bytes of the element with `code` at the start of `from`; `None` if code or bytes are
/// not valid.
#[inline]
pub(crate) fn size_at_start(code: u8, from: &[u8]) -> Option<usize> {
    size_with_length(code, from.first_chunk())
}

/// Returns the bytes of the element with `code` at the end of `from`; `None` if code or bytes are
/// not valid.
#[inline]
pub(crate) fn size_at_end(code: u8, from: &[u8]) -> Option<usize> {
    size_with_length(code, from.last_chunk())
}

/// Returns the bytes of an element with `code`; `length` is the length field of a long text.
#[inline]
fn size_with_length(code: u8, length: Option<&[u8; LENGTH_BYTES]>) -> Option<usize> {
    match code {
        0..CODE_LONG => Some(usize::from(code)),
        CODE_LONG => Some(u32::from_le_bytes(*length?) as usize + 2 * LENGTH_BYTES),
        _ => {
            let bytes = usize::from(code - CODE_INTEGER);
            (bytes <= FAR_BYTES).then_some(bytes)
        }
    }
}

/// Returns the number of bytes that hold the value and sign of an integer.
#[inline]
fn integer_bytes(value: i64) -> usize {
    let magnitude_bits = 64 - (value ^ (value >> 63)).leading_zeros();
    (magnitude_bits as usize / 8) + 1
}

#[inline]
fn read_integer(from: &[u8]) -> i64 {
    let is_negative = from.last().is_some_and(|byte| byte & 0x80 != 0);
    let mut bytes = [if is_negative { 0xff } else { 0 }; size_of::<i64>()];
    bytes[..from.len()].copy_from_slice(from);
    i64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trip(text: &[u8]) -> u8 {
        let element = Element::of(text);
        let mut written = vec![0; element.size()];
        element.write(&mut written);
        assert_eq!(size_at_start(element.code(), &written), Some(written.len()));
        assert_eq!(size_at_end(element.code(), &written), Some(written.len()));
        let read = Element::read(element.code(), &written);
        assert_eq!(read, element);
        assert_eq!(read.to_text(), text);
        assert_eq!(read.text_len(), text.len());
        element.code()
    }

    #[test]
    fn integers_take_as_many_bytes_as_their_value_needs() {
        let rows: [(i64, u8); 12] = [
            (0, 1),
            (-1, 1),
            (127, 1),
            (128, 2),
            (-128, 1),
            (-129, 2),
            (32_767, 2),
            (32_768, 3),
            (i64::from(i32::MAX), 4),
            (i64::from(i32::MIN), 4),
            (i64::MAX, 8),
            (i64::MIN, 8),
        ];
        for (value, bytes) in rows {
            assert_eq!(round_trip(value.to_string().as_bytes()), CODE_INTEGER + bytes, "{value}");
        }
    }

    #[test]
    fn what_does_not_print_as_it_was_stays_bytes() {
        for text in [&b"007"[..], b"-0", b"+1", b" 1", b"", b"9223372036854775808", b"1.5", b"-"] {
            assert_eq!(usize::from(round_trip(text)), text.len());
        }
    }

    #[test]
    fn long_elements_carry_their_length_at_both_ends() {
        assert_eq!(usize::from(round_trip(&[b'x'; SHORT_BYTES_MAX])), SHORT_BYTES_MAX);
        assert_eq!(round_trip(&[b'x'; SHORT_BYTES_MAX + 1]), CODE_LONG);
        assert_eq!(Element::Bytes(&[b'x'; 1000]).cost(), 1009);
    }

    #[test]
    fn texts_are_ordered_byte_by_byte() {
        assert_eq!(Element::of(b"10").cmp_text(Element::of(b"9")), Ordering::Less);
        assert_eq!(Element::of(b"10").cmp_text(Element::of(b"1")), Ordering::Greater);
        assert_eq!(Element::of(b"abc").cmp_text(Element::of(b"5")), Ordering::Greater);
    }

    #[test]
    fn elements_within_the_bytes_of_others_are_read_one_by_one() {
        let elements = [Element::Bytes(b""), Element::of(b"-5"), Element::Bytes(&[b'x'; 300])];
        let mut bytes = Vec::new();
        for element in elements {
            let begin = bytes.len();
            bytes.resize(begin + element.cost(), 0);
            element.write_inline(&mut bytes[begin..]);
        }
        let mut rest = &bytes[..];
        for element in elements {
            let (read, behind) = Element::read_inline(rest).expect("an element");
            assert_eq!(read, element);
            rest = behind;
        }
        assert_eq!(Element::read_inline(rest), None);
        assert_eq!(Element::read_inline(&bytes[3..bytes.len() - 1]), None);
    }

    #[test]
    fn damaged_codes_and_lengths_are_refused() {
        assert_eq!(size_at_start(250, &[0; 16]), None);
        assert_eq!(size_at_end(255, &[0; 16]), None);
        assert_eq!(size_at_start(CODE_LONG, &[1, 2, 3]), None);
    }
}
