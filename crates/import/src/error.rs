//! Reasons why an import or a comparison cannot go on.

use check::walk::WalkError;
use std::io;
use thiserror::Error as ThisError;

/// Reason why it cannot go on; the operator acts.
#[derive(Debug, ThisError)]
pub enum Error {
    /// A connection has failed.
    #[error("{0}: {1}")]
    Connection(String, #[source] io::Error),
    /// A server does not do what it must.
    #[error("{address} answered {command} with: {reply}")]
    Refused {
        /// Address of the server.
        address: String,
        /// What it was asked.
        command: String,
        /// What it said.
        reply: String,
    },
    /// A file cannot be read.
    #[error("{0}: {1}")]
    File(String, #[source] io::Error),
    /// A file is damaged.
    #[error("{0}: {1}. What varve-check says of it tells more")]
    Damaged(String, String),
    /// Somebody else has filled the same server.
    #[error("{0}: another varve-import has changed how far it is; it is asked again")]
    Moved(String),
    /// A signal has come.
    #[error("interrupted; {0}")]
    Interrupted(&'static str),
    /// What was asked makes no sense.
    #[error("{0}")]
    Usage(String),
}

impl Error {
    /// Error of walking through a file with this name.
    pub fn walking(name: &str, error: WalkError) -> Error {
        match error {
            WalkError::Read(error) => Error::File(name.to_owned(), error),
            WalkError::File(error) => Error::Damaged(name.to_owned(), error.to_string()),
        }
    }
}
