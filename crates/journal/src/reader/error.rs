//! Why a file of commands cannot be read on.

use std::io;

/// Why a file could not be read on.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The disk has failed.
    #[error(transparent)]
    Disk(#[from] io::Error),
    /// The file is not whole.
    #[error("offset {offset}: {why}")]
    Broken {
        /// Offset of the command or line that is wrong, or of the unit that has no end.
        offset: u64,
        /// What is wrong.
        why: Why,
    },
}

/// What is wrong with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Why {
    /// The file ends within a command or a line.
    #[error("the file ends within a command")]
    Ended,
    /// The file ends between MULTI and EXEC.
    #[error("the file ends within a transaction")]
    Unfinished,
    /// The bytes are not a command.
    #[error("there is no command")]
    Format,
    /// The bytes are not those that were written.
    #[error("the bytes before this line do not agree with its checksum")]
    Checksum,
}
