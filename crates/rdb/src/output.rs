//! Bytes to be written: lengths, texts and numbers.

use crate::format::{length, text_form};
use crate::lzf::Compressor;
use packed::Element;
use text::IntegerText;

/// Shortest text that is worth compressing.
const COMPRESSED_MIN: usize = 21;
/// Least number of bytes that compressing must save.
const SAVED_MIN: usize = 4;
/// Longest head of a text.
const HEAD_BYTES_MAX: usize = 9;
/// Longest text that may be an integer of four bytes.
const INTEGER_TEXT_MAX: usize = 11;

/// Written bytes.
#[derive(Clone, Debug, Default)]
pub struct Output {
    bytes: Vec<u8>,
    /// Compressor of long texts; `None` if they are written as they are.
    compressor: Option<Compressor>,
}

impl Output {
    /// Output in which long texts are compressed if `compresses` is set, as `rdbcompression` says.
    pub fn new(compresses: bool) -> Output {
        Output { bytes: Vec::new(), compressor: compresses.then(Compressor::default) }
    }

    /// Returns true if long texts are compressed.
    pub fn compresses(&self) -> bool {
        self.compressor.is_some()
    }

    /// What was written.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Takes what was written.
    pub fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.bytes)
    }

    /// Forgets what was written, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Writes bytes as they are.
    #[inline]
    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes one byte.
    #[inline]
    pub fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// Writes a length or a number.
    #[inline]
    pub fn length(&mut self, number: u64) {
        match number {
            0..0x40 => self.byte(narrow::low_u8(number)),
            0x40..0x4000 => {
                let high =
                    narrow::low_u8(number >> 8) | length::FOURTEEN_BITS << length::FORM_SHIFT;
                self.raw(&[high, narrow::low_u8(number)]);
            }
            _ => match u32::try_from(number) {
                Ok(number) => {
                    self.byte(length::FOUR_BYTES);
                    self.raw(&number.to_be_bytes());
                }
                Err(_) => {
                    self.byte(length::EIGHT_BYTES);
                    self.raw(&number.to_be_bytes());
                }
            },
        }
    }

    /// Writes the head of a text of which the bytes follow as they are.
    #[inline]
    pub fn text_head(&mut self, length: usize) {
        self.length(length as u64);
    }

    /// Writes a text in its shortest form.
    #[inline]
    pub fn text(&mut self, text: &[u8]) {
        let may_be_integer = text.len() <= INTEGER_TEXT_MAX;
        match may_be_integer.then(|| text::parse_i64(text)).flatten().map(i32::try_from) {
            Some(Ok(value)) => self.integer(value),
            _ => self.blob(text),
        }
    }

    /// Writes the text of an element in its shortest form.
    #[inline]
    pub fn element(&mut self, element: Element<'_>) {
        match element {
            Element::Integer(value) => match i32::try_from(value) {
                Ok(value) => self.integer(value),
                Err(_) => self.blob(IntegerText::new().format(value)),
            },
            other => other.with_text(|text| self.blob(text)),
        }
    }

    fn integer(&mut self, value: i32) {
        let form = |form: u8| length::SPECIAL << length::FORM_SHIFT | form;
        if let Ok(value) = i8::try_from(value) {
            self.byte(form(text_form::BYTE));
            self.raw(&value.to_le_bytes());
        } else if let Ok(value) = i16::try_from(value) {
            self.byte(form(text_form::SHORT));
            self.raw(&value.to_le_bytes());
        } else {
            self.byte(form(text_form::WORD));
            self.raw(&value.to_le_bytes());
        }
    }

    /// Writes bytes that are no integer, compressed if that is worth it.
    #[inline]
    pub fn blob(&mut self, bytes: &[u8]) {
        let compressor = self.compressor.as_mut().filter(|_| bytes.len() >= COMPRESSED_MIN);
        let Some(short) = compressor.and_then(|it| it.compress(bytes, SAVED_MIN)) else {
            self.bytes.reserve(HEAD_BYTES_MAX + bytes.len());
            self.text_head(bytes.len());
            return self.raw(bytes);
        };
        self.byte(length::SPECIAL << length::FORM_SHIFT | text_form::LZF);
        self.length(short.len() as u64);
        self.length(bytes.len() as u64);
        self.raw(&short);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::Input;
    use proptest::prelude::{any, proptest};

    fn returns(text: &[u8], compresses: bool) -> usize {
        let mut output = Output::new(compresses);
        output.text(text);
        let mut input = Input::new(output.bytes(), 0);
        assert_eq!(input.text().expect("whole").into_bytes(), text);
        assert_eq!(input.rest(), b"");
        let mut same = Output::new(compresses);
        same.element(Element::of(text));
        assert_eq!(same.bytes(), output.bytes());
        output.bytes().len()
    }

    #[test]
    fn integers_are_written_in_the_fewest_bytes() {
        let widths = [
            (2, &[0_i64, 1, -1, 127, -128][..]),
            (3, &[128, -129, 32_767, -32_768]),
            (5, &[32_768, -32_769, 2_147_483_647, -2_147_483_648]),
            (11, &[2_147_483_648_i64]),
            (12, &[-2_147_483_649]),
        ];
        for (bytes, values) in widths {
            for value in values {
                assert_eq!(returns(value.to_string().as_bytes(), true), bytes, "{value}");
            }
        }
        for text in ["", "-", "+1", "01", "-0", "1 ", "1.0"] {
            assert_eq!(returns(text.as_bytes(), true), text.len() + 1, "{text}");
        }
    }

    #[test]
    fn long_texts_are_compressed_where_that_is_asked_for_and_worth_it() {
        assert_eq!(returns(&[b'x'; 20], true), 21);
        assert!(returns(&[b'x'; 21], true) < 15);
        assert_eq!(returns(&[b'x'; 21], false), 22);
        let mixed: Vec<u8> = (0..=255).collect();
        assert_eq!(returns(&mixed, true), 258);
    }

    proptest! {
        #[test]
        fn any_text_returns(text in proptest::collection::vec(any::<u8>(), 0..300), short: bool) {
            returns(&text, short);
        }
    }
}
