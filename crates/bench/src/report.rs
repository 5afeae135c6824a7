//! Tables, and figures held against their aims; as text, Markdown and JSON.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Result;
use serde_json::{Value, json};

/// What a figure must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Aim {
    /// Not above.
    AtMost(f64),
    /// Not below.
    AtLeast(f64),
}

/// A measured figure and its aim.
#[derive(Clone, Debug)]
pub struct Figure {
    /// What was measured, in words.
    pub what: String,
    /// What it must be.
    pub aim: Aim,
    /// What it is; absent if it could not be measured.
    pub measured: Option<f64>,
    /// Unit of both, empty for a ratio.
    pub unit: &'static str,
}

impl Figure {
    /// A figure.
    pub fn new(
        what: impl Into<String>,
        aim: Aim,
        measured: Option<f64>,
        unit: &'static str,
    ) -> Self {
        Self { what: what.into(), aim, measured, unit }
    }

    /// `ok`, `short`, or `not measured`.
    pub fn verdict(&self) -> &'static str {
        match (self.aim, self.measured) {
            (_, None) => "not measured",
            (Aim::AtMost(limit), Some(measured)) if measured <= limit => "ok",
            (Aim::AtLeast(limit), Some(measured)) if measured >= limit => "ok",
            _ => "short",
        }
    }

    fn aim_text(&self) -> String {
        match self.aim {
            Aim::AtMost(limit) => format!("<= {}", with_unit(limit, self.unit)),
            Aim::AtLeast(limit) => format!(">= {}", with_unit(limit, self.unit)),
        }
    }

    fn measured_text(&self) -> String {
        self.measured.map_or_else(|| "-".to_owned(), |measured| with_unit(measured, self.unit))
    }
}

/// What one scenario brought.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Heading.
    pub title: String,
    /// What a reader must know to judge the table.
    pub notes: Vec<String>,
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Cells, as many per row as there are columns.
    pub rows: Vec<Vec<String>>,
    /// Figures with aims.
    pub figures: Vec<Figure>,
}

impl Section {
    /// An empty section.
    pub fn new(title: impl Into<String>, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|&column| column.to_owned()).collect();
        Self { title: title.into(), columns, ..Self::default() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Adds a note.
    pub fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Adds a figure.
    pub fn figure(
        &mut self,
        what: impl Into<String>,
        aim: Aim,
        measured: Option<f64>,
        unit: &'static str,
    ) {
        self.figures.push(Figure::new(what, aim, measured, unit));
    }

    /// The section as aligned text, its figures behind the table.
    pub fn text(&self) -> String {
        let mut text = format!("== {}\n", self.title);
        self.notes.iter().for_each(|note| text += &format!("   {note}\n"));
        if !self.rows.is_empty() {
            text += &aligned(&self.columns, &self.rows);
        }
        if !self.figures.is_empty() {
            text += &figures_text(&self.figures);
        }
        text
    }
}

/// Everything a run of the benchmark brought.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Where and how it was measured, as name and value.
    pub conditions: Vec<(String, String)>,
    /// One per scenario.
    pub sections: Vec<Section>,
}

impl Report {
    /// All figures of all sections.
    pub fn figures(&self) -> Vec<Figure> {
        self.sections.iter().flat_map(|section| section.figures.clone()).collect()
    }

    /// All figures as aligned text: aim, measured, verdict.
    pub fn summary(&self) -> String {
        format!("== What must hold\n{}", figures_text(&self.figures()))
    }

    /// Writes `<date>-<name>.md` and `.json` into a folder; returns the path of the first.
    ///
    /// # Errors
    /// If the files cannot be written.
    pub fn write(&self, folder: &Path, name: &str) -> Result<PathBuf> {
        fs::create_dir_all(folder)?;
        let stem = format!("{}-{name}", date(SystemTime::now()));
        let markdown = folder.join(format!("{stem}.md"));
        fs::write(&markdown, self.markdown(&stem))?;
        let json = serde_json::to_string_pretty(&self.json())?;
        fs::write(folder.join(format!("{stem}.json")), json + "\n")?;
        Ok(markdown)
    }

    fn markdown(&self, title: &str) -> String {
        let mut text = format!("# {title}\n\n");
        for (name, value) in &self.conditions {
            text += &format!("* {name}: {value}\n");
        }
        text += "\n## What must hold\n\n";
        text += &markdown_table(&strings(&FIGURE_COLUMNS), &figure_rows(&self.figures()));
        for section in &self.sections {
            text += &format!("\n## {}\n\n", section.title);
            section.notes.iter().for_each(|note| text += &format!("{note}\n\n"));
            if !section.rows.is_empty() {
                text += &markdown_table(&section.columns, &section.rows);
            }
        }
        text
    }

