//! Result of a benchmark run, and its representations.
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | a [`Report`] of [`Section`]s with tables, plots and figures |
//! | `figure.rs` | a [`Figure`], its aim, its spread, its verdict |
//! | `plot.rs` | lines or bars over an axis, as data |
//! | `compare.rs` | all figures, and their changes since a recorded report: better, same, worse |
//! | `file.rs` | JSON with a version: written during the run, read again, and continued |
//! | `text.rs` | Markdown, which is kept beside the JSON, in columns aligned for a terminal |
//! | `html.rs` | one page with everything, for a phone, a screen or paper |
//! | `drawing.rs`, `scale.rs` | plots as markup, and their axes |
//!
//! Markup and style are in the folder `templates` of the crate.

mod compare;
mod drawing;
mod figure;
mod file;
mod html;
mod plot;
mod scale;
#[cfg(test)]
mod tests;
mod text;

use anyhow::Error;
use askama::Template;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use figure::{Aim, Better, Figure};
pub use file::VERSION;
pub use html::html;
pub use plot::{Axis, Plot};

use crate::statistics::median;

/// Result of a benchmark run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Version of the file; see [`VERSION`].
    pub version: u32,
    /// True if the run came to its end; an interrupted run leaves its sections so far.
    pub complete: bool,
    /// Day on which the run began, in UTC, as `2000-12-31`; empty in files that do not state it.
    #[serde(default)]
    pub date: String,
    /// Conditions of the measurement, such as machine and scale, as name and value.
    pub conditions: Vec<(String, String)>,
    pub sections: Vec<Section>,
}

/// Outcome of a scenario.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    #[default]
    Measured,
    /// Not measured, since it cannot be run yet or not here; with the reason.
    Skipped(String),
    /// Interrupted, with the measurements up to then; with the reason.
    Failed(String),
}

/// Result of one scenario; displayed as Markdown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, Template)]
#[serde(default)]
#[template(path = "section.md")]
pub struct Section {
    /// Name of the scenario's file, without its ending.
    pub name: String,
    pub title: String,
    /// Paper, table or figure that the scenario follows.
    pub source: Option<String>,
    pub state: State,
    /// Parameters at scale 1, as name and value.
    pub settings: Vec<(String, String)>,
    /// Notes that a reader needs to judge the table.
    pub notes: Vec<String>,
    #[serde(flatten)]
    pub table: Table,
    /// Digits behind the point, of each column that has numbers.
    #[serde(skip)]
    pub digits: Vec<Option<usize>>,
    /// Rounds of each measured cell, by row, server and column.
    #[serde(skip)]
    pub rounds: Vec<([String; 3], Vec<f64>)>,
    /// Table of the source at the same place.
    pub paper: Option<Table>,
    pub plots: Vec<Plot>,
    /// Figures that are compared with aims, the source and a recorded result.
    pub figures: Vec<Figure>,
    /// Duration of the scenario in seconds.
    pub seconds: f64,
}

/// Named columns, and rows of as many cells; displayed as Markdown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, Template)]
#[template(path = "table.md")]
pub struct Table {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

impl Section {
    /// Creates a section without rows, whose columns are named as in [`Section::columns`].
    pub fn new(title: impl Into<String>, columns: &str) -> Self {
        let mut section = Self { title: title.into(), ..Self::default() };
        section.columns(columns);
        section
    }

    /// Names the columns of a table that has no rows yet, with bars between the names and the
    /// digits of numbers behind them: `load | server | CPU us/op .3`.
    pub fn columns(&mut self, columns: &str) {
        let column = |text: &str| match text.rsplit_once(" .") {
            Some((name, digits)) => (name.to_owned(), digits.parse().ok()),
            None => (text.to_owned(), None),
        };
        let named = columns.split(" | ").filter(|text| !text.is_empty());
        (self.table.columns, self.digits) = named.map(column).unzip();
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.table.rows.push(cells.into_iter().collect());
    }

