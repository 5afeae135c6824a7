//! What a start would say of settings, without starting anything.

use crate::{tls, users};
use command::Table;
use command::rights::catalog_of;
use session::AccessControl;
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
