//! CONFIG REWRITE: brings the file in line with the values in force, and keeps the user's comments
//! and order.

use crate::error::RewriteError;
use crate::file::{OBSOLETE, UNSUPPORTED, trim};
use crate::include::read_file;
use crate::live::Settings;
use crate::names::index_of;
use crate::row::{Kind, Row};
use crate::rows::all;
use crate::value::{OutputLimits, Value, default_of, memory_text};
use crate::whole_file::replace_whole;
use std::collections::{HashMap, VecDeque};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

impl Settings {
    /// Replaces the file by one with the values in force, and with these lines `user`. The new file
    /// is complete on disk before it takes the place of the old one.
    ///
    /// # Errors
    /// There is no file, or the system refuses; the old file is then untouched.
    pub fn rewrite(
        &self,
        config_file: Option<&Path>,
        users: &[Vec<u8>],
    ) -> Result<(), RewriteError> {
        self.rewrite_with(config_file, users, Lines::OfChanges)
    }

    /// Does the same, but the new file has a line for every setting that may have another value,
    /// also where it has its default.
    ///
    /// # Errors
    /// Those of `rewrite`.
    pub fn rewrite_all(
        &self,
        config_file: Option<&Path>,
        users: &[Vec<u8>],
    ) -> Result<(), RewriteError> {
        self.rewrite_with(config_file, users, Lines::OfAll)
    }

    fn rewrite_with(
        &self,
        config_file: Option<&Path>,
        users: &[Vec<u8>],
        lines: Lines,
    ) -> Result<(), RewriteError> {
        let path = config_file.ok_or(RewriteError::NoFile)?;
        // One after the other, as each goes on from what the one before has left; and never in the
        // middle of a change, which may be taken back.
        let _unchanged = self.lock_changes();
        // A symbolic link is followed, so that it stays a link.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let failed = |error| RewriteError::Disk { path: path.clone(), error };
        let old = match read_file(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
            read => read.map_err(failed)?,
        };
        replace_whole(&path, &self.rewritten_with(&old, users, lines)).map_err(failed)
    }

    /// Returns the text of a file with the values in force: comments, order and wording of `old`
    /// where they can stay, new lines at the end.
    pub fn rewritten(&self, old: &[u8], users: &[Vec<u8>]) -> Vec<u8> {
        self.rewritten_with(old, users, Lines::OfChanges)
    }

    fn rewritten_with(&self, old: &[u8], users: &[Vec<u8>], lines: Lines) -> Vec<u8> {
        let mut page = Page::of(old);
        for (index, row) in all().enumerate() {
            // A fixed row has one value; the line in the file is valid as it is.
            if matches!(row.kind, Kind::Fixed { .. }) {
                continue;
            }
            for (line, wanted) in self.value(index, |value| lines_for(row, value)) {
                page.put(index, line, wanted || lines == Lines::OfAll);
            }
            page.drop_rest(index);
        }
        users.iter().for_each(|line| page.put(USERS, line.clone(), true));
        page.drop_rest(USERS);
        page.text()
    }
}

/// Lines that a file gets, besides those that it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lines {
    /// Those of settings whose values differ from the defaults.
    OfChanges,
    /// Those of all settings that may have other values.
    OfAll,
}

/// Returns the lines for a setting, each with true if it must be in the file, as its value differs
/// from the default.
fn lines_for(row: &Row, value: &Value) -> Vec<(Vec<u8>, bool)> {
    if let Value::OutputLimits(limits) = value {
        return output_limit_lines(row, limits);
    }
    if let (Kind::ServerOrNone, Value::Text(server)) = (row.kind, value) {
        let line = format!("{} {server}", row.name);
        return if server.is_empty() { Vec::new() } else { vec![(line.into_bytes(), true)] };
    }
    let mut line = row.name.as_bytes().to_vec();
    for word in value.words() {
        line.push(b' ');
        match value {
            Value::Text(_) | Value::Bytes(_) => line.extend(text::quote(&word).bytes()),
            _ if word.is_empty() => line.extend(b"\"\""),
            _ => line.extend(word),
        }
    }
    // The default of a directory depends on the directory in which the server is started.
    let wanted = matches!(row.kind, Kind::Directory) || *value != default_of(row);
    vec![(line, wanted)]
}

