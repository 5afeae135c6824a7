//! Texts: keys, strings, elements, and blobs of elements.

use crate::error::Error;
use crate::format::text_form;
use crate::input::{Input, Length};
use crate::lzf;
use packed::Element;
use std::borrow::Cow;
use text::IntegerText;

/// A text as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Text<'a> {
    /// The bytes, decompressed if need be.
    Bytes(Cow<'a, [u8]>),
    /// An integer, whose text is its decimal text.
    Integer(i64),
}

impl<'a> Input<'a> {
    /// Reads a text.
    ///
    /// # Errors
    /// When it is damaged or does not end.
    #[inline]
    pub fn text(&mut self) -> Result<Text<'a>, Error> {
        let begin = self.clone();
        match self.length_or_mark()? {
            Length::Plain(length) => Ok(Text::Bytes(self.take(length)?.into())),
            Length::Special(text_form::BYTE) => {
                Ok(Text::Integer(i8::from_le_bytes(self.array()?).into()))
            }
            Length::Special(text_form::SHORT) => {
                Ok(Text::Integer(i16::from_le_bytes(self.array()?).into()))
            }
            Length::Special(text_form::WORD) => {
                Ok(Text::Integer(i32::from_le_bytes(self.array()?).into()))
            }
            Length::Special(text_form::LZF) => self.compressed(&begin),
            Length::Special(_) => Err(begin.damaged("no such form of a text")),
        }
    }

    /// Passes over a text.
    ///
    /// # Errors
    /// When it does not end, or is in no known form.
    #[inline]
    pub fn skip_text(&mut self) -> Result<(), Error> {
        let begin = self.clone();
        let bytes = match self.length_or_mark()? {
            Length::Plain(length) => length,
            Length::Special(text_form::BYTE) => 1,
            Length::Special(text_form::SHORT) => 2,
            Length::Special(text_form::WORD) => 4,
            Length::Special(text_form::LZF) => {
                let short = self.length()?;
                self.length()?;
                short
            }
            Length::Special(_) => return Err(begin.damaged("no such form of a text")),
        };
        self.take(bytes).map(drop)
    }

    fn compressed(&mut self, begin: &Input<'a>) -> Result<Text<'a>, Error> {
        let short = self.length()?;
        let length = self.length()?;
        let short = self.take(short)?;
        let text = usize::try_from(length).ok().and_then(|it| lzf::decompress(short, it));
        text.map(|it| Text::Bytes(it.into())).ok_or_else(|| begin.damaged("a compressed text"))
    }

    /// Reads a text whose bytes are wanted as they are: a name or a blob.
    pub(crate) fn bytes(&mut self) -> Result<Cow<'a, [u8]>, Error> {
        Ok(self.text()?.into_bytes())
    }
}

impl<'a> Text<'a> {
    /// The text as an element.
    #[inline]
    pub fn element(&self) -> Element<'_> {
        match self {
            Text::Bytes(bytes) => Element::of(bytes),
            Text::Integer(value) => Element::Integer(*value),
        }
    }

    /// The bytes of the text.
    pub fn into_bytes(self) -> Cow<'a, [u8]> {
        match self {
            Text::Bytes(bytes) => bytes,
            Text::Integer(value) => IntegerText::new().format(value).to_vec().into(),
        }
    }
}
