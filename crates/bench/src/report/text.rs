//! Reports as aligned text for a terminal, and as Markdown for readers of the repository.

use super::{Change, Comparison, Report, Row, Section, Table};

impl Report {
    /// Renders all figures with an aim as aligned text.
    pub fn summary(&self) -> String {
        let mut rows = self.rows(None);
        rows.retain(|row| row.figure.aim.is_some());
        format!("== What must hold\n{}", figures(&rows).aligned())
    }

    /// Renders the report as Markdown below this heading, with the change of each figure that has
    /// an aim if there is a recorded result to compare with.
    pub fn markdown(&self, title: &str, comparison: Option<&Comparison>) -> String {
        let mut text = format!("# {title}\n\n");
        if !self.complete {
            text += "**Incomplete: the run was broken off, or is still going on.**\n\n";
        }
        for (name, value) in &self.conditions {
            text += &format!("* {name}: {value}\n");
        }
        if let Some(percent) = self.disturbance() {
            text += &format!(
                "\n**Disturbed: others used {percent:.0} % of the cores before the start.**\n"
            );
        }
        text += "\n## What must hold\n\n";
        if let Some(refusal) = comparison.and_then(Comparison::refusal) {
            text += &format!("{refusal}\n\n");
        }
        let (aimed, others): (Vec<_>, Vec<_>) =
            self.rows(comparison).into_iter().partition(|row| row.figure.aim.is_some());
        text += &figures(&aimed).markdown();
        for (number, section) in self.sections.iter().enumerate() {
            let found = others.iter().filter(|row| row.section == number);
            let found = found.filter(|row| row.figure.measured.is_some());
            let found: Vec<_> = found.map(|row| Row { change: None, ..*row }).collect();
            text += &section.markdown(&figures(&found));
        }
        text
    }
}

impl Section {
    /// Renders the section as aligned text, its figures behind the table.
    pub fn text(&self) -> String {
        let warning = self.warning().map(|(_, _, word, why)| format!("{word}: {why}"));
        let lines = warning.iter().chain(&self.notes).map(|line| format!("   {line}\n"));
        let row = |figure| Row { section: 0, figure, change: None };
        let figures = figures(&self.figures.iter().map(row).collect::<Vec<_>>());
        let tables = [&self.table, &figures].map(Table::aligned).concat();
        format!("== {}\n{}{tables}", self.title, lines.collect::<String>())
    }

    fn markdown(&self, found: &Table) -> String {
        let warning = self.warning().map(|(_, _, word, why)| format!("**{word}: {why}**"));
        let title = format!("\n## {}", self.title);
        let parts = [Some(title), self.origin(), warning].into_iter().flatten();
        let mut text: String =
            parts.chain(self.notes.iter().cloned()).map(|part| part + "\n\n").collect();
        if !found.rows.is_empty() {
            text += &(found.markdown() + "\n");
        }
        text += &self.table.markdown();
        if let Some(paper) = &self.paper {
            text += &format!("\nThe source has:\n\n{}", paper.markdown());
        }
        text
    }
}

/// Renders figures as a table without the columns in which none has anything.
fn figures(rows: &[Row<'_>]) -> Table {
    let cells = |row: &Row<'_>| {
        let figure = row.figure;
        vec![
            figure.what.clone(),
            figure.aim_text(),
            figure.measured_text(),
            figure.spread_text(),
            figure.text_of(figure.paper),
            figure.verdict().to_owned(),
            row.change.map_or_else(|| "-".to_owned(), Change::against),
        ]
    };
    let mut table = Table::new(&COLUMNS, rows.iter().map(cells).collect());
    for column in (0..COLUMNS.len()).rev() {
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
        let width = |column: usize| {
            let cells = self.lines().filter_map(|line| line.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<_> = (0..self.columns.len()).map(width).collect();
        let line = |line: &Vec<String>| {
            let cells = line.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
                if column == 0 { format!(" {cell:<width$}") } else { format!("{cell:>width$}") }
            });
            format!("  {}", cells.collect::<Vec<_>>().join("  ")).trim_end().to_owned() + "\n"
        };
        self.lines().map(line).collect()
    }

    fn markdown(&self) -> String {
        let line = |cells: &Vec<String>| format!("| {} |\n", cells.join(" | "));
        let mut lines: Vec<_> = self.lines().map(line).collect();
        if !lines.is_empty() {
            lines.insert(1, line(&vec!["---".to_owned(); self.columns.len()]));
        }
        lines.concat()
    }

    /// Returns the names of the columns and all rows; nothing if there are no rows.
    fn lines(&self) -> impl Iterator<Item = &Vec<String>> {
        let columns = (!self.rows.is_empty()).then_some(&self.columns);
        columns.into_iter().chain(&self.rows)
    }
}

