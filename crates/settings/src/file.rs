//! Reading a configuration file: one directive per line, later ones win.

use crate::error::{FileError, system_text};
use crate::include::{files_named, read_file};
use crate::live::{Settings, UserLine};
use crate::names::lookup;
use crate::row::Row;
use crate::rows::general::DIR;
use crate::rows::row_at;
use crate::value::{Value, expected, parse_over};
use std::path::Path;

/// Place where `include` finds files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sources {
    /// Files on the disk of this machine.
    Disk,
    /// Nowhere: `include` is an error.
    Nowhere,
}

/// Applies the lines of `text`. `source_name` is for error messages. Returns notices for the
/// operator about lines that are no errors but have no effect.
///
/// # Errors
/// The first line that is wrong. The lines before it are in force.
pub fn load_text(
    settings: &Settings,
    source_name: &str,
    text: &[u8],
    sources: Sources,
) -> Result<Vec<String>, FileError> {
    let mut reader = Reader { settings, sources, depth: 0, files_left: FILES_MAX, notices: vec![] };
    reader.source(source_name, text)?;
    Ok(reader.notices)
}

struct Reader<'a> {
    settings: &'a Settings,
    sources: Sources,
    depth: usize,
    files_left: usize,
    notices: Vec<String>,
}

/// Error in a line, before its line number is known.
enum Wrong {
    Here { reason: String, expected: String },
    InIncluded(FileError),
}

impl Wrong {
    fn reason(reason: impl Into<String>) -> Wrong {
        Wrong::Here { reason: reason.into(), expected: String::new() }
    }

    fn value(row: &Row, reason: impl Into<String>) -> Wrong {
        Wrong::Here { reason: reason.into(), expected: format!("{} {}", row.name, expected(row)) }
    }
}

impl Reader<'_> {
    fn source(&mut self, name: &str, text: &[u8]) -> Result<(), FileError> {
        for (at, line) in text.split(|byte| *byte == b'\n').enumerate() {
            let line = trim(line);
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            let place = format!("{name}, line {}", at + 1);
            self.line(line, &place).map_err(|wrong| match wrong {
                Wrong::InIncluded(error) => error,
                Wrong::Here { reason, expected } => FileError {
                    source_name: name.to_owned(),
                    line_number: at + 1,
                    line: String::from_utf8_lossy(line).into_owned(),
                    reason,
                    expected,
                },
            })?;
        }
        Ok(())
    }

    fn line(&mut self, line: &[u8], place: &str) -> Result<(), Wrong> {
        let words = text::split_args(line).ok_or_else(|| Wrong::reason(UNBALANCED))?;
        let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
        let Some((name, arguments)) = words.split_first() else { return Ok(()) };
        if let Some((index, _)) = lookup(name) {
            self.setting(index, arguments)
        } else {
            self.directive(&name.to_ascii_lowercase(), arguments, place)
        }
    }

    fn setting(&mut self, index: usize, words: &[&[u8]]) -> Result<(), Wrong> {
        let row = row_at(index);
        if !row.takes_words() && words.len() != 1 {
            return Err(Wrong::value(row, "wrong number of arguments"));
        }
        // `--bind "a b"` on a command line arrives as one word.
        let split = match words {
            [one] if row.takes_words() && !one.is_empty() => {
                Some(text::split_args(one).ok_or_else(|| Wrong::reason(UNBALANCED))?)
            }
            _ => None,
        };
        let split: Option<Vec<&[u8]>> =
            split.as_ref().map(|words| words.iter().map(Vec::as_slice).collect());
        let words = split.as_deref().unwrap_or(words);
        let before = self.settings.value(index, Value::clone);
        let value = parse_over(row, words, &before).map_err(|reason| Wrong::value(row, reason))?;
        self.settings.store(&[(index, before.followed_by(value))]);
        Ok(())
    }

    /// Handles a directive that is not a setting.
    fn directive(&mut self, name: &[u8], words: &[&[u8]], place: &str) -> Result<(), Wrong> {
        let name = String::from_utf8_lossy(name);
        if name == "include" && words.len() == 1 {
            return self.include(words[0]);
        }
        if name == "user" && !words.is_empty() {
            let words = words.iter().map(|word| word.to_vec()).collect();
            self.settings.add_user_line(UserLine { place: place.to_owned(), words });
            return Ok(());
        }
        if let Some((_, why)) = UNSUPPORTED.iter().find(|(known, _)| *known == name) {
            return Err(Wrong::reason(*why));
        }
        if OBSOLETE.contains(&&*name) && words.len() == 1 {
            self.notices.push(format!("{place}: '{name}' has no effect: it is obsolete"));
            return Ok(());
        }
        Err(Wrong::reason("Bad directive or wrong number of arguments"))
    }

    fn include(&mut self, pattern: &[u8]) -> Result<(), Wrong> {
        if self.sources == Sources::Nowhere {
            return Err(Wrong::reason("include is not possible here"));
        }
        if self.depth == DEPTH_MAX {
            return Err(Wrong::reason(format!(
                "files include each other more than {DEPTH_MAX} deep"
            )));
        }
        let base = DIR.get(self.settings);
        for path in files_named(pattern, Path::new(&*base)) {
            let shown = path.display().to_string();
            self.files_left = self.files_left.checked_sub(1).ok_or_else(|| {
                Wrong::reason(format!("more than {FILES_MAX} files are included"))
            })?;
            let bytes = read_file(&path).map_err(|error| {
                Wrong::reason(format!("can't open config file '{shown}': {}", system_text(&error)))
            })?;
            self.depth += 1;
            self.source(&shown, &bytes).map_err(Wrong::InIncluded)?;
            self.depth -= 1;
        }
        Ok(())
    }
}

/// Returns a line without the white space around it.
pub(crate) fn trim(line: &[u8]) -> &[u8] {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\r');
    let start = line.iter().position(|byte| !blank(byte)).unwrap_or(line.len());
    let end = line.iter().rposition(|byte| !blank(byte)).map_or(start, |last| last + 1);
    &line[start..end]
}

const UNBALANCED: &str = "Unbalanced quotes in configuration line";
const DEPTH_MAX: usize = 16;
const FILES_MAX: usize = 1000;
/// Directives of Valkey that are not settings and not supported, with what to do.
pub(crate) const UNSUPPORTED: [(&str, &str); 3] = [
    (
        "rename-command",
        "renaming commands is not supported by this version of Varve: remove the line if every \
         client may use the command by its own name",
    ),
    (
        "loadmodule",
        "modules are not supported by this version of Varve: remove the line if no client and no \
         key needs the module",
    ),
    ("sentinel", "Varve is no Sentinel: give this file to Valkey's, or remove the line"),
];
/// Obsolete settings that Valkey ignores too.
pub(crate) const OBSOLETE: [&str; 7] = [
    "list-max-ziplist-entries",
    "list-max-ziplist-value",
    "lua-replicate-commands",
    "io-threads-do-reads",
    "dynamic-hz",
    "events-per-io-thread",
    "sanitize-dump-payload",
];

#[cfg(test)]
mod tests;
