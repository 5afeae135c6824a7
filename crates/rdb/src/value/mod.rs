//! Values, read part by part.
//!
//! ```text
//! String            | text |
//! List, Set, Hash   | count | text | text | ...
//! blobs             | text with all elements |
//! ListListpacks     | count | container | text with elements | ...
//! Stream            | count | first id | listpack | ... | facts | groups |
//! ```
//! A step reads what cannot be divided (one row of texts, one blob) and changes the state of the
//! reader only if all of it is there. So reading goes on with more bytes where it stopped.

mod node;
mod part;
mod skip;
mod stream;
#[cfg(test)]
mod tests;

pub use node::StreamNode;
pub use part::{Part, StreamFacts, StreamId, StreamPart};
pub use stream::Miscount;

use crate::blob::Format;
use crate::error::{Error, Flaw};
use crate::format::{ValueType, container, module_name};
use crate::input::Input;
use crate::text::Text;
use packed::Element;
use std::borrow::Cow;
use stream::{StreamFound, StreamReader};

/// Reader of one value.
#[derive(Debug)]
pub struct ValueReader {
    value_type: ValueType,
    counts: bool,
    state: State,
}

#[derive(Debug)]
enum State {
    Start,
    Rows { form: RowForm, left: u64 },
    Stream(StreamReader),
    End,
}

/// What stands so many times as the count says.
#[derive(Clone, Copy, Debug)]
enum RowForm {
    Element,
    MemberWithText,
    Member,
    Field,
    TimedField,
    /// A field behind its distance from the earliest deadline, if that is known.
    SpanField(Option<u64>),
    Ziplist,
    Container,
}

/// Elements of a blob that belong together.
#[derive(Clone, Copy, Debug)]
enum BlobRow {
    Element,
    Member,
    Field,
    TimedField,
}

