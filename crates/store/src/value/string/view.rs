//! Read access to strings in one piece and in chunks.

use crate::value::long_string::{LongView, Part};
use base::Millis;
use std::ops::Range;

/// The string of a key, for reading.
#[derive(Clone, Copy, Debug)]
pub struct StringView<'a> {
    /// Deadline of the key.
    pub deadline: Option<Millis>,
    /// Bytes of the string.
    pub form: Form<'a>,
}

/// Layout of the bytes of a string.
#[derive(Clone, Copy, Debug)]
pub enum Form<'a> {
    /// In one piece.
    Whole(&'a [u8]),
    /// In chunks.
    Long(LongView<'a>),
}

impl<'a> StringView<'a> {
    /// Its length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        match self.form {
            Form::Whole(bytes) => bytes.len(),
            Form::Long(long) => long.len(),
        }
    }

    /// Returns true if the string has no bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns all bytes if they lie in one piece.
    #[inline]
    pub fn as_slice(&self) -> Option<&'a [u8]> {
        match self.form {
            Form::Whole(bytes) => Some(bytes),
            Form::Long(_) => None,
        }
    }

    /// The bytes of a range that lies inside, piece by piece.
    pub fn pieces(&self, range: Range<usize>) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.parts(range).map(Part::bytes)
    }

    /// Returns the parts of a range that lies inside; zeros that are not stored are marked as such.
    pub fn parts(&self, range: Range<usize>) -> impl Iterator<Item = Part<'a>> + use<'a> {
        let (whole, long) = match self.form {
            Form::Whole(bytes) => (Some(Part::Bytes(&bytes[range])), None),
            Form::Long(long) => (None, Some(long.parts(range))),
        };
        whole.into_iter().chain(long.into_iter().flatten())
    }

    /// Copies the whole string.
    pub fn to_vec(&self) -> Vec<u8> {
        match self.form {
            Form::Whole(bytes) => bytes.to_vec(),
            Form::Long(long) => {
                let mut bytes = vec![0; long.len()];
                long.copy_to(0, &mut bytes);
                bytes
            }
        }
    }
}

impl PartialEq<[u8]> for StringView<'_> {
    fn eq(&self, other: &[u8]) -> bool {
        if self.len() != other.len() {
            return false;
        }
        let mut rest = other;
        self.pieces(0..other.len()).all(|piece| {
            let (begin, end) = rest.split_at(piece.len());
            rest = end;
            piece == begin
        })
    }
}
