//! Values, passed over without decoding: where they end is all that is asked.

use super::stream::StreamReader;
use super::{RowForm, State, ValueReader};
use crate::error::Error;
use crate::format::{ValueType, container};
use crate::input::Input;

impl ValueReader {
    /// Passes over what is there, up to the end of a row or of the value, and returns true if the
    /// value ends there. What it holds is not looked at: damage that leaves lengths alone is found
    /// when the value is read.
    ///
    /// # Errors
    /// When the bytes are damaged, or of a module.
    pub fn skip(&mut self, input: &mut Input<'_>) -> Result<bool, Error> {
        while !self.is_complete() {
            let mut ahead = input.clone();
            match self.skip_step(&mut ahead) {
                Ok(()) => *input = ahead,
                Err(error) if error.is_end() => return Ok(false),
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }

    /// True if rows follow each other until the value ends, so that it can be read in pieces.
    pub fn has_rows(&self) -> bool {
        matches!(self.state, State::Rows { .. } | State::Stream(_))
    }

    #[inline]
    fn skip_step(&mut self, input: &mut Input<'_>) -> Result<(), Error> {
        match &mut self.state {
            State::Start if self.value_type.is_one_text() => {
                if let ValueType::HashTimedListpack { has_earliest: true } = self.value_type {
                    input.u64()?;
                }
                input.skip_text()?;
                self.state = State::End;
                Ok(())
            }
            State::Start => self.start(input).map(drop),
            State::Rows { form, left } => {
                skip_row(*form, input)?;
                *left -= 1;
                Ok(())
            }
            State::Stream(stream) => stream.skip_step(input),
            State::End => Ok(()),
        }
    }
}

#[inline]
fn skip_row(form: RowForm, input: &mut Input<'_>) -> Result<(), Error> {
    match form {
        RowForm::Element | RowForm::Ziplist => input.skip_text(),
        RowForm::MemberWithText => {
            input.skip_text()?;
            match input.byte()? {
                253.. => Ok(()),
                length => input.take(length.into()).map(drop),
            }
        }
        RowForm::Member => {
            input.skip_text()?;
            input.u64().map(drop)
        }
        RowForm::Field => {
            input.skip_text()?;
            input.skip_text()
        }
        RowForm::TimedField => {
            input.skip_text()?;
            input.skip_text()?;
            input.u64().map(drop)
        }
        RowForm::SpanField(_) => {
            input.length()?;
            input.skip_text()?;
            input.skip_text()
        }
        RowForm::Container => {
            let begin = input.clone();
            match input.length()? {
                container::PLAIN | container::PACKED => input.skip_text(),
                _ => Err(begin.damaged("no such container of a list")),
            }
        }
    }
}

impl StreamReader {
    fn skip_step(&mut self, input: &mut Input<'_>) -> Result<(), Error> {
        if self.skip_node(input)? {
            return Ok(());
        }
        if self.skip_facts(input)? {
            return Ok(());
        }
        self.step(input).map(drop)
    }
}
