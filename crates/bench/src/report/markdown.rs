//! The summary for readers of the repository.

use super::figure::Figure;
use super::text::{markdown_table, strings};
use super::{Change, Comparison, PAPER_MISSING, Report, Section};

impl Report {
    /// Renders the report as Markdown below this heading, with the change of each figure if there
    /// is a recorded result to compare with.
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
        text += &self.aims(comparison);
        for section in &self.sections {
            text += &section.markdown();
        }
        text
    }

    /// Renders the figures with aims, ratios first, since they hold on other machines too. Empty
    /// columns are left out.
    fn aims(&self, comparison: Option<&Comparison>) -> String {
        let numbered = self.figures().enumerate().filter(|(_, figure)| figure.aim.is_some());
        let (ratios, others): (Vec<_>, Vec<_>) = numbered.partition(|(_, it)| it.is_ratio());
        let figures: Vec<_> = ratios.into_iter().chain(others).collect();
        let has_spread = figures.iter().any(|(_, figure)| figure.spread.is_some());
        let has_paper = figures.iter().any(|(_, figure)| figure.paper.is_some());
        let is_shown = [true, true, true, has_spread, has_paper, true, comparison.is_some()];
        let keep = |cells: Vec<String>| -> Vec<String> {
            cells
                .into_iter()
                .zip(is_shown)
                .filter_map(|(cell, shown)| shown.then_some(cell))
                .collect()
        };
        let change = |at: usize| comparison.and_then(|it| it.changes.get(at));
        let rows: Vec<_> =
            figures.iter().map(|&(at, figure)| keep(cells(figure, change(at)))).collect();
        markdown_table(&keep(strings(&COLUMNS)), &rows)
    }
}

fn cells(figure: &Figure, change: Option<&Change>) -> Vec<String> {
    vec![
        figure.what.clone(),
        figure.aim_text(),
        figure.measured_text(),
        figure.spread_text(),
        figure.paper_text(),
        figure.verdict().to_owned(),
        change.map_or_else(String::new, Change::against),
    ]
}

impl Section {
    fn markdown(&self) -> String {
        let mut text = format!("\n## {}\n\n", self.title);
        if let Some(source) = &self.source {
            text += &format!("After {source}.\n\n");
        }
        if self.lacks_paper() {
            text += &format!("{PAPER_MISSING}\n\n");
        }
        if let Some(line) = self.state_line() {
            text += &format!("**{line}**\n\n");
        }
        self.notes.iter().for_each(|note| text += &format!("{note}\n\n"));
        text += &self.findings();
        if !self.table.rows.is_empty() {
            text += &markdown_table(&self.table.columns, &self.table.rows);
        }
        if let Some(paper) = &self.paper {
            text += "\nThe source has:\n\n";
            text += &markdown_table(&paper.columns, &paper.rows);
        }
        text
    }
}

impl Section {
    /// Renders the figures without aims, which are not in the other table: ratios first.
    fn findings(&self) -> String {
        let found = self.figures.iter().filter(|it| it.aim.is_none() && it.measured.is_some());
        let (ratios, others): (Vec<_>, Vec<_>) = found.partition(|figure| figure.is_ratio());
        if ratios.is_empty() && others.is_empty() {
            return String::new();
        }
        let row = |figure: &&Figure| {
            vec![
                figure.what.clone(),
                figure.measured_text(),
                figure.spread_text(),
                figure.paper_text(),
            ]
        };
        let rows: Vec<_> = ratios.iter().chain(&others).map(row).collect();
        markdown_table(&strings(&["what", "measured", "spread", "paper"]), &rows) + "\n"
    }
}

const COLUMNS: [&str; 7] = ["what", "aim", "measured", "spread", "paper", "verdict", "recorded"];

#[cfg(test)]
mod tests {
    use super::super::{Aim, Comparison, Figure, Report, Section};

    fn any_report(size: f64) -> Report {
        let mut report = Report::new(Vec::new());
        let mut section = Section::new("t", &[]);
        section.figures.push(Figure::new("bytes", Some(size), "B").held_against(Aim::AtMost(2.0)));
        section.figures.push(Figure::new("ratio", Some(1.5), "").held_against(Aim::AtLeast(1.0)));
        report.sections.push(section);
        report
    }

    #[test]
    fn ratios_come_first_and_empty_columns_are_left_out() {
        let text = any_report(1.0).markdown("t", None);
        let table = "| what | aim | measured | verdict |\n| --- | --- | --- | --- |\n\
                     | ratio | >= 1.00 | 1.50 | ok |\n| bytes | <= 2.00 B | 1.00 B | ok |\n";
        assert!(text.contains(table), "{text}");
    }

    #[test]
    fn figures_without_aims_stand_with_their_section() {
        let mut section = Section::new("t", &["a"]);
        section.row(["1".to_owned()]);
        section.finding("seconds", Some(2.0), "s");
        section.finding("ratio", Some(0.5), "");
        section.finding("absent", None, "");
        let mut report = Report::new(Vec::new());
        report.sections.push(section);
        let text = report.markdown("t", None);
        let table = "| ratio | 0.50 |  | - |\n| seconds | 2.00 s |  | - |\n\n| a |";
        assert!(text.contains(table), "{text}");
    }

    #[test]
    fn spread_the_source_and_the_recorded_result_have_columns_where_they_are_known() {
        let mut report = any_report(1.2);
        report.sections[0].figures[0].spread = Some(0.031);
        report.sections[0].figures[0].paper = Some(1.1);
        let comparison = Comparison::new(&report, &any_report(1.0));
        let text = report.markdown("t", Some(&comparison));
        assert!(text.contains("| what | aim | measured | spread | paper | verdict | recorded |"));
        let row = "| bytes | <= 2.00 B | 1.20 B | ± 3 % | 1.10 B | ok | 1.00 B: worse, +20 % |";
        assert!(text.contains(row), "{text}");
        assert!(text.contains("| ratio | >= 1.00 | 1.50 |  | - | ok | 1.50: same, ±0 % |"));
    }
}