    /// Adds a row of the medians of rounds, by column; figures and plots of the file are drawn from
    /// the rounds. What has no rounds, or no number in one of them, was not measured.
    pub fn measured(&mut self, row: &str, server: &str, rounds: &[Vec<f64>]) {
        let mut cells = self.names(row, server);
        let first = cells.len();
        for (at, column) in self.table.columns.iter().enumerate().skip(first) {
            let is_measured = |it: &&Vec<f64>| !it.is_empty() && !it.iter().any(|it| it.is_nan());
            let rounds = rounds.get(at - first).filter(is_measured);
            cells.push(match (rounds, self.digits[at]) {
                (Some(rounds), Some(digits)) => format!("{:.digits$}", median(rounds.clone())),
                _ => "-".to_owned(),
            });
            let place = || [row, server, column].map(str::to_owned);
            self.rounds.extend(rounds.map(|rounds| (place(), rounds.clone())));
        }
        self.row(cells);
    }

    /// Fills the columns named `of SERVER` with the ratio of the first number of each row to that
    /// server's in the row of the same name.
    pub fn fill_ratios(&mut self) {
        let Some(first) = self.digits.iter().position(Option::is_some) else { return };
        let first = &self.table.columns[first];
        let number = |row: &str, server: &str| self.number(row, server, first);
        let mut rows = self.table.rows.clone();
        for (at, column) in self.table.columns.iter().enumerate() {
            let Some((server, digits)) = column.strip_prefix("of ").zip(self.digits[at]) else {
                continue;
            };
            for cells in &mut rows {
                let both = number(&cells[0], &cells[1]).zip(number(&cells[0], server));
                if let Some((own, other)) = both {
                    cells[at] = format!("{:.digits$}", own / other);
                }
            }
        }
        self.table.rows = rows;
    }

    /// Returns the rows (0) or the servers (1) of all rounds, in their order.
    pub fn names_at(&self, at: usize) -> Vec<String> {
        let mut names = Vec::new();
        for (place, _) in &self.rounds {
            if !names.contains(&place[at]) {
                names.push(place[at].clone());
            }
        }
        names
    }

    /// Returns what the rounds measured at a place.
    pub fn rounds_of(&self, row: &str, server: &str, column: &str) -> Option<&[f64]> {
        let place = [row, server, column];
        self.rounds.iter().find(|(it, _)| *it == place).map(|(_, rounds)| &rounds[..])
    }

    /// Returns the median of what was measured at a place.
    pub fn number(&self, row: &str, server: &str, column: &str) -> Option<f64> {
        self.rounds_of(row, server, column).map(|rounds| median(rounds.to_vec()))
    }

    /// Returns the least number of all servers.
    pub fn least(&self, row: &str, column: &str) -> Option<f64> {
        let servers = self.names_at(1);
        servers.iter().filter_map(|it| self.number(row, it, column)).reduce(f64::min)
    }

    /// Sets the last cell of the last row, in a column of words.
    pub fn remark(&mut self, words: String) {
        if let Some(cell) = self.table.rows.last_mut().and_then(|row| row.last_mut()) {
            *cell = words;
        }
    }

    /// Adds a row without numbers. A server may lack a command; any other error marks the section
    /// as failed, and the other rows are still measured.
    pub fn absent(&mut self, row: &str, server: &str, error: &Error) {
        let reason = format!("{error:#}");
        let is_missing = reason.contains("unknown command");
        if !is_missing {
            self.fail(format!("{row}: {reason}"));
        }
        let word = if is_missing { "not there" } else { "failed" };
        self.row(self.names(row, server).into_iter().chain([word.to_owned()]));
    }

