//! Bytes to be read, from front to back.

use crate::error::{Error, Flaw};
use crate::format::length;

/// Bytes that are read one after the other. What does not end within them is an error that
/// [`Error::is_end`] tells from damage, so that reading can be repeated with more bytes.
#[derive(Clone, Debug)]
pub struct Input<'a> {
    rest: &'a [u8],
    at: u64,
}

/// A length, or the mark of a text in another form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    Plain(u64),
    Special(u8),
}

impl<'a> Input<'a> {
    /// Input of these bytes, the first of which has the offset `at` in a file or payload.
    pub fn new(bytes: &'a [u8], at: u64) -> Input<'a> {
        Input { rest: bytes, at }
    }

    /// Offset of the next byte.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Bytes that are left.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Error at the next byte.
    pub(crate) fn error(&self, flaw: Flaw) -> Error {
        Error { at: self.at, flaw }
    }

    pub(crate) fn damaged(&self, what: &'static str) -> Error {
        self.error(Flaw::Damaged(what))
    }

    /// Takes bytes.
    ///
    /// # Errors
    /// When there are not as many.
    #[inline]
    pub fn take(&mut self, count: u64) -> Result<&'a [u8], Error> {
        let split = usize::try_from(count).ok().and_then(|it| self.rest.split_at_checked(it));
        let Some((taken, rest)) = split else { return Err(self.error(Flaw::Ends)) };
        self.rest = rest;
        self.at += count;
        Ok(taken)
    }

    #[inline]
    pub(crate) fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let Some((taken, rest)) = self.rest.split_first_chunk() else {
            return Err(self.error(Flaw::Ends));
        };
        self.rest = rest;
        self.at += N as u64;
        Ok(*taken)
    }

    #[inline]
    pub(crate) fn byte(&mut self) -> Result<u8, Error> {
        Ok(self.array::<1>()?[0])
    }

    #[inline]
    pub(crate) fn u64(&mut self) -> Result<u64, Error> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    pub(crate) fn f64(&mut self) -> Result<f64, Error> {
        Ok(f64::from_le_bytes(self.array()?))
    }

    /// Reads a length, or the mark of a text in another form.
    #[inline]
    pub(crate) fn length_or_mark(&mut self) -> Result<Length, Error> {
        let begin = self.clone();
        let first = self.byte()?;
        let low = first & 0x3f;
        let number = match first >> length::FORM_SHIFT {
            length::SIX_BITS => low.into(),
            length::FOURTEEN_BITS => u64::from(low) << 8 | u64::from(self.byte()?),
            length::WIDE => match first {
                length::FOUR_BYTES => u32::from_be_bytes(self.array()?).into(),
                length::EIGHT_BYTES => u64::from_be_bytes(self.array()?),
                _ => return Err(begin.damaged("no such form of a length")),
            },
            _ => return Ok(Length::Special(low)),
        };
        Ok(Length::Plain(number))
    }

    /// Reads a length or a number.
    #[inline]
    pub(crate) fn length(&mut self) -> Result<u64, Error> {
        let begin = self.clone();
        match self.length_or_mark()? {
            Length::Plain(number) => Ok(number),
            Length::Special(_) => Err(begin.damaged("a text stands where a number belongs")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::Output;

    #[test]
    fn lengths_are_read_as_they_were_written_around_each_border() {
        let borders = [0, 63, 64, 16_383, 16_384, u32::MAX.into(), 1 << 32, u64::MAX];
        for number in borders.into_iter().flat_map(|it: u64| [it.saturating_sub(1), it]) {
            let mut output = Output::default();
            output.length(number);
            let bytes = output.bytes();
            let mut input = Input::new(bytes, 7);
            assert_eq!(input.length(), Ok(number));
            assert_eq!((input.rest(), input.at()), (&b""[..], 7 + bytes.len() as u64));
            for len in 0..bytes.len() {
                let read = Input::new(&bytes[..len], 0).length();
                assert!(read.is_err_and(|error| error.is_end()), "{number} {len} bytes of it");
            }
        }
    }

    #[test]
    fn a_number_is_neither_a_text_nor_of_an_unknown_form() {
        for bytes in [&[0xc0, 1][..], &[0x82, 0, 0, 0, 0]] {
            let error = Input::new(bytes, 3).length().expect_err("refused");
            assert!(!error.is_end() && error.at == 3, "{error}");
        }
    }
}
