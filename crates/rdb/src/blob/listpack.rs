//! Listpacks: small collections since Redis 7, and nodes of lists and streams.
//!
//! ```text
//! | bytes 4 | elements 2 | element | length of the element backwards | ... | 255 |
//! 0iiiiiii                        7-bit number
//! 10llllll                        text
//! 110iiiii iiiiiiii               13-bit integer
//! 1110llll llllllll               text
//! 11110000 l 4                    text
//! 11110001 .. 11110100            integer of 2, 3, 4, 8 bytes
//! ```

use super::bytes::{Damage, array, integer, take};
use packed::Element;

const HEAD_BYTES: usize = 6;
const END: u8 = 0xff;
/// Number of elements that says that they were not counted.
const UNCOUNTED: u16 = u16::MAX;

const TEXT_6: u8 = 0x80;
const INTEGER_13: u8 = 0xc0;
const TEXT_12: u8 = 0xe0;
const TEXT_32: u8 = 0xf0;
const INTEGER_16: u8 = 0xf1;
const INTEGER_24: u8 = 0xf2;
const INTEGER_32: u8 = 0xf3;
const INTEGER_64: u8 = 0xf4;

/// Elements of a listpack, checked one by one.
#[derive(Debug)]
pub(crate) struct Elements<'b> {
    rest: &'b [u8],
    /// Elements that are left, if they were counted.
    left: Option<u16>,
}

impl<'b> Elements<'b> {
    pub fn new(bytes: &'b [u8]) -> Result<Elements<'b>, Damage> {
        let mut rest = bytes;
        let (total, count) = (array(&mut rest), array(&mut rest));
        let (Some(total), Some(count)) = (total, count) else { return Err("a short listpack") };
        let body = rest.split_last().filter(|(end, _)| **end == END).map(|(_, body)| body);
        if u32::from_le_bytes(total) as usize != bytes.len() {
            return Err("the length of a listpack");
        }
        let left = Some(u16::from_le_bytes(count)).filter(|count| *count != UNCOUNTED);
        Ok(Elements { rest: body.ok_or("a listpack without end")?, left })
    }

    fn element(&mut self) -> Option<Element<'b>> {
        let before = self.rest;
        let element = read(&mut self.rest)?;
        let length = before.len() - self.rest.len();
        let (backwards, bytes) = backwards(length);
        let found = take(&mut self.rest, bytes)?;
        (found == &backwards[..bytes]).then_some(element)
    }
}

impl<'b> Iterator for Elements<'b> {
    type Item = Result<Element<'b>, Damage>;

    #[inline]
    fn next(&mut self) -> Option<Result<Element<'b>, Damage>> {
        if self.rest.is_empty() {
            let is_short = self.left.take().is_some_and(|left| left > 0);
            return is_short.then_some(Err("the count of a listpack"));
        }
        let is_counted = self.left.as_mut().is_none_or(|left| {
            let is_left = *left > 0;
            *left = left.saturating_sub(1);
            is_left
        });
        let element = self.element();
        if element.is_none() || !is_counted {
            (self.rest, self.left) = (&[], None);
            return Some(Err("an element of a listpack"));
        }
        element.map(Ok)
    }
}

/// Reads an element, without its length backwards.
#[inline]
fn read<'b>(rest: &mut &'b [u8]) -> Option<Element<'b>> {
    let [first] = array(rest)?;
    let text = |rest: &mut &'b [u8], length: usize| take(rest, length).map(Element::of);
    let element = match first {
        0..TEXT_6 => Element::Integer(first.into()),
        TEXT_6..INTEGER_13 => text(rest, (first & 0x3f).into())?,
        INTEGER_13..TEXT_12 => {
            let [low] = array(rest)?;
            let word = i64::from(first & 0x1f) << 8 | i64::from(low);
            Element::Integer(word << 51 >> 51)
        }
        TEXT_12..TEXT_32 => {
            let [low] = array(rest)?;
            text(rest, usize::from(first & 0xf) << 8 | usize::from(low))?
        }
        TEXT_32 => {
            let length = u32::from_le_bytes(array(rest)?);
            text(rest, length as usize)?
        }
        INTEGER_16 => Element::Integer(integer::<2>(array(rest)?)),
        INTEGER_24 => Element::Integer(integer::<3>(array(rest)?)),
        INTEGER_32 => Element::Integer(integer::<4>(array(rest)?)),
        INTEGER_64 => Element::Integer(integer::<8>(array(rest)?)),
        _ => return None,
    };
    Some(element)
}

