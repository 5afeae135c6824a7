//! Reasons why data was not loaded.

use journal::inspect::Inspection;
use journal::manifest::Problem;
use journal::reader::Why;
use journal::set::SetError;
use session::Refusal;
use snapshot::LoadError;
use std::io;
use thiserror::Error;

/// Most bytes of a library that are shown.
const LIBRARY_BEGIN_MAX: usize = 100;

/// Reason why data was not loaded. The operator acts.
#[derive(Debug, Error)]
pub enum LoadFailed {
    /// An RDB file, or a file of commands that begins with one.
    #[error("loading {file}: {error}. {}", remedy(.error))]
    Rdb {
        /// Name of the file, from the working directory on.
        file: String,
        /// What is wrong with it.
        error: LoadError,
    },
    /// A library of functions in an RDB file.
    #[error(
        "loading {file}: a library of functions that begins with {begin:?} cannot be loaded: \
         {reason}. Load the file in the server that has written it, and mend or remove the library \
         there"
    )]
    Library {
        /// Name of the file, from the working directory on.
        file: String,
        /// The first line of the library.
        begin: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The system refused to read an append-only file, or to make ready for it.
    #[error("{doing} {file}: {error}")]
    System {
        /// What was done.
        doing: &'static str,
        /// With which file.
        file: String,
        /// What went wrong.
        error: io::Error,
    },
    /// The set of append-only files.
    #[error("the append-only files in {directory}: {}", words_of(.error))]
    Set {
        /// Directory of the set.
        directory: String,
        /// What is wrong with it.
        error: Box<SetError>,
    },
    /// A file ends too early.
    #[error(
        "Unexpected end of file reading the append only file {file}: {why} at byte {offset}. {} \
         bytes would be cut off from byte {} on. {remedy}", .look.bytes_behind, .look.whole
    )]
    Torn {
        /// Name of the file, from the working directory on.
        file: String,
        /// Where the break is.
        offset: u64,
        /// What it is.
        why: Why,
        /// What can be loaded.
        look: Box<Inspection>,
        /// What the operator can do.
        remedy: String,
    },
    /// A file is damaged, and there is more data behind.
    #[error(
        "Bad file format reading the append only file {file}: {why} at byte {offset}, and this is \
         no torn end. Make a copy, then cut the file there with varve-check --fix {file}"
    )]
    Damaged {
        /// Name of the file, from the working directory on.
        file: String,
        /// Where the damage is.
        offset: u64,
        /// What it is.
        why: Why,
    },
    /// A command that this server does not have, or does not execute from a file.
    #[error(
        "{what} at byte {offset} of the append only file {file}: the file cannot be loaded whole{}",
        if *.can_be_left_out {
            ". Make a copy of the files, then mend this one, or load the rest without such \
             commands with propagation-error-behavior ignore"
        } else {
            ""
        }
    )]
    Command {
        /// Name of the file, from the working directory on.
        file: String,
        /// Where the command is.
        offset: u64,
        /// What is wrong with it.
        what: String,
        /// True if the rest can be loaded without it.
        can_be_left_out: bool,
    },
    /// The server is to end.
    #[error("loading was given up, since the server ends")]
    GivenUp,
}

impl LoadFailed {
    /// Failure of an RDB file.
    pub fn of_rdb(file: &str, error: LoadError) -> LoadFailed {
        match error {
            LoadError::GivenUp => LoadFailed::GivenUp,
            error => LoadFailed::Rdb { file: file.to_owned(), error },
        }
    }

    /// Failure of a library of functions.
    pub fn of_library(file: &str, code: &[u8], refusal: &Refusal) -> LoadFailed {
        let begin = code.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let begin = &begin[..begin.len().min(LIBRARY_BEGIN_MAX)];
        LoadFailed::Library {
            file: file.to_owned(),
            begin: String::from_utf8_lossy(begin).into_owned(),
            reason: String::from_utf8_lossy(refusal.text()).into_owned(),
        }
    }

    /// Failure of the system.
    pub fn of_system(doing: &'static str, file: &str) -> impl Fn(io::Error) -> LoadFailed {
        move |error| LoadFailed::System { doing, file: file.to_owned(), error }
    }
}

/// What the operator can do about an RDB file that is not loaded.
fn remedy(error: &LoadError) -> &'static str {
    match error {
        LoadError::NoSpace { .. } => {
            "Raise the limit of address space (`ulimit -v`, LimitAS= of a service, or \
             vm.overcommit_memory) before the next start"
        }
        _ => "Move the file away, or mend it, before the next start",
    }
}

/// What is wrong with a set, with the words under which operators of other servers know it.
fn words_of(error: &SetError) -> String {
    let words = match error {
        SetError::Missing(name) => {
            return format!("{name} is named in the manifest: No such file or directory");
        }
        SetError::Manifest { error, .. } => match error.problem {
            Problem::Empty => "Found an empty AOF manifest",
            Problem::LineLength => "The AOF manifest file contains too long line",
            Problem::SecondBase => "Found duplicate base file information",
            Problem::Order => "Found a non-monotonic sequence number",
            Problem::Type => "Unknown AOF file type",
            Problem::Format | Problem::Path | Problem::Duplicate => {
                "Invalid AOF manifest file format"
            }
        },
        error => return error.to_string(),
    };
    format!("{words}: {error}")
}