fn output_limit_lines(row: &Row, limits: &OutputLimits) -> Vec<(Vec<u8>, bool)> {
    let defaults = OutputLimits::DEFAULT.by_class();
    let line = |((class, limit), (_, default))| {
        let crate::value::OutputLimit { hard_bytes, soft_bytes, soft_seconds } = limit;
        let hard = memory_text(i128::from(hard_bytes));
        let soft = memory_text(i128::from(soft_bytes));
        let line = format!("{} {class} {hard} {soft} {soft_seconds}", row.name);
        (line.into_bytes(), limit != default)
    };
    limits.by_class().into_iter().zip(defaults).map(line).collect()
}

/// File that is being rewritten.
struct Page {
    lines: Vec<Vec<u8>>,
    /// Numbers of the lines about each setting, by its index, that have not been used yet.
    free: HashMap<usize, VecDeque<usize>>,
    signed: bool,
}

impl Page {
    fn of(old: &[u8]) -> Page {
        let mut page = Page { lines: Vec::new(), free: HashMap::new(), signed: false };
        if old.is_empty() {
            return page;
        }
        for line in old.strip_suffix(b"\n").unwrap_or(old).split(|byte| *byte == b'\n') {
            let line = trim(line);
            let mut kept = line.to_vec();
            if line.is_empty() || line.starts_with(b"#") {
                page.signed |= line == SIGNATURE;
            } else {
                match directive(line) {
                    Directive::Setting(index) => {
                        page.free.entry(index).or_default().push_back(page.lines.len());
                    }
                    Directive::Other => {}
                    Directive::Unknown => kept = [b"# ??? ", line].concat(),
                }
            }
            page.lines.push(kept);
        }
        page
    }

    /// Overwrites the next line about the setting, or appends the line if it is wanted.
    fn put(&mut self, index: usize, line: Vec<u8>, wanted: bool) {
        if let Some(at) = self.free.get_mut(&index).and_then(VecDeque::pop_front) {
            self.lines[at] = line;
        } else if wanted {
            if !self.signed {
                self.lines.push(SIGNATURE.to_vec());
                self.signed = true;
            }
            self.lines.push(line);
        }
    }

    /// Blanks the remaining lines about a setting.
    fn drop_rest(&mut self, index: usize) {
        for at in self.free.remove(&index).unwrap_or_default() {
            self.lines[at].clear();
        }
    }

    /// Returns the text of the file, with at most one blank line in a row and none at the end.
    fn text(mut self) -> Vec<u8> {
        self.lines.dedup_by(|next, line| next.is_empty() && line.is_empty());
        while self.lines.last().is_some_and(Vec::is_empty) {
            self.lines.pop();
        }
        let mut text = self.lines.join(&b'\n');
        if !text.is_empty() {
            text.push(b'\n');
        }
        text
    }
}

enum Directive {
    Setting(usize),
    Other,
    Unknown,
}

fn directive(line: &[u8]) -> Directive {
    let Some(words) = text::split_args(line) else { return Directive::Unknown };
    let Some(name) = words.first() else { return Directive::Other };
    if let Some(index) = index_of(name) {
        return Directive::Setting(index);
    }
    let lower = name.to_ascii_lowercase();
    if lower == b"user" {
        return Directive::Setting(USERS);
    }
    let mut others = UNSUPPORTED.iter().map(|(name, _)| name).chain(&OBSOLETE).chain(&["include"]);
    if others.any(|name| name.as_bytes() == lower) { Directive::Other } else { Directive::Unknown }
}

/// Stands for the index of a setting in the place of which lines `user` are.
const USERS: usize = usize::MAX;
const SIGNATURE: &[u8] = b"# Generated by CONFIG REWRITE";

#[cfg(test)]
mod tests;
