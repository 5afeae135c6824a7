//! Reports as Markdown, in tables that are aligned for a terminal too.

use askama::Template;

use super::compare::{Comparison, Row};
use super::{Report, Section, Table};

#[derive(Template)]
#[template(path = "report.md")]
struct Markdown<'a> {
    title: &'a str,
    report: &'a Report,
    refusal: Option<String>,
    /// Figures with aims.
    aimed: Table,
}

impl Report {
    /// Renders the report below this heading, with the change of each figure that has an aim if
    /// there is a recorded report.
    pub fn markdown(&self, title: &str, recorded: Option<&Self>) -> String {
        let comparison = Comparison::new(self, recorded);
        let (refusal, aimed) = (comparison.refusal(), figures(comparison.aimed()));
        Markdown { title, report: self, refusal, aimed }.to_string()
    }

    /// Renders the figures that have an aim, and those that are worse than recorded.
    pub fn summary(&self, recorded: Option<&Self>) -> String {
        let comparison = Comparison::new(self, recorded);
        let (aimed, worse) = (figures(comparison.aimed()), figures(comparison.worse()));
        let against = match (recorded, comparison.refusal()) {
            (None, _) => String::new(),
            (_, Some(refusal)) => format!("\n{refusal}\n"),
            _ if worse.rows.is_empty() => {
                "\nNothing is worse than in the recorded result.\n".to_owned()
            }
            _ => format!("\n## Worse than in the recorded result\n\n{worse}"),
        };
        format!("## What must hold\n\n{aimed}{against}")
    }
}

impl Section {
    pub(super) fn figure_table(&self) -> Table {
        figures(self.rows())
    }
}

/// Renders figures as a table without the columns in which none has anything; the scenario is named
/// where they are of several.
pub(super) fn figures<'a>(rows: impl IntoIterator<Item = Row<'a>>) -> Table {
    let cells = |row: Row<'_>| {
        let figure = row.figure;
        vec![
            figure.what.clone(),
            figure.measured_text(),
            figure.spread_text(),
            figure.aim_text(),
            figure.text_of(figure.paper),
            figure.verdict().to_owned(),
            figure.text_of(row.recorded),
            row.change_text(),
            row.section.key().to_owned(),
        ]
    };
    let columns =
        ["what", "measured", "spread", "aim", "paper", "verdict", "recorded", "change", "scenario"];
    let rows = rows.into_iter().map(cells).collect();
    let mut table = Table { columns: columns.map(str::to_owned).to_vec(), rows };
    for column in (0..columns.len()).rev() {
        let mut cells = table.rows.iter().map(|row| &row[column]);
        let first = table.rows.first().map(|row| row[column].clone()).unwrap_or_default();
        if (first == "-" || columns[column] == "scenario") && cells.all(|cell| *cell == first) {
            table.columns.remove(column);
            table.rows.iter_mut().for_each(|row| drop(row.remove(column)));
        }
    }
    table
}

impl Table {
    /// Returns the width of each column in a text.
    pub(super) fn widths(&self) -> Vec<usize> {
        let width = |(column, name): (usize, &String)| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.chain([name]).map(|cell| cell.chars().count()).fold(3, usize::max)
        };
        self.columns.iter().enumerate().map(width).collect()
    }
}
