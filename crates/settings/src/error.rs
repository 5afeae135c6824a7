//! Errors: refusals for clients, faults for the operator.

use std::fmt;
use std::path::PathBuf;

/// Refusal of CONFIG SET; nothing has changed. The text is the reply without `-`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    /// No setting has this name.
    #[error("ERR Unknown option or number of arguments for CONFIG SET - '{}'", name.escape_ascii())]
    Unknown {
        /// Name as the client wrote it.
        name: Vec<u8>,
    },
    /// A setting refused its value, or must not change now.
    #[error("ERR CONFIG SET failed (possibly related to argument '{name}') - {reason}")]
    Refused {
        /// Name of the setting.
        name: String,
        /// Reason, for the reply.
        reason: String,
    },
}

/// Error in the configuration at start. `Display` gives the whole report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct FileError {
    /// File name, `standard input` or `command line`.
    pub source_name: String,
    /// Line within the source, from 1; 0 if the source as a whole is meant.
    pub line_number: usize,
    /// The line, without surrounding white space.
    pub line: String,
    /// Reason, for the report.
    pub reason: String,
    /// Description of the values that are accepted; empty if unknown.
    pub expected: String,
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "*** FATAL CONFIG FILE ERROR (Version {}) ***", env!("CARGO_PKG_VERSION"))?;
        if self.line_number > 0 {
            writeln!(
                f,
                "Reading the configuration file, at line {} of {}",
                self.line_number, self.source_name
            )?;
            writeln!(f, ">>> '{}'", self.line)?;
        } else {
            writeln!(f, "Reading {}", self.source_name)?;
        }
        write!(f, "{}", self.reason)?;
        if !self.expected.is_empty() {
            write!(f, "\nExpected: {}", self.expected)?;
        }
        Ok(())
    }
}

/// Failure of CONFIG REWRITE; the file is unchanged. The text is the reply without `-`.
#[derive(Debug, thiserror::Error)]
pub enum RewriteError {
    /// The server was started without a file.
    #[error("ERR The server is running without a config file")]
    NoFile,
    /// The file could not be read or replaced.
    #[error("ERR Rewriting config file: {error}", error = system_text(.error))]
    Disk {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system call.
        error: std::io::Error,
    },
}

/// Returns the system's text for an error, without the number that Rust adds.
pub fn system_text(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error ") {
        Some(end) => text[..end].to_owned(),
        None => text,
    }
}
