//! Ziplists: small collections before Redis 7.
//!
//! ```text
//! | bytes 4 | offset of the last 4 | elements 2 | length before 1 or 5 | element | ... | 255 |
//! 00llllll                     text
//! 01llllll llllllll            text
//! 10000000 l 4                 text, length with the most significant byte first
//! 11000000 11010000 11100000   integer of 2, 4, 8 bytes
//! 11110000 11111110            integer of 3, 1 bytes
//! 1111iiii                     i - 1, from 0 to 12
//! ```

use super::bytes::{Damage, array, integer, take};
use packed::Element;

const HEAD_BYTES: usize = 10;
const END: u8 = 0xff;
const UNCOUNTED: u16 = u16::MAX;
/// First byte of a length of the element before that takes five bytes.
const LONG_BEFORE: u8 = 0xfe;

/// Elements of a ziplist, checked one by one.
#[derive(Debug)]
pub(crate) struct Elements<'b> {
    rest: &'b [u8],
    left: Option<u16>,
    /// Length of the element before.
    before: usize,
    /// Bytes from the begin to the next element, and to the last one.
    at: usize,
    last_at: usize,
    is_last_right: bool,
}

impl<'b> Elements<'b> {
    pub fn new(bytes: &'b [u8]) -> Result<Elements<'b>, Damage> {
        let mut rest = bytes;
        let head = (array(&mut rest), array(&mut rest), array(&mut rest));
        let (Some(total), Some(last), Some(count)) = head else { return Err("a short ziplist") };
        if u32::from_le_bytes(total) as usize != bytes.len() {
            return Err("the length of a ziplist");
        }
        let body = rest.split_last().filter(|(end, _)| **end == END).map(|(_, body)| body);
        let left = Some(u16::from_le_bytes(count)).filter(|count| *count != UNCOUNTED);
        let last_at = u32::from_le_bytes(last) as usize;
        Ok(Elements {
            rest: body.ok_or("a ziplist without end")?,
            left,
            before: 0,
            at: HEAD_BYTES,
            last_at,
            is_last_right: last_at == HEAD_BYTES,
        })
    }

    fn element(&mut self) -> Option<Element<'b>> {
        let start = self.rest;
        let [before] = array(&mut self.rest)?;
        let before = match before {
            LONG_BEFORE => u32::from_le_bytes(array(&mut self.rest)?) as usize,
            END => return None,
            short => short.into(),
        };
        let element = read(&mut self.rest)?;
        self.is_last_right = self.at == self.last_at;
        let is_right = before == std::mem::replace(&mut self.before, start.len() - self.rest.len());
        self.at += self.before;
        is_right.then_some(element)
    }
}

impl<'b> Iterator for Elements<'b> {
    type Item = Result<Element<'b>, Damage>;

    fn next(&mut self) -> Option<Result<Element<'b>, Damage>> {
        if self.rest.is_empty() {
            let is_short = self.left.take().is_some_and(|left| left > 0);
            let is_wrong = is_short || !std::mem::replace(&mut self.is_last_right, true);
            return is_wrong.then_some(Err("the head of a ziplist"));
        }
        let is_counted = self.left.as_mut().is_none_or(|left| {
            let is_left = *left > 0;
            *left = left.saturating_sub(1);
            is_left
        });
        let element = self.element();
        if element.is_none() || !is_counted {
            (self.rest, self.left, self.is_last_right) = (&[], None, true);
            return Some(Err("an element of a ziplist"));
        }
        element.map(Ok)
    }
}

fn read<'b>(rest: &mut &'b [u8]) -> Option<Element<'b>> {
    let [first] = array(rest)?;
    let element = match first {
        0..0x40 => Element::of(take(rest, first.into())?),
        0x40..0x80 => {
            let [low] = array(rest)?;
            Element::of(take(rest, usize::from(first & 0x3f) << 8 | usize::from(low))?)
        }
        0x80 => {
            let length = u32::from_be_bytes(array(rest)?);
            Element::of(take(rest, length as usize)?)
        }
        0xc0 => Element::Integer(integer::<2>(array(rest)?)),
        0xd0 => Element::Integer(integer::<4>(array(rest)?)),
        0xe0 => Element::Integer(integer::<8>(array(rest)?)),
        0xf0 => Element::Integer(integer::<3>(array(rest)?)),
        0xfe => Element::Integer(integer::<1>(array(rest)?)),
        0xf1..=0xfd => Element::Integer(i64::from(first & 0xf) - 1),
        _ => return None,
    };
    Some(element)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a ziplist of elements in their encoded form.
    fn ziplist(elements: &[&[u8]]) -> Vec<u8> {
        let (mut body, mut before, mut last) = (Vec::new(), 0_usize, HEAD_BYTES);
        for element in elements {
            last = HEAD_BYTES + body.len();
            let begin = body.len();
            match u8::try_from(before) {
                Ok(short) if short < LONG_BEFORE => body.push(short),
                _ => {
                    body.push(LONG_BEFORE);
                    body.extend_from_slice(&narrow::to_u32(before).to_le_bytes());
                }
            }
            body.extend_from_slice(element);
            before = body.len() - begin;
        }
        let mut bytes = narrow::to_u32(HEAD_BYTES + body.len() + 1).to_le_bytes().to_vec();
        bytes.extend_from_slice(&narrow::to_u32(last).to_le_bytes());
        bytes.extend_from_slice(&narrow::to_u16(elements.len()).to_le_bytes());
        bytes.extend_from_slice(&body);
        bytes.push(END);
        bytes
    }

    fn texts(bytes: &[u8]) -> Result<Vec<String>, Damage> {
        let text = |element: Element<'_>| String::from_utf8_lossy(&element.to_text()).into_owned();
        Elements::new(bytes)?.map(|element| element.map(text)).collect()
    }

    #[test]
    fn all_forms_of_elements_are_read() {
        let mut long = vec![0x41, 0x2c];
        long.extend_from_slice(&[b'x'; 300]);
        let forms: [(&[u8], &str); 11] = [
            (b"\x02ab", "ab"),
            (b"\x00", ""),
            (&long, &"x".repeat(300)),
            (b"\x80\x00\x00\x00\x01z", "z"),
            (b"\xc0\x00\x80", "-32768"),
            (b"\xd0\xff\xff\xff\x7f", "2147483647"),
            (b"\xe0\x00\x00\x00\x00\x00\x00\x00\x80", "-9223372036854775808"),
            (b"\xf0\xff\xff\xff", "-1"),
            (b"\xfe\x80", "-128"),
            (b"\xf1", "0"),
            (b"\xfd", "12"),
        ];
        let bytes = ziplist(&forms.map(|(form, _)| form));
        assert_eq!(texts(&bytes), Ok(forms.map(|(_, text)| text.to_owned()).to_vec()));
        assert_eq!(texts(&ziplist(&[])), Ok(Vec::new()));
    }

    #[test]
    fn damaged_ziplists_are_refused() {
        let good = ziplist(&[b"\x02ab", b"\xf1"]);
        for len in 0..good.len() {
            assert!(texts(&good[..len]).is_err());
        }
        for (at, to) in [(0, 1), (4, 11), (8, 1), (8, 3), (10, 1), (11, 9), (14, 0), (15, 0xff)] {
            let mut damaged = good.clone();
            damaged[at] = to;
            assert!(texts(&damaged).is_err(), "byte {at} is {to}");
        }
    }
}
