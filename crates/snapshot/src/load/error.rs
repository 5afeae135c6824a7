//! Errors of loading a file.

use rdb::{Error, Flaw};
use std::io;
use thiserror::Error as ThisError;

/// Reason why a file was not loaded.
#[derive(Debug, ThisError)]
pub enum LoadError {
    /// The system refused to read.
    #[error("reading: {0}")]
    Read(io::Error),
    /// The file is damaged, or holds what is not known.
    #[error("{error}{remedy}", error = .0, remedy = remedy(.0))]
    File(#[from] Error),
    /// A key is there twice.
    #[error("the key at byte {at} is there twice")]
    Twice {
        /// Offset of the second one.
        at: u64,
    },
    /// A database that this server does not have.
    #[error("the keys from byte {at} on are of database {number}: raise `databases`")]
    Database {
        /// Offset of the first key.
        at: u64,
        /// Number of the database.
        number: u64,
    },
    /// The address space is used up.
    #[error("there is no room for the key at byte {at}")]
    NoSpace {
        /// Offset of the key.
        at: u64,
    },
    /// The server is to end.
    #[error("given up, since the server ends")]
    GivenUp,
}

/// What the operator can do about damage that is none for servers which do not look.
fn remedy(error: &Error) -> &'static str {
    match error.flaw {
        Flaw::Miscounted { .. } => "; varve-check --fix counts them, and keeps the file as it was",
        _ => "",
    }
}

impl LoadError {
    /// Offset of what is wrong; the end of all where there is none.
    pub(crate) fn at(&self) -> u64 {
        match self {
            LoadError::File(error) => error.at,
            LoadError::Twice { at }
            | LoadError::Database { at, .. }
            | LoadError::NoSpace { at } => *at,
            LoadError::Read(_) | LoadError::GivenUp => u64::MAX,
        }
    }
}
