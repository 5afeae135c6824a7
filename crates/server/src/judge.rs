//! What a start would say of settings and of function libraries, without starting anything.

use crate::load::{LoadFailed, add_libraries_to};
use crate::{tls, users};
use base::Stopwatch;
use command::Table;
use command::rights::catalog_of;
use session::{AccessControl, LibraryTable};
use settings::{FileError, Invocation, Settings, general};
use std::env;
use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

/// What a start would say of settings.
#[derive(Debug, Default)]
pub struct Judgement {
    /// Reasons why the server would not start.
    pub problems: Vec<String>,
    /// What it would warn of.
    pub notices: Vec<String>,
}

/// Judges the settings of a file, its users, and the files that it names for users and for TLS.
/// Changes to the directory of `dir`, where a server would look for them.
///
/// # Errors
/// The first line that is wrong, or that the file cannot be read.
pub fn judge(file: PathBuf, table: &Table) -> Result<Judgement, FileError> {
    let words = [OsString::from(file)];
    let Invocation::Serve(loaded) = settings::load(words, &mut io::empty())? else {
        // A path that reads as an option is no file.
        return Ok(Judgement::default());
    };
    let mut judgement = Judgement { notices: loaded.notices, problems: Vec::new() };
    judgement.add(&loaded.settings, table);
    Ok(judgement)
}

impl Judgement {
    fn add(&mut self, settings: &Settings, table: &Table) {
        let dir = general::DIR.get(settings);
        if let Err(error) = env::set_current_dir(&*dir) {
            self.problems.push(format!("changing to the directory of `dir`, {dir}: {error}"));
            return;
        }
        let access = AccessControl::new(catalog_of(table), settings);
        if let Err(error) = users::load(&access, settings) {
            self.problems.push(error.to_string());
        }
        match tls::judge(settings) {
            Ok(warnings) => self.notices.extend(warnings),
            Err(error) => self.problems.push(format!("Failed to configure TLS: {error}")),
        }
    }
}

/// Judges the function libraries of a file, as a server with default settings loads them.
///
/// # Errors
/// Why it refuses them, with the first line of the library.
pub fn judge_libraries(codes: &[Vec<u8>]) -> Result<(), String> {
    let (settings, stopwatch) = (Settings::new(), Stopwatch::calibrate());
    let mut table = LibraryTable::default();
    let added = add_libraries_to(&mut table, (&settings, &stopwatch), ("", false), codes);
    added.map_err(|error| match error {
        LoadFailed::Library { begin, reason, .. } => format!("the library '{begin}': {reason}"),
        other => other.to_string(),
    })
}
