//! What a command names and what it finds.

use base::{KeyspaceId, Millis, PositionHash};

/// A key in a keyspace, hashed once.
#[derive(Clone, Copy, Debug)]
pub struct Key<'k> {
    /// The key's bytes.
    pub bytes: &'k [u8],
    /// Where it stands; the same in every keyspace.
    pub hash: PositionHash,
    /// The keyspace that is meant.
    pub keyspace: KeyspaceId,
}

/// What kind of value a key holds, as TYPE names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// Bytes; integers and bitmaps too.
    String = 0,
}

impl Kind {
    /// The name that TYPE answers.
    pub fn name(self) -> &'static str {
        match self {
            Kind::String => "string",
        }
    }

    pub(crate) fn of(_bits: u8) -> Kind {
        Kind::String
    }
}

/// How OBJECT ENCODING calls the way a string is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Encoding {
    /// Long, or changed in place before.
    Raw = 0,
    /// Short.
    Embedded = 1,
    /// The decimal text of a 64-bit integer.
    Int = 2,
}

/// The longest string that is called embedded.
const EMBEDDED_MAX: usize = 44;

impl Encoding {
    /// How a string that was just set is kept.
    #[inline]
    pub fn of_new(value: &[u8]) -> Encoding {
        let may_be_int = value.len() <= 20 && matches!(value, [b'0'..=b'9' | b'-', ..]);
        if may_be_int && text::parse_i64(value).is_some() {
            Encoding::Int
        } else {
            Encoding::of_text(value)
        }
    }

    /// How a string is kept of which nobody asks whether it is an integer.
    #[inline]
    pub fn of_text(value: &[u8]) -> Encoding {
        if value.len() <= EMBEDDED_MAX { Encoding::Embedded } else { Encoding::Raw }
    }

    /// The name that OBJECT ENCODING answers.
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Raw => "raw",
            Encoding::Embedded => "embstr",
            Encoding::Int => "int",
        }
    }
}

/// A record's seven bits that belong to the store: kind below, encoding above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Label(pub u8);

impl Label {
    #[inline]
    pub fn new(kind: Kind, encoding: Encoding) -> Label {
        Label(kind as u8 | (encoding as u8) << 3)
    }

    #[inline]
    pub fn kind(self) -> Kind {
        Kind::of(self.0 & 7)
    }

    #[inline]
    pub fn encoding(self) -> Encoding {
        match self.0 >> 3 & 3 {
            2 => Encoding::Int,
            1 => Encoding::Embedded,
            _ => Encoding::Raw,
        }
    }
}

/// A value as it stands in its record.
#[derive(Clone, Copy, Debug)]
pub struct Value<'a> {
    /// What kind it is.
    pub kind: Kind,
    /// How it is kept.
    pub encoding: Encoding,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// When it ends.
    pub deadline: Option<Millis>,
}