    /// Returns the first cells of a row: its name and its server, as far as they have columns.
    fn names(&self, row: &str, server: &str) -> Vec<String> {
        let names = match self.table.columns.first().map(String::as_str) {
            Some("server") => vec![server],
            _ if self.has_servers() => vec![row, server],
            _ => vec![row],
        };
        names.into_iter().map(str::to_owned).collect()
    }

    /// Returns true if rows are told apart by servers.
    pub fn has_servers(&self) -> bool {
        let is_first = self.table.columns.first().is_some_and(|name| name == "server");
        is_first || self.digits.get(1) == Some(&None)
    }

    /// Returns the plot that has the title of this one; adds this one if there is none.
    pub fn plot(&mut self, empty: Plot) -> &mut Plot {
        let known = self.plots.iter().position(|plot| plot.title == empty.title);
        let at = known.unwrap_or_else(|| {
            self.plots.push(empty);
            self.plots.len() - 1
        });
        &mut self.plots[at]
    }

    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Marks the section as interrupted; the first reason counts.
    pub fn fail(&mut self, why: String) {
        if !matches!(self.state, State::Failed(_)) {
            self.state = State::Failed(why);
        }
    }

    /// Returns what a reader must see first: its class in the stylesheet, a word and the reason;
    /// none for a complete section.
    fn warning(&self) -> Option<(&'static str, &'static str, &str)> {
        match &self.state {
            State::Measured => None,
            State::Skipped(why) => Some(("unknown", "SKIPPED", why)),
            State::Failed(why) => Some(("short", "FAILED, and incomplete", why)),
        }
    }

    /// Returns the name that a recorded section is found by.
    fn key(&self) -> &str {
        if self.name.is_empty() { &self.title } else { &self.name }
    }

    /// Returns the name for links. Those of the page itself begin with an underscore.
    fn id(&self) -> String {
        let simple = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
        self.key().chars().map(simple).collect()
    }

    /// Returns the source, and whether its own figures are missing, in words.
    fn origin(&self) -> Option<String> {
        let source = self.source.as_ref()?;
        let is_shown = self.paper.is_some() || self.figures.iter().any(|it| it.paper.is_some());
        let missing = if is_shown { "" } else { PAPER_MISSING };
        Some(format!("After {source}.{missing}"))
    }
}

impl Report {
    /// Name of the condition that holds the processor.
    pub const MACHINE: &str = "machine";
    /// Name of the condition that holds the scale.
    pub const SCALE: &str = "scale";
    /// Name of the condition that holds the share of the cores that others used before the start.
    pub const OTHERS: &str = "cores used by others before the start";

    pub fn new(conditions: Vec<(String, String)>) -> Self {
        let date = Timestamp::now().strftime("%F").to_string();
        Self { version: VERSION, complete: false, date, conditions, sections: Vec::new() }
    }

    /// Returns the share of the cores that others used before the start, in percent, if it is large
    /// enough to spoil the measurements.
    pub fn disturbance(&self) -> Option<f64> {
        let others = self.conditions.iter().filter(|(name, _)| name.starts_with(Self::OTHERS));
        let percents = others.filter_map(|(_, it)| it.strip_suffix(" %")?.parse::<f64>().ok());
        percents.reduce(f64::max).filter(|percent| *percent > QUIET_PERCENT)
    }

    fn condition(&self, name: &str) -> Option<&str> {
        let found = self.conditions.iter().find(|(other, _)| other == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the number of scenarios that were skipped.
    fn skipped(&self) -> usize {
        self.sections.iter().filter(|it| matches!(it.state, State::Skipped(_))).count()
    }

    /// Returns the number of scenarios that were interrupted.
    pub fn failed(&self) -> usize {
        self.sections.iter().filter(|it| matches!(it.state, State::Failed(_))).count()
    }
}

const PAPER_MISSING: &str =
    " The source gives no numbers for this, at most a picture: only what was measured is shown.";
/// Share of the cores below which the machine counts as quiet; kernel and clock take as much.
const QUIET_PERCENT: f64 = 5.0;
