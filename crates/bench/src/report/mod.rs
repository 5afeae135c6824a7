//! What a run of the benchmark brought, and the ways in which it is shown.
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | a [`Report`] of [`Section`]s with tables, plots and figures |
//! | `figure.rs` | a [`Figure`], its aim, its spread, its verdict |
//! | `plot.rs` | lines or bars over an axis, as data |
//! | `compare.rs` | a [`Comparison`] with what was recorded: better, the same, worse |
//! | `file.rs` | JSON with a version: written while the run goes on, and read again |
//! | `resume.rs` | a run that goes on where an earlier one was broken off |
//! | `text.rs` | aligned columns for a terminal, tables for Markdown |
//! | `html.rs` | one page with everything, for a phone, a screen or paper |
//! | `markdown.rs` | the summary that is kept beside the JSON |
//! | `svg.rs` | plots as pictures |

mod compare;
mod date;
mod escape;
mod figure;
mod file;
mod html;
mod markdown;
mod plot;
mod resume;
mod svg;
mod text;

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

pub use compare::{Change, Comparison, Judgement};
pub use date::date;
pub use figure::{Aim, Better, Figure};
pub use file::VERSION;
pub use html::html;
pub use plot::{Axis, Line, Plot, Shape};

use figure::FIGURE_COLUMNS;
use text::{aligned, strings};

/// Everything a run of the benchmark brought.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Version of the file; see [`VERSION`].
    pub version: u32,
    /// Whether the run came to its end; a run that was broken off leaves what it had.
    pub complete: bool,
    /// Day on which it was begun, in UTC, as `2000-12-31`; empty in files that do not tell.
    #[serde(default)]
    pub date: String,
    /// Where and how it was measured, as name and value.
    pub conditions: Vec<(String, String)>,
    /// One per scenario.
    pub sections: Vec<Section>,
}

/// What became of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// All of it was measured.
    #[default]
    Measured,
    /// It cannot be run yet, or not here; why.
    Skipped(String),
    /// It was broken off: what is there was measured before; why.
    Failed(String),
}

/// What one scenario brought.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Section {
    /// Name of the scenario's file, without its ending.
    #[serde(default)]
    pub name: String,
    /// Heading.
    pub title: String,
    /// Paper, table or figure that it follows.
    #[serde(default)]
    pub source: Option<String>,
    /// What became of it.
    #[serde(default)]
    pub state: State,
    /// Parameters at scale 1, as name and value.
    #[serde(default)]
    pub settings: Vec<(String, String)>,
    /// What a reader must know to judge the table.
    pub notes: Vec<String>,
    /// What was measured.
    #[serde(flatten)]
    pub table: Table,
    /// What the source has at the same place.
    #[serde(default)]
    pub paper: Option<Table>,
    /// Pictures of it.
    #[serde(default)]
    pub plots: Vec<Plot>,
    /// What is held against aims, the source, and what was recorded.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// How long it took, in seconds.
    #[serde(default)]
    pub seconds: f64,
}

/// Named columns, and rows of as many cells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Cells.
    pub rows: Vec<Vec<String>>,
}

impl Section {
    /// An empty section.
    pub fn new(title: impl Into<String>, columns: &[&str]) -> Self {
        let table = Table { columns: strings(columns), rows: Vec::new() };
        Self { title: title.into(), table, ..Self::default() }
    }

    /// Names the columns of a table that has no rows yet.
    pub fn columns(&mut self, columns: &[&str]) {
        self.table.columns = strings(columns);
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.table.rows.push(cells.into_iter().collect());
    }

    /// Adds a note.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Adds a figure of which lower is better.
    pub fn finding(&mut self, what: impl Into<String>, measured: Option<f64>, unit: &'static str) {
        self.figures.push(Figure::new(what, measured, unit));
    }

    /// As [`Section::finding`], where higher is better.
    pub fn gain(&mut self, what: impl Into<String>, measured: Option<f64>, unit: &'static str) {
        self.figures.push(Figure::new(what, measured, unit).more_is_better());
    }

    /// Adds a plot.
    pub fn plot(&mut self, plot: Plot) {
        self.plots.push(plot);
    }