/// First byte of an integer, and the number of bytes behind it, the least significant first.
#[inline]
fn integer_form(value: i64) -> (u8, usize) {
    let bits = value.cast_unsigned();
    match value {
        0..=127 => (narrow::low_u8(bits), 0),
        -4096..=4095 => (INTEGER_13 | narrow::low_u8(bits >> 8) & 0x1f, 1),
        -0x8000..=0x7fff => (INTEGER_16, 2),
        -0x80_0000..=0x7f_ffff => (INTEGER_24, 3),
        -0x8000_0000..=0x7fff_ffff => (INTEGER_32, 4),
        _ => (INTEGER_64, 8),
    }
}

/// The length of an element as it stands behind it, seven bits in a byte, and its bytes.
#[inline]
fn backwards(length: usize) -> ([u8; 5], usize) {
    let bytes = match length {
        0..=127 => 1,
        128..16_383 => 2,
        16_383..2_097_151 => 3,
        2_097_151..268_435_455 => 4,
        _ => 5,
    };
    let mut to = [0; 5];
    for (at, byte) in to.iter_mut().take(bytes).enumerate() {
        let group = narrow::low_u8((length >> (7 * (bytes - 1 - at))) as u64) & 0x7f;
        *byte = if at == 0 { group } else { group | 0x80 };
    }
    (to, bytes)
}

/// A listpack that is written element by element.
#[derive(Clone, Debug)]
pub struct Listpack {
    bytes: Vec<u8>,
    count: usize,
}

impl Default for Listpack {
    fn default() -> Listpack {
        Listpack { bytes: vec![0; HEAD_BYTES], count: 0 }
    }
}

impl Listpack {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Returns true if there are no elements.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Bytes of the listpack, its end included.
    pub fn byte_len(&self) -> usize {
        self.bytes.len() + 1
    }

    /// Bytes of a listpack without elements.
    pub const EMPTY_BYTES: usize = HEAD_BYTES + 1;

    /// Bytes that an element takes.
    pub fn bytes_of(element: Element<'_>) -> usize {
        let bytes = match element {
            Element::Integer(value) => 1 + integer_form(value).1,
            other => match other.text_len() {
                length @ 0..0x40 => 1 + length,
                length @ 0x40..0x1000 => 2 + length,
                length => 5 + length,
            },
        };
        bytes + backwards(bytes).1
    }

    /// Adds an element behind the others.
    #[inline]
    pub fn push(&mut self, element: Element<'_>) {
        let begin = self.bytes.len();
        match element {
            Element::Integer(value) => self.push_integer(value),
            other => other.with_text(|text| self.push_text(text)),
        }
        let (to, bytes) = backwards(self.bytes.len() - begin);
        self.bytes.extend_from_slice(&to[..bytes]);
        self.count += 1;
    }

    /// Adds the elements of another listpack behind the others.
    pub fn append(&mut self, other: &Listpack) {
        self.bytes.extend_from_slice(&other.bytes[HEAD_BYTES..]);
        self.count += other.count;
    }

    fn push_text(&mut self, text: &[u8]) {
        let length = text.len();
        match length {
            0..0x40 => self.bytes.push(TEXT_6 | narrow::to_u8(length)),
            0x40..0x1000 => {
                let low = narrow::low_u8(length as u64);
                self.bytes.extend_from_slice(&[TEXT_12 | narrow::to_u8(length >> 8), low]);
            }
            _ => {
                self.bytes.push(TEXT_32);
                self.bytes.extend_from_slice(&narrow::to_u32(length).to_le_bytes());
            }
        }
        self.bytes.extend_from_slice(text);
    }