    fn json(&self) -> Value {
        let conditions: serde_json::Map<_, _> =
            self.conditions.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
        json!({
            "conditions": conditions,
            "figures": self.figures().iter().map(figure_json).collect::<Vec<_>>(),
            "sections": self.sections.iter().map(section_json).collect::<Vec<_>>(),
        })
    }
}

/// The calendar date in UTC, as `2000-12-31`.
pub fn date(now: SystemTime) -> String {
    let days = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() / 86_400);
    let (mut year, mut day) = (1970, days);
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    while day >= 365 + u64::from(leap(year)) {
        day -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if day < length {
            break;
        }
        day -= length;
        month += 1;
    }
    format!("{year:04}-{month:02}-{:02}", day + 1)
}

fn with_unit(value: f64, unit: &str) -> String {
    let number = match value.abs() {
        size if size >= 1000.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    };
    if unit.is_empty() { number } else { format!("{number} {unit}") }
}

fn figure_json(figure: &Figure) -> Value {
    let (bound, limit) = match figure.aim {
        Aim::AtMost(limit) => ("at most", limit),
        Aim::AtLeast(limit) => ("at least", limit),
    };
    json!({
        "what": figure.what, "bound": bound, "aim": limit, "measured": figure.measured,
        "unit": figure.unit, "verdict": figure.verdict(),
    })
}

fn section_json(section: &Section) -> Value {
    json!({
        "title": section.title, "notes": section.notes,
        "columns": section.columns, "rows": section.rows,
    })
}

fn figure_rows(figures: &[Figure]) -> Vec<Vec<String>> {
    let row = |figure: &Figure| {
        let verdict = figure.verdict().to_owned();
        vec![figure.what.clone(), figure.aim_text(), figure.measured_text(), verdict]
    };
    figures.iter().map(row).collect()
}

fn figures_text(figures: &[Figure]) -> String {
    aligned(&strings(&FIGURE_COLUMNS), &figure_rows(figures))
}

/// The first column starts at the left, the others end at the right.
fn aligned(columns: &[String], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.chain(&columns[column..=column]).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<_> = (0..columns.len()).map(width).collect();
    let mut text = String::new();
    for row in std::iter::once(columns).chain(rows.iter().map(Vec::as_slice)) {
        for (column, cell) in row.iter().enumerate() {
            let width = widths[column];
            let written = match column {
                0 => write!(text, "   {cell:<width$}"),
                _ => write!(text, "  {cell:>width$}"),
            };
            written.expect("writing to a string cannot fail");
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    text
}

fn markdown_table(columns: &[String], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule: Vec<_> = columns.iter().map(|_| "---".to_owned()).collect();
    let mut text = line(columns) + &line(&rule);
    rows.iter().for_each(|row| text += &line(row));
    text
}

fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

const FIGURE_COLUMNS: [&str; 4] = ["what", "aim", "measured", "verdict"];

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::{Aim, Figure, Section, date};

    #[test]
    fn a_verdict_follows_from_the_aim() {
        let verdict = |aim, measured| Figure::new("x", aim, measured, "").verdict();
        assert_eq!(verdict(Aim::AtMost(1.1), Some(1.1)), "ok");
        assert_eq!(verdict(Aim::AtMost(1.1), Some(1.2)), "short");
        assert_eq!(verdict(Aim::AtLeast(0.8), Some(0.79)), "short");
        assert_eq!(verdict(Aim::AtLeast(0.8), Some(f64::NAN)), "short");
        assert_eq!(verdict(Aim::AtLeast(0.8), None), "not measured");
    }

    #[test]
    fn columns_are_aligned() {
        let mut section = Section::new("t", &["name", "n"]);
        section.row(["a".to_owned(), "100".to_owned()]);
        section.row(["bcdefg".to_owned(), "1".to_owned()]);
        assert_eq!(section.text(), "== t\n   name      n\n   a       100\n   bcdefg    1\n");
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        let at = |seconds| date(UNIX_EPOCH + Duration::from_secs(seconds));
        assert_eq!(at(0), "1970-01-01");
        assert_eq!(at(951_782_400), "2000-02-29");
        assert_eq!(at(1_767_225_599), "2025-12-31");
        assert_eq!(at(1_767_225_600), "2026-01-01");
    }
}
