//! The summary for people who read results in the repository.

use super::figure::{FIGURE_COLUMNS, Figure};
use super::text::{markdown_table, strings};
use super::{Report, Section};

impl Report {
    pub(super) fn markdown(&self, title: &str) -> String {
        let mut text = format!("# {title}\n\n");
        if !self.complete {
            text += "**Incomplete: the run was broken off, or is still going on.**\n\n";
        }
        for (name, value) in &self.conditions {
            text += &format!("* {name}: {value}\n");
        }
        text += "\n## What must hold\n\n";
        let aimed: Vec<_> =
            self.figures().filter(|it| it.aim.is_some()).map(Figure::cells).collect();
        text += &markdown_table(&strings(&FIGURE_COLUMNS), &aimed);
        for section in &self.sections {
            text += &section.markdown();
        }
        text
    }
}

impl Section {
    fn markdown(&self) -> String {
        let mut text = format!("\n## {}\n\n", self.title);
        if let Some(source) = &self.source {
            text += &format!("After {source}.\n\n");
        }
        if let Some(line) = self.state_line() {
            text += &format!("**{line}**\n\n");
        }
        self.notes.iter().for_each(|note| text += &format!("{note}\n\n"));
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
