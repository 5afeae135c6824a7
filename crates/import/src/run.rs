//! State of an import.

use crate::address::Address;
use crate::compare::Rules;
use crate::meter::Meter;
use crate::resume::{Mark, Resume};
use crate::scope::Scope;
use crate::server::Server;
use crate::stop::Stop;
use crate::tally::Tally;
use crate::usage::Usage;
use std::path::PathBuf;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// The server that is filled.
    pub target: Address,
    /// Connections to it.
    pub connections: usize,
    /// Use of keys that is taken over from a server.
    pub usage: Option<Usage>,
    /// File that keeps how far it has come.
    pub resume: Option<PathBuf>,
    /// True if function libraries are taken over.
    pub takes_functions: bool,
    /// True if progress is shown.
    pub shows_progress: bool,
    /// True if a server is compared at the end.
    pub compares: bool,
    /// Which databases and keys are taken.
    pub scope: Scope,
    /// True if a server that is full is waited for.
    pub waits_when_full: bool,
    /// How it is compared.
    pub rules: Rules,
    /// What a signal does.
    pub stop: Stop,
}

/// State of an import.
#[derive(Debug)]
pub struct Run<'r> {
    pub(crate) options: &'r Options,
    /// The server that is filled.
    pub(crate) server: &'r Server,
    pub(crate) tally: &'r Tally,
    pub(crate) meter: Meter,
    pub(crate) resume: Resume,
    /// Bytes of the files before the present one.
    pub(crate) bytes_before: u64,
    /// Number of the database that is selected at the present place of a file of commands.
    pub(crate) selected: u64,
}

impl Run<'_> {
    /// A mark in a file of commands.
    pub(crate) fn mark_of(&self, database: u64) -> Mark {
        Mark { database, ..Mark::default() }
    }
}
