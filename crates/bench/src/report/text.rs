//! Reports as aligned text for a terminal, and as Markdown for readers of the repository.

use askama::Template;

use super::{Change, Comparison, Report, Row, Section, Table};

#[derive(Template)]
#[template(path = "report.md")]
struct Markdown<'a> {
    title: &'a str,
    report: &'a Report,
    refusal: Option<String>,
    /// Figures with aims.
    aimed: Table,
    /// Sections and their figures without aims.
    sections: Vec<(&'a Section, Table)>,
}

impl Report {
    /// Renders all figures with an aim as aligned text.
    pub fn summary(&self) -> String {
        let rows = self.rows(None).into_iter().filter(|row| row.figure.aim.is_some());
        format!("== What must hold\n{}", figures(rows).aligned())
    }

    /// Renders the report as Markdown below this heading, with the change of each figure that has
    /// an aim if there is a recorded result to compare with.
    pub fn markdown(&self, title: &str, comparison: Option<&Comparison>) -> String {
        let (aimed, others): (Vec<_>, Vec<_>) =
            self.rows(comparison).into_iter().partition(|row| row.figure.aim.is_some());
        let found = |number| {
            let rows = others.iter().filter(move |row| row.section == number);
            let rows = rows.filter(|row| row.figure.measured.is_some());
            figures(rows.map(|row| Row { change: None, ..*row }))
        };
        let sections = self.sections.iter().enumerate().map(|(at, section)| (section, found(at)));
        let (aimed, sections) = (figures(aimed), sections.collect());
        let refusal = comparison.and_then(Comparison::refusal);
        let text = Markdown { title, report: self, refusal, aimed, sections }.render();
        text.expect("writing to a string cannot fail")
    }
}

impl Section {
    /// Renders the section as aligned text, its figures behind the table.
    pub fn text(&self) -> String {
        let warning = self.warning().map(|(_, _, word, why)| format!("{word}: {why}"));
        let lines = warning.iter().chain(&self.notes).map(|line| format!("   {line}\n"));
        let rows = self.figures.iter().map(|figure| Row { section: 0, figure, change: None });
        let tables = [&self.table, &figures(rows)].map(Table::aligned).concat();
        format!("== {}\n{}{tables}", self.title, lines.collect::<String>())
    }
}

/// Renders figures as a table without the columns in which none has anything.
fn figures<'a>(rows: impl IntoIterator<Item = Row<'a>>) -> Table {
    let cells = |Row { figure, change, .. }: Row<'_>| {
        vec![
            figure.what.clone(),
            figure.aim_text(),
            figure.measured_text(),
            figure.spread_text(),
            figure.text_of(figure.paper),
            figure.verdict().to_owned(),
            change.map_or_else(|| "-".to_owned(), Change::against),
        ]
    };
    let columns = ["what", "aim", "measured", "spread", "paper", "verdict", "recorded"];
    let mut table = Table::new(&columns, rows.into_iter().map(cells).collect());
    for column in (0..columns.len()).rev() {
        if table.rows.iter().all(|row| row[column] == "-") {
            table.columns.remove(column);
            table.rows.iter_mut().for_each(|row| drop(row.remove(column)));
        }
    }
    table
}

impl Table {
    /// Aligns the first column to the left and all others to the right; empty without rows.
    pub(super) fn aligned(&self) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let lines = || std::iter::once(&self.columns).chain(&self.rows);
        let mut widths = vec![0; self.columns.len()];
        for (width, cell) in lines().flat_map(|line| (0..).zip(line)) {
            widths[width] = cell.chars().count().max(widths[width]);
        }
        let line = |line: &Vec<String>| {
            let cells = line.iter().enumerate().map(|(column, cell)| match widths[column] {
                width if column == 0 => format!(" {cell:<width$}"),
                width => format!("{cell:>width$}"),
            });
            format!("  {}", cells.collect::<Vec<_>>().join("  ")).trim_end().to_owned() + "\n"
        };
        lines().map(line).collect()
    }
}
