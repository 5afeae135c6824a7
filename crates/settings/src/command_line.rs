//! Configuration at start: a file, standard input and options, in this order; later ones win.

use crate::error::{FileError, system_text};
use crate::file::{Sources, load_text};
use crate::include::{read_all, read_file};
use crate::live::Settings;
use std::ffi::{OsStr, OsString};
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::Arc;

/// Action that the arguments of the program ask for.
#[derive(Debug)]
pub enum Invocation {
    /// `--help` or `-h`.
    Help,
    /// `--version` or `-v`.
    Version,
    /// Serve with these settings.
    Serve(Loaded),
}

/// Settings at start.
#[derive(Debug)]
pub struct Loaded {
    /// Values, ready to be shared by all threads.
    pub settings: Arc<Settings>,
    /// Absolute path of the file that CONFIG REWRITE writes; none if the server has no file.
    pub config_file: Option<PathBuf>,
    /// Notices to log: lines of files that have no effect.
    pub notices: Vec<String>,
}

/// Reads `[file|-] [--name value ...] [-]`; the arguments come without the program's name.
///
/// # Errors
/// The first line or option that is wrong, or the file that cannot be read.
pub fn load(
    arguments: impl IntoIterator<Item = OsString>,
    stdin: &mut dyn Read,
) -> Result<Invocation, FileError> {
    let arguments: Vec<Vec<u8>> = arguments.into_iter().map(OsString::into_vec).collect();
    match arguments.first().map(Vec::as_slice) {
        Some(b"-h" | b"--help") => return Ok(Invocation::Help),
        Some(b"-v" | b"--version") => return Ok(Invocation::Version),
        _ => {}
    }
    let request = Request::of(&arguments);
    let settings = Settings::new();
    let mut notices = Vec::new();
    let mut read = |name: &str, text: &[u8]| {
        load_text(&settings, name, text, Sources::Disk).map(|more| notices.extend(more))
    };
    if let Some(path) = &request.config_file {
        let shown = path.display().to_string();
        let text = read_file(path).map_err(|error| unreadable(&shown, &error))?;
        read(&shown, &text)?;
    }
    if request.from_stdin {
        let text = read_all(stdin).map_err(|error| unreadable("standard input", &error))?;
        read("standard input", &text)?;
    }
    read("the command line", &request.options)?;
    let settings = Arc::new(settings);
    Ok(Invocation::Serve(Loaded { settings, config_file: request.config_file, notices }))
}

fn unreadable(name: &str, error: &std::io::Error) -> FileError {
    FileError {
        source_name: name.to_owned(),
        line_number: 0,
        line: String::new(),
        reason: format!("can't open config file '{name}': {}", system_text(error)),
        expected: String::new(),
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Request {
    config_file: Option<PathBuf>,
    from_stdin: bool,
    /// Options as lines of a configuration file.
    options: Vec<u8>,
}

impl Request {
    fn of(arguments: &[Vec<u8>]) -> Request {
        let mut request = Request::default();
        let mut first = 0;
        if let Some(path) = arguments.first().filter(|word| !word.starts_with(b"-")) {
            let path = PathBuf::from(OsStr::from_bytes(path));
            request.config_file = Some(std::path::absolute(&path).unwrap_or(path));
            first = 1;
        }
        // A name takes at least one value, so that a value may start with `--` too.
        let mut wants_value = false;
        for (at, argument) in arguments.iter().enumerate().skip(first) {
            if argument == b"-" && (at == 0 || at + 1 == arguments.len()) {
                request.from_stdin = true;
            } else if let (false, Some(name)) = (wants_value, argument.strip_prefix(b"--")) {
                let next = arguments.get(at + 1).map(Vec::as_slice);
                wants_value = request.option_name(name, next);
            } else {
                request.options.extend_from_slice(text::quote(argument).as_bytes());
                request.options.push(b' ');
                wants_value = false;
            }
        }
        request
    }

    /// Starts a line. Returns true if the name still needs a value.
    fn option_name(&mut self, name: &[u8], next: Option<&[u8]>) -> bool {
        if !self.options.is_empty() {
            self.options.push(b'\n');
        }
        self.options.extend_from_slice(name);
        self.options.push(b' ');
        if text::split_args(name).is_none_or(|words| words.len() != 1) {
            return false;
        }
        // Scripts that build a command line from an empty list produce a bare `--save`.
        let bare = next.is_none_or(|next| next.starts_with(b"--"));
        if bare && name.eq_ignore_ascii_case(b"save") {
            self.options.extend_from_slice(b"\"\"");
            return false;
        }
        true
    }
}

#[cfg(test)]
mod tests;