/// What one step has read.
enum Found<'a> {
    Nothing,
    String(Text<'a>),
    Element(Text<'a>),
    Member(Text<'a>, f64),
    Field(Text<'a>, Text<'a>, Option<u64>),
    Blob(Cow<'a, [u8]>, Format, BlobRow),
    Stream(StreamFound<'a>),
}

impl ValueReader {
    /// Reader of a value of this type, of which nothing is read yet.
    pub fn new(value_type: ValueType) -> ValueReader {
        ValueReader { value_type, counts: false, state: State::Start }
    }

    /// As `new`, but a stream has as many entries as were read, whatever number stands there.
    pub fn counting(value_type: ValueType) -> ValueReader {
        ValueReader { counts: true, ..ValueReader::new(value_type) }
    }

    /// The wrong number of entries of a stream that was read, if it has one.
    pub fn miscount(&self) -> Option<Miscount> {
        match &self.state {
            State::Stream(stream) => stream.miscount(),
            _ => None,
        }
    }

    /// Reads parts and passes each to `each`, until the value is complete or its next part does not
    /// end within the input. Returns true if the value is complete.
    ///
    /// # Errors
    /// When the bytes are damaged, or one of `each`.
    pub fn read<E: From<Error>>(
        &mut self,
        input: &mut Input<'_>,
        mut each: impl FnMut(Part<'_>) -> Result<(), E>,
    ) -> Result<bool, E> {
        loop {
            if self.is_complete() {
                return Ok(true);
            }
            let mut ahead = input.clone();
            let found = match self.step(&mut ahead) {
                Ok(found) => found,
                Err(error) if error.is_end() => return Ok(false),
                Err(error) => return Err(error.into()),
            };
            let begin = std::mem::replace(input, ahead);
            self.emit(found, &begin, &mut each)?;
        }
    }

    fn is_complete(&self) -> bool {
        match &self.state {
            State::Start => false,
            State::Rows { left, .. } => *left == 0,
            State::Stream(stream) => stream.is_complete(),
            State::End => true,
        }
    }

    #[inline]
    fn step<'a>(&mut self, input: &mut Input<'a>) -> Result<Found<'a>, Error> {
        match &mut self.state {
            State::Start => self.start(input),
            State::Rows { form, left } => {
                let found = row(*form, input)?;
                *left -= 1;
                Ok(found)
            }
            State::Stream(stream) => Ok(Found::Stream(stream.step(input)?)),
            State::End => Ok(Found::Nothing),
        }
    }

    fn start<'a>(&mut self, input: &mut Input<'a>) -> Result<Found<'a>, Error> {
        let rows = |form, left| (State::Rows { form, left }, Found::Nothing);
        let (state, found) = match self.value_type {
            ValueType::String => (State::End, Found::String(input.text()?)),
            ValueType::List | ValueType::Set => rows(RowForm::Element, input.length()?),
            ValueType::SortedSetText => rows(RowForm::MemberWithText, input.length()?),
            ValueType::SortedSet => rows(RowForm::Member, input.length()?),
            ValueType::Hash => rows(RowForm::Field, input.length()?),
            ValueType::HashTimed => rows(RowForm::TimedField, input.length()?),
            ValueType::HashSpans { has_earliest } => {
                let earliest = has_earliest.then(|| input.u64()).transpose()?;
                rows(RowForm::SpanField(earliest), input.length()?)
            }
            ValueType::ListZiplists => rows(RowForm::Ziplist, input.length()?),
            ValueType::ListListpacks => rows(RowForm::Container, input.length()?),
            ValueType::Stream1 | ValueType::Stream2 | ValueType::Stream3 => {
                let stream = StreamReader::begin(self.value_type, self.counts, input)?;
                (State::Stream(stream), Found::Nothing)
            }
            ValueType::ModuleOld => return Err(input.error(Flaw::Module("unknown".to_owned()))),
            ValueType::Module => {
                let name = module_name(input.length()?);
                return Err(input.error(Flaw::Module(name)));
            }
            blob => {
                let (format, row) = blob_of(blob);
                if let ValueType::HashTimedListpack { has_earliest: true } = blob {
                    input.u64()?;
                }
                (State::End, Found::Blob(input.bytes()?, format, row))
            }
        };
        self.state = state;
        Ok(found)
    }

    #[inline]
    fn emit<E: From<Error>>(
        &mut self,
        found: Found<'_>,
        begin: &Input<'_>,
        each: &mut impl FnMut(Part<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        match found {
            Found::Nothing => Ok(()),
            Found::String(text) => each(Part::String(text)),
            Found::Element(text) => each(Part::Element(text.element())),
            Found::Member(member, score) if score.is_nan() => {
                drop(member);
                Err(begin.damaged("a score that is not a number").into())
            }
            Found::Member(member, score) => each(Part::Member { member: member.element(), score }),
            Found::Field(field, value, deadline) => {
                each(Part::Field { field: field.element(), value: value.element(), deadline })
            }
            Found::Blob(bytes, format, row) => emit_blob(&bytes, format, row, begin, each),
            Found::Stream(found) => match &mut self.state {
                State::Stream(stream) => stream.emit(found, begin, each),
                _ => Ok(()),
            },
        }
    }
}

/// Format of the blob of a type, and its rows.
fn blob_of(value_type: ValueType) -> (Format, BlobRow) {
    match value_type {
        ValueType::HashZipmap => (Format::Zipmap, BlobRow::Field),
        ValueType::ListZiplist => (Format::Ziplist, BlobRow::Element),
        ValueType::SetIntset => (Format::Intset, BlobRow::Element),
        ValueType::SortedSetZiplist => (Format::Ziplist, BlobRow::Member),
        ValueType::HashZiplist => (Format::Ziplist, BlobRow::Field),
        ValueType::HashListpack => (Format::Listpack, BlobRow::Field),
        ValueType::SortedSetListpack => (Format::Listpack, BlobRow::Member),
        ValueType::HashTimedListpack { .. } => (Format::Listpack, BlobRow::TimedField),
        _ => (Format::Listpack, BlobRow::Element),
    }
}

#[inline]
fn row<'a>(form: RowForm, input: &mut Input<'a>) -> Result<Found<'a>, Error> {
    Ok(match form {
        RowForm::Element => Found::Element(input.text()?),
        RowForm::MemberWithText => Found::Member(input.text()?, score_text(input)?),
        RowForm::Member => Found::Member(input.text()?, input.f64()?),
        RowForm::Field => Found::Field(input.text()?, input.text()?, None),
        RowForm::TimedField => {
            let (field, value, begin) = (input.text()?, input.text()?, input.clone());
            let deadline = match i64::from_le_bytes(input.array()?) {
                -1 => None,
                millis => Some(
                    u64::try_from(millis)
                        .map_err(|_| begin.damaged("a deadline of a field before the epoch"))?,
                ),
            };
            Found::Field(field, value, deadline)
        }
        RowForm::SpanField(earliest) => {
            let span = input.length()?;
            let base = earliest.map_or(0, |earliest| earliest.saturating_sub(1));
            let deadline = (span != 0).then(|| span.saturating_add(base));
            Found::Field(input.text()?, input.text()?, deadline)
        }
        RowForm::Ziplist => Found::Blob(input.bytes()?, Format::Ziplist, BlobRow::Element),
        RowForm::Container => {
            let begin = input.clone();
            match input.length()? {
                container::PLAIN => {
                    let element = input.text()?;
                    if element == Text::Bytes((&[][..]).into()) {
                        return Err(begin.damaged("a node of a list without an element"));
                    }
                    Found::Element(element)
                }
                container::PACKED => {
                    Found::Blob(input.bytes()?, Format::Listpack, BlobRow::Element)
                }
                _ => return Err(begin.damaged("no such container of a list")),
            }
        }
    })
}

