//! Errors of reading: bytes that are not what they should be.

use thiserror::Error as ThisError;

/// Error of reading a file or payload. Its sender or the operator acts: by another source, or by
/// repairing the file.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
#[error("{flaw} at byte {at}")]
pub struct Error {
    /// Offset of the first byte that could not be read.
    pub at: u64,
    /// What is wrong with it.
    pub flaw: Flaw,
}

/// What is wrong with the bytes.
#[derive(Clone, Debug, PartialEq, Eq, ThisError)]
pub enum Flaw {
    /// The bytes end in the middle of something.
    #[error("the data ends too early")]
    Ends,
    /// Something that the format does not allow.
    #[error("damaged data: {0}")]
    Damaged(&'static str),
    /// A collection without elements, which no server keeps.
    #[error("a collection without elements")]
    Empty,
    /// A stream with a wrong number of entries, as servers that do not look take it and keep it.
    #[error("damaged data: a stream says that it has {told} entries, and has {found}")]
    Miscounted {
        /// Number that stands there.
        told: u64,
        /// Number of its entries.
        found: u64,
    },
    /// A number for which the version has no type or opcode.
    #[error("unknown type or opcode {0}")]
    UnknownType(u8),
    /// A type that another maker's version numbers so, with another meaning here.
    #[error("unsupported foreign type {0}")]
    ForeignType(u8),
    /// A value of a module, which would be lost.
    #[error("the value belongs to module type {0}, which is not loaded")]
    Module(String),
    /// A version that is not known.
    #[error("unknown version {0}")]
    UnknownVersion(u16),
    /// A checksum that does not fit the bytes.
    #[error("wrong checksum: {found:016x} instead of {expected:016x}")]
    Checksum {
        /// Checksum behind the bytes.
        found: u64,
        /// Checksum of the bytes.
        expected: u64,
    },
}

impl Error {
    /// Returns true if more bytes may make the data whole.
    pub fn is_end(&self) -> bool {
        self.flaw == Flaw::Ends
    }
}