const COLUMNS: [&str; 7] = ["what", "aim", "measured", "spread", "paper", "verdict", "recorded"];

#[cfg(test)]
mod tests {
    use super::super::{Aim, Comparison, Figure, Report, Section, State};

    #[test]
    fn text_is_aligned_and_says_first_what_was_broken_off() {
        let mut section = Section::new("t", &["name", "n"]);
        section.row(["a".to_owned(), "100".to_owned()]);
        section.row(["bcdefg".to_owned(), "1".to_owned()]);
        let table = "   name      n\n   a       100\n   bcdefg    1\n";
        assert_eq!(section.text(), format!("== t\n{table}"));
        section.state = State::Failed("the server died".to_owned());
        section.note("a note");
        let first = "   FAILED, and incomplete: the server died\n   a note\n";
        assert_eq!(section.text(), format!("== t\n{first}{table}"));
        section.finding("x", Some(2.0), "s");
        assert!(section.text().ends_with("\n   what  measured\n   x       2.00 s\n"));
    }

    /// Report of two figures with aims and two without.
    fn any_report(size: f64) -> Report {
        let mut section = Section::new("t", &["a"]);
        section.row(["1".to_owned()]);
        let aimed = |what, value, unit, aim| Figure::new(what, value, unit).held_against(aim);
        section.figures = vec![
            aimed("bytes", Some(size), "B", Aim::AtMost(2.0)),
            aimed("share", Some(1.5), "", Aim::AtLeast(1.0)),
        ];
        section.finding("seconds", Some(2.0), "s");
        section.finding("ratio", Some(0.5), "");
        section.finding("absent", None, "");
        let mut report = Report::new(Vec::new());
        report.sections.push(section);
        report
    }

    #[test]
    fn markdown_has_ratios_first_and_no_empty_columns_and_figures_without_aims_below() {
        let text = any_report(1.0).markdown("t", None);
        for table in [
            "| what | aim | measured | verdict |\n| --- | --- | --- | --- |\n\
             | share | >= 1.00 | 1.50 | ok |\n| bytes | <= 2.00 B | 1.00 B | ok |\n\n## t\n\n",
            "## t\n\n| what | measured |\n| --- | --- |\n| ratio | 0.50 |\n\
             | seconds | 2.00 s |\n\n| a |\n| --- |\n| 1 |\n",
        ] {
            assert!(text.contains(table), "{text}");
        }
    }

    #[test]
    fn spread_the_source_and_the_recorded_result_have_columns_where_they_are_known() {
        let mut report = any_report(1.2);
        let bytes = &mut report.sections[0].figures[0];
        (bytes.spread, bytes.paper) = (Some(0.031), Some(1.1));
        let text = report.markdown("t", Some(&Comparison::new(&report, &any_report(1.0))));
        for row in [
            "| what | aim | measured | spread | paper | verdict | recorded |",
            "| bytes | <= 2.00 B | 1.20 B | ± 3 % | 1.10 B | ok | 1.00 B: worse, +20 % |",
            "| share | >= 1.00 | 1.50 | - | - | ok | 1.50: same, ±0 % |",
        ] {
            assert!(text.contains(row), "{text}");
        }
    }
}