    /// The section as aligned text, its figures behind the table.
    pub fn text(&self) -> String {
        let mut text = format!("== {}\n", self.title);
        if let Some(line) = self.state_line() {
            text += &format!("   {line}\n");
        }
        self.notes.iter().for_each(|note| text += &format!("   {note}\n"));
        if !self.table.rows.is_empty() {
            text += &aligned(&self.table.columns, &self.table.rows);
        }
        if !self.figures.is_empty() {
            text += &figures_text(&self.figures);
        }
        text
    }

    /// Whether it follows a source whose own figures are not shown.
    pub fn lacks_paper(&self) -> bool {
        let has_figure = self.figures.iter().any(|figure| figure.paper.is_some());
        self.source.is_some() && self.paper.is_none() && !has_figure
    }

    /// Marks it as broken off; the first reason counts.
    pub fn fail(&mut self, why: String) {
        if !matches!(self.state, State::Failed(_)) {
            self.state = State::Failed(why);
        }
    }

    /// What a reader must be told first; nothing for a section that is whole.
    pub fn state_line(&self) -> Option<String> {
        match &self.state {
            State::Measured => None,
            State::Skipped(why) => Some(format!("SKIPPED: {why}")),
            State::Failed(why) => Some(format!("FAILED, and incomplete: {why}")),
        }
    }
}

impl Report {
    /// Name of the condition that says on which processor it was measured.
    pub const MACHINE: &str = "machine";
    /// Name of the condition that says which part of the whole size was measured.
    pub const SCALE: &str = "scale";
    /// Name of the condition that says which part of the cores others used before the start.
    pub const OTHERS: &str = "cores used by others before the start";

    /// A report that has only begun.
    pub fn new(conditions: Vec<(String, String)>) -> Self {
        let date = date(SystemTime::now());
        Self { version: VERSION, complete: false, date, conditions, sections: Vec::new() }
    }

    /// All figures of all sections.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.sections.iter().flat_map(|section| &section.figures)
    }

    /// All figures with an aim as aligned text: aim, measured, verdict.
    pub fn summary(&self) -> String {
        let aimed: Vec<_> = self.figures().filter(|it| it.aim.is_some()).cloned().collect();
        format!("== What must hold\n{}", figures_text(&aimed))
    }

    /// Part of the cores that others used before the start, in percent, if that is so much that
    /// it spoils what is measured.
    pub fn disturbance(&self) -> Option<f64> {
        let parts = self.condition(Self::OTHERS)?.split(LATER);
        let percents = parts.filter_map(|it| it.strip_suffix(" %")?.parse::<f64>().ok());
        percents.reduce(f64::max).filter(|percent| *percent > QUIET_PERCENT)
    }

    fn condition(&self, name: &str) -> Option<&str> {
        let found = self.conditions.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Whether a scenario was broken off.
    pub fn has_failed(&self) -> bool {
        self.sections.iter().any(|section| matches!(section.state, State::Failed(_)))
    }
}

/// What is said where a source is followed and its figures are missing.
const PAPER_MISSING: &str =
    "The source's own figures are not known here: only what was measured is shown.";
/// Between conditions of runs that follow each other.
const LATER: &str = "; later ";
/// Of the cores; the kernel and the clock take as much.
const QUIET_PERCENT: f64 = 5.0;

fn figures_text(figures: &[Figure]) -> String {
    let rows: Vec<_> = figures.iter().map(Figure::cells).collect();
    aligned(&strings(&FIGURE_COLUMNS), &rows)
}

#[cfg(test)]
mod tests {
    use super::{Section, State};

    #[test]
    fn columns_are_aligned() {
        let mut section = Section::new("t", &["name", "n"]);
        section.row(["a".to_owned(), "100".to_owned()]);
        section.row(["bcdefg".to_owned(), "1".to_owned()]);
        assert_eq!(section.text(), "== t\n   name      n\n   a       100\n   bcdefg    1\n");
    }

    #[test]
    fn a_section_that_was_broken_off_says_so_before_its_rows() {
        let mut section = Section::new("t", &["n"]);
        section.row(["1".to_owned()]);
        section.state = State::Failed("the server died".to_owned());
        let text = section.text();
        assert_eq!(text, "== t\n   FAILED, and incomplete: the server died\n   n\n   1\n");
    }
}
