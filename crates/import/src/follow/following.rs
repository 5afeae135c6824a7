//! What is asked for.

use crate::address::Address;
use crate::run::Options;
use std::path::PathBuf;
use std::time::Duration;

/// What is asked for besides what every import is.
#[derive(Clone, Debug)]
pub struct Following {
    /// The server that is followed.
    pub source: Address,
    /// What is asked for.
    pub options: Options,
    /// True if the target may be emptied at first.
    pub replaces: bool,
    /// How long writes may be held back at the source for clients to be switched.
    pub cut_over: Duration,
    /// Where files are made of what has come and was not applied yet.
    pub directory: PathBuf,
}
