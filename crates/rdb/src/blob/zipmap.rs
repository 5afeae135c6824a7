//! Zipmaps: small hashes of Redis before 2.6.
//!
//! ```text
//! | fields 1 | length 1 or 5 | field | length 1 or 5 | free 1 | value | free bytes | ... | 255 |
//! ```

use super::bytes::{Damage, array, take};
use packed::Element;

const END: u8 = 0xff;
/// First byte of a length that takes four more bytes.
const LONG: u8 = 0xfe;

/// Fields and values in turn.
#[derive(Debug)]
pub(crate) struct Texts<'b> {
    rest: &'b [u8],
    is_value: bool,
}

impl<'b> Texts<'b> {
    pub fn new(bytes: &'b [u8]) -> Result<Texts<'b>, Damage> {
        let body = bytes.split_first().and_then(|(_, rest)| rest.split_last());
        let body = body.filter(|(end, _)| **end == END).map(|(_, body)| body);
        Ok(Texts { rest: body.ok_or("a zipmap without end")?, is_value: false })
    }

    fn text(&mut self) -> Option<Element<'b>> {
        let length = match array(&mut self.rest)? {
            [LONG] => long_length(u32::from_le_bytes(array(&mut self.rest)?))?,
            [END] => return None,
            [short] => short.into(),
        };
        let free = if self.is_value { array(&mut self.rest)? } else { [0] };
        let text = take(&mut self.rest, length)?;
        take(&mut self.rest, free[0].into())?;
        self.is_value = !self.is_value;
        Some(Element::of(text))
    }
}

/// A length of five bytes, unless it fits into one: readers that step over it by its value would
/// go astray.
fn long_length(length: u32) -> Option<usize> {
    (length >= LONG.into()).then_some(length as usize)
}

impl<'b> Iterator for Texts<'b> {
    type Item = Result<Element<'b>, Damage>;

    fn next(&mut self) -> Option<Result<Element<'b>, Damage>> {
        if self.rest.is_empty() {
            return None;
        }
        let text = self.text();
        if text.is_none() {
            self.rest = &[];
        }
        Some(text.ok_or("an element of a zipmap"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(bytes: &[u8]) -> Result<Vec<Vec<u8>>, Damage> {
        Texts::new(bytes)?.map(|text| text.map(Element::to_text)).collect()
    }

    #[test]
    fn fields_and_values_are_read_without_the_free_bytes() {
        let mut bytes = b"\x02\x03foo\x03\x02bar\0\0\x01a\xfe\x2c\x01\0\0\x00".to_vec();
        bytes.extend_from_slice(&[b'x'; 300]);
        bytes.push(END);
        let expected = [&b"foo"[..], b"bar", b"a", &[b'x'; 300]].map(<[u8]>::to_vec);
        assert_eq!(texts(&bytes), Ok(expected.to_vec()));
    }

    #[test]
    fn damaged_zipmaps_are_refused() {
        for bytes in [
            &b""[..],
            b"\x00",
            b"\x01\x03foo",
            b"\x01\x09foo\xff",
            b"\x01\x01a\xfe\x01\xff",
            b"\x01\xfe\x01\0\0\0a\x01\0b\xff",
        ] {
            assert!(texts(bytes).is_err(), "{bytes:?}");
        }
    }
}