    fn push_integer(&mut self, value: i64) {
        let (code, len) = integer_form(value);
        self.bytes.push(code);
        self.bytes.extend_from_slice(&value.to_le_bytes()[..len]);
    }

    /// Ends the listpack and returns its bytes.
    pub fn into_bytes(mut self) -> Vec<u8> {
        self.bytes.push(END);
        let total = narrow::to_u32(self.bytes.len());
        let count = u16::try_from(self.count).unwrap_or(UNCOUNTED);
        self.bytes[..4].copy_from_slice(&total.to_le_bytes());
        self.bytes[4..HEAD_BYTES].copy_from_slice(&count.to_le_bytes());
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert, proptest};

    fn returns(texts: &[Vec<u8>]) {
        let mut listpack = Listpack::default();
        texts.iter().for_each(|text| listpack.push(Element::of(text)));
        let sum: usize = texts.iter().map(|text| Listpack::bytes_of(Element::of(text))).sum();
        assert_eq!(listpack.byte_len(), Listpack::EMPTY_BYTES + sum);
        let bytes = listpack.into_bytes();
        let elements = Elements::new(&bytes).expect("a listpack");
        let found: Result<Vec<_>, _> = elements.map(|it| it.map(Element::to_text)).collect();
        assert_eq!(found.as_deref(), Ok(texts));
        for len in 0..bytes.len().min(50) {
            assert!(Elements::new(&bytes[..len]).is_err());
        }
    }

    #[test]
    fn texts_return_around_each_border_of_length() {
        for length in [0, 1, 63, 64, 125, 126, 127, 128, 4095, 4096, 16_378, 16_382, 2_097_145] {
            returns(&[vec![b'x'; length], vec![b'y'; length + 1]]);
        }
    }

    #[test]
    fn integers_return_around_each_border() {
        let borders = [0, 127, 4095, 1 << 15, 1 << 23, 1 << 31, i64::MAX, i64::MIN + 1];
        let around = |it: i64| [it.saturating_sub(1), it, it.saturating_add(1)];
        let values = borders.into_iter().flat_map(|it| [it, -it]).flat_map(around);
        returns(&values.map(|it| it.to_string().into_bytes()).collect::<Vec<_>>());
    }

    #[test]
    fn more_elements_than_the_count_can_tell_return() {
        returns(&vec![b"a".to_vec(); 65_534]);
        returns(&vec![b"a".to_vec(); 65_536]);
    }

    #[test]
    fn wrong_counts_and_lengths_are_refused() {
        let mut listpack = Listpack::default();
        (0..3).for_each(|it| listpack.push(Element::Integer(it)));
        let bytes = listpack.into_bytes();
        let refused = |at: usize, to: u8| {
            let mut damaged = bytes.clone();
            damaged[at] = to;
            Elements::new(&damaged).is_err_and(|_| true)
                || Elements::new(&damaged).expect("opened").any(|it| it.is_err())
        };
        for (at, to) in [(0, 12), (4, 2), (4, 4), (6, 0xff), (6, 0xf4), (7, 2), (12, 0)] {
            assert!(refused(at, to), "byte {at} is {to}");
        }
    }

    proptest! {
        #[test]
        fn any_texts_return(texts in proptest::collection::vec(
            proptest::collection::vec(any::<u8>(), 0..40), 0..40)) {
            returns(&texts);
        }

        #[test]
        fn any_bytes_are_read_or_refused(
            mut bytes in proptest::collection::vec(any::<u8>(), 7..99),
        ) {
            let total = narrow::to_u32(bytes.len()).to_le_bytes();
            bytes[..4].copy_from_slice(&total);
            bytes[4..6].copy_from_slice(&[255; 2]);
            *bytes.last_mut().expect("not empty") = END;
            let elements = Elements::new(&bytes).expect("its head is right");
            prop_assert!(elements.count() <= bytes.len());
        }
    }
}
