//! How long a line, a file and a function may be, and who is excused.

use crate::finding::Report;
use crate::source::Source;
use crate::tokens::functions;
use crate::toml::{Entry, entries};
use crate::tree::Tree;

const WIDTH_MAX: usize = 100;
const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 60;
const EXCEPTIONS: &str = "xtask/exceptions.toml";

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

/// The form of the rows; whether they are still needed is the ratchet's to say.
pub fn exceptions(tree: &Tree, report: &mut Report) {
    for exception in read_exceptions(tree) {
        let (line, reason) = (exception.line, exception.reason.trim());
        if !["file_lines", "function_lines"].contains(&exception.rule.as_str()) {
            report.add(EXCEPTIONS, line, format!("no exceptions from `{}`", exception.rule));
        }
        if reason.split_whitespace().count() < 3 {
            report.add(EXCEPTIONS, line, "a row needs a `reason` that a stranger understands");
        }
    }
}

struct Measured {
    path: String,
    line: usize,
    /// The function's name; empty for a whole file.
    item: String,
    size: usize,
}

fn measure_file(source: &Source) -> Measured {
    let (path, size) = (source.path.clone(), source.text.lines().count());
    Measured { path, line: 1, item: String::new(), size }
}

fn measure_functions(source: &Source) -> Vec<Measured> {
    let measure = |function: crate::tokens::Function| {
        let line = source.line_of(function.span.start);
        let size = source.line_of(function.span.end - 1) - line + 1;
        Measured { path: source.path.clone(), line, item: function.name, size }
    };
    functions(source).into_iter().map(measure).collect()
}

/// Reports what is over its limit, and the exceptions that nothing needs any more.
fn ratchet(tree: &Tree, measured: &[Measured], limit: usize, report: &mut Report) {
    let mut exceptions = read_exceptions(tree);
    exceptions.retain(|exception| exception.rule == report.rule());
    for found in measured {
        let excused = exceptions.iter().find(|exception| exception.covers(found));
        let limit = excused.map_or(limit, |exception| exception.limit);
        if found.size > limit {
            let subject = if found.item.is_empty() { "the file" } else { &found.item };
            let message = format!("{subject} has {} lines, {limit} are allowed", found.size);
            report.add(&found.path, found.line, message);
        }
    }
    for exception in exceptions {
        let needed = measured.iter().any(|it| exception.covers(it) && it.size > limit);
        if !needed {
            let message = format!("{} keeps the rule: remove this row", exception.path);
            report.add(EXCEPTIONS, exception.line, message);
        }
    }
}

/// One `[[exception]]`.
#[derive(Default)]
struct Exception {
    line: usize,
    rule: String,
    path: String,
    function: String,
    limit: usize,
    reason: String,
}

impl Exception {
    fn covers(&self, measured: &Measured) -> bool {
        self.path == measured.path && self.function == measured.item
    }

    fn set(&mut self, entry: &Entry) {
        let text = entry.string().to_owned();
        match entry.key.as_str() {
            "rule" => self.rule = text,
            "path" => self.path = text,
            "function" => self.function = text,
            "reason" => self.reason = text,
            "limit" => self.limit = entry.number().unwrap_or(0),
            _ => {}
        }
    }
}

fn read_exceptions(tree: &Tree) -> Vec<Exception> {
    let rows = tree.get(EXCEPTIONS).map_or_else(Vec::new, |source| entries(&source.text));
    let mut found: Vec<Exception> = Vec::new();
    let mut table_number = 0;
    for row in &rows {
        if row.table_number != table_number {
            table_number = row.table_number;
            found.push(Exception { line: row.line, ..Exception::default() });
        }
        if let Some(exception) = found.last_mut() {
            exception.set(row);
        }
    }
    found
}