/// Reads a score as text, behind one byte of length or meaning.
fn score_text(input: &mut Input<'_>) -> Result<f64, Error> {
    let begin = input.clone();
    match input.byte()? {
        255 => Ok(f64::NEG_INFINITY),
        254 => Ok(f64::INFINITY),
        253 => Ok(f64::NAN),
        length => {
            let score = text::parse_f64(input.take(length.into())?);
            score.ok_or_else(|| begin.damaged("a score that is not a number"))
        }
    }
}

fn emit_blob<E: From<Error>>(
    bytes: &[u8],
    format: Format,
    row: BlobRow,
    begin: &Input<'_>,
    each: &mut impl FnMut(Part<'_>) -> Result<(), E>,
) -> Result<(), E> {
    let damaged = |what| E::from(begin.damaged(what));
    let mut elements = format.elements(bytes).map_err(damaged)?;
    while let Some(first) = elements.next() {
        let first = first.map_err(damaged)?;
        let mut next = || match elements.next() {
            Some(element) => element.map_err(damaged),
            None => Err(damaged("elements that do not fill a row")),
        };
        let part = match row {
            BlobRow::Element => Part::Element(first),
            BlobRow::Member => Part::Member {
                member: first,
                score: score_of(next()?).ok_or_else(|| damaged("a score that is not a number"))?,
            },
            BlobRow::Field => Part::Field { field: first, value: next()?, deadline: None },
            BlobRow::TimedField => {
                let (value, deadline) = (next()?, next()?);
                let Element::Integer(deadline) = deadline else {
                    return Err(damaged("a deadline that is not a number"));
                };
                let deadline = u64::try_from(deadline).ok().filter(|it| *it != 0);
                Part::Field { field: first, value, deadline }
            }
        };
        each(part)?;
    }
    Ok(())
}

/// Score in a blob: an integer, or the text of a number.
fn score_of(element: Element<'_>) -> Option<f64> {
    let score = element.with_text(text::parse_f64);
    score.filter(|score| !score.is_nan())
}
