//! Limits for the length of lines, files and functions, and exceptions from them.

use crate::finding::Report;
use crate::rust::Function;
use crate::source::Source;
use crate::tables::{self, EXCEPTIONS, Exceptions, table};
use crate::tree::Tree;

const WIDTH_MAX: usize = 100;
const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 60;
const FUNCTION_NAME_MAX: usize = 80;

pub fn line_width(tree: &Tree, report: &mut Report) {
    for source in tree.rust_files() {
        for (index, line) in source.text.lines().enumerate() {
            let width = line.chars().count();
            if width > WIDTH_MAX && !line.contains("://") {
                report.add(&source.path, index + 1, format!("{width} columns, {WIDTH_MAX} fit"));
            }
        }
    }
}

pub fn file_lines(tree: &Tree, report: &mut Report) {
    let measured: Vec<Measured> = tree.rust_files().map(measure_file).collect();
    ratchet(tree, &measured, FILE_LINES_MAX, report);
}

pub fn function_lines(tree: &Tree, report: &mut Report) {
    let measured: Vec<Measured> = tree.rust_files().flat_map(measure_functions).collect();
    ratchet(tree, &measured, FUNCTION_LINES_MAX, report);
}

pub fn function_names(tree: &Tree, report: &mut Report) {
    for source in tree.rust_files() {
        for function in &source.rust.functions {
            let length = function.name.chars().count();
            if length > FUNCTION_NAME_MAX {
                let message = format!("a name of {length} characters, {FUNCTION_NAME_MAX} fit");
                report.add(&source.path, *function.lines.start(), message);
            }
        }
    }
}

/// Checks the form of the exceptions; `ratchet` reports those that are not needed.
pub fn exceptions(tree: &Tree, report: &mut Report) {
    for exception in read_exceptions(tree) {
        let (line, reason) = (exception.line, exception.row.reason.trim());
        if !["file_lines", "function_lines"].contains(&exception.row.rule.as_str()) {
            report.add(EXCEPTIONS, line, format!("no exceptions from `{}`", exception.row.rule));
        }
        if reason.split_whitespace().count() < 3 {
            report.add(EXCEPTIONS, line, "a row needs a `reason` that a stranger understands");
        }
    }
}

struct Measured {
    path: String,
    line: usize,
    /// Name of the function; empty for a whole file.
    item: String,
    size: usize,
}

fn measure_file(source: &Source) -> Measured {
    let (path, size) = (source.path.clone(), source.text.lines().count());
    Measured { path, line: 1, item: String::new(), size }
}

fn measure_functions(source: &Source) -> Vec<Measured> {
    let measure = |function: &Function| {
        let (line, size) = (*function.lines.start(), function.lines.clone().count());
        Measured { path: source.path.clone(), line, item: function.name.clone(), size }
    };
    source.rust.functions.iter().map(measure).collect()
}

/// Reports items above their limit, and exceptions that are not needed.
fn ratchet(tree: &Tree, measured: &[Measured], limit: usize, report: &mut Report) {
    let mut exceptions = read_exceptions(tree);
    exceptions.retain(|exception| exception.row.rule == report.rule());
    for found in measured {
        let excused = exceptions.iter().find(|exception| exception.covers(found));
        let limit = excused.map_or(limit, |exception| exception.row.limit);
        if found.size > limit {
            let subject = if found.item.is_empty() { "the file" } else { &found.item };
            let message = format!("{subject} has {} lines, {limit} are allowed", found.size);
            report.add(&found.path, found.line, message);
        }
    }
    for exception in exceptions {
        let needed = measured.iter().any(|it| exception.covers(it) && it.size > limit);
        if !needed {
            let message = format!("{} keeps the rule: remove this row", exception.row.path);
            report.add(EXCEPTIONS, exception.line, message);
        }
    }
}

struct Exception {
    line: usize,
    row: tables::Exception,
}

impl Exception {
    fn covers(&self, measured: &Measured) -> bool {
        self.row.path == measured.path && self.row.function == measured.item
    }
}

fn read_exceptions(tree: &Tree) -> Vec<Exception> {
    let Some(source) = tree.get(EXCEPTIONS) else { return Vec::new() };
    let table: Exceptions = table(Some(source));
    let rows = table.exception.into_iter();
    rows.map(|row| Exception { line: source.line_of(row.span().start), row: row.into_inner() })
        .collect()
}
