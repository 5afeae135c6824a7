//! A report as one self-contained page: no scripts, no files, no network. Its markup and style are
//! in the folder `templates`.

use askama::Template;
use jiff::SignedDuration;

use super::compare::{Comparison, Row};
use super::drawing::draw;
use super::text::figures;
use super::{Report, Section, Table};

/// Renders the page, with the change of each figure if there is a recorded report.
pub fn html(report: &Report, recorded: Option<&Report>) -> String {
    let mut comparison = Comparison::new(report, recorded);
    comparison.rows.sort_by_key(Row::rank);
    Page { report, recorded, comparison }.to_string() + "\n"
}

#[derive(Template)]
#[template(path = "page.html")]
struct Page<'a> {
    report: &'a Report,
    recorded: Option<&'a Report>,
    /// Figures; those that need attention first.
    comparison: Comparison<'a>,
}

impl Page<'_> {
    fn seconds(&self) -> f64 {
        self.report.sections.iter().map(|section| section.seconds).sum()
    }

    fn small_scale(&self) -> Option<f64> {
        self.report.condition(Report::SCALE)?.parse().ok().filter(|scale| *scale < 1.0)
    }

    fn short(&self, section: &Section) -> usize {
        section.figures.iter().filter(|figure| figure.verdict() == "short").count()
    }

    fn with_verdict(&self, verdict: &str) -> usize {
        self.comparison.aimed().filter(|row| row.figure.verdict() == verdict).count()
    }

    /// Returns the tables of figures with aims, ratios first. In a long one only the rows that need
    /// no attention are folded.
    fn glance(&self) -> Vec<Cells<'_>> {
        let aimed = self.comparison.aimed();
        let (ratios, others): (Vec<_>, _) = aimed.partition(|row| row.figure.is_ratio());
        let mut tables = Vec::new();
        for (rows, heading) in [
            (ratios, "Ratios, which hold on other machines too"),
            (others, "Absolute numbers, of this machine"),
        ] {
            let holding = rows.partition_point(|row| row.rank() < Row::HOLDS);
            let is_long = rows.len() > ROWS_MAX;
            let (first, rest) = rows.split_at(if is_long { holding } else { rows.len() });
            tables.push(Cells::linked(first, heading, String::new()));
            tables.push(Cells::linked(rest, heading, format!("Those that hold: {}", rest.len())));
        }
        tables
    }

    fn figures(&self, section: &Section) -> Cells<'_> {
        let rows = self.comparison.rows.iter().filter(|row| std::ptr::eq(row.section, section));
        let (rows, short) = (rows.copied().collect::<Vec<_>>(), self.short(section));
        let mut summary = folded(rows.len());
        if !summary.is_empty() && short > 0 {
            summary += &format!(", {short} short");
        }
        Cells { summary, is_of_figures: true, ..Cells::new(figures(rows), "Figures") }
    }
}

impl Row<'_> {
    /// Rank of what needs no attention.
    const HOLDS: u8 = 3;

    /// Returns the order in lists: short of the aim first, then worse than recorded, then not
    /// measured.
    fn rank(&self) -> u8 {
        match self.figure.verdict() {
            "short" => 0,
            _ if self.is_worse() => 1,
            "not measured" => 2,
            _ => Self::HOLDS,
        }
    }
}

/// A table, numbers aligned to the right.
#[derive(Template)]
#[template(path = "cells.html")]
struct Cells<'a> {
    heading: &'a str,
    /// Text that is shown while the table is folded; empty if it is not.
    summary: String,
    table: Table,
    /// Class of each column.
    classes: Vec<&'static str>,
    /// True if the rows are figures, whose verdicts have colours.
    is_of_figures: bool,
    /// Name of the section that each row links to; empty if to none.
    links: Vec<String>,
}

impl<'a> Cells<'a> {
    fn new(table: Table, heading: &'a str) -> Self {
        let class = |column| if is_numeric(&table.rows, column) { "number" } else { "" };
        let classes = (0..table.columns.len()).map(class).collect();
        let (summary, links) = (folded(table.rows.len()), vec![String::new(); table.rows.len()]);
        Self { heading, summary, table, classes, is_of_figures: false, links }
    }

    /// Table of figures that link to their sections.
    fn linked(rows: &[Row<'_>], heading: &'a str, summary: String) -> Self {
        let links = rows.iter().map(|row| row.section.id()).collect();
        Self { summary, is_of_figures: true, links, ..Self::new(figures(rows.to_vec()), heading) }
    }
}

/// Returns true if all cells of a column begin like numbers.
fn is_numeric(rows: &[Vec<String>], column: usize) -> bool {
    let cells = rows.iter().filter_map(|row| row.get(column));
    let mut cells =
        cells.filter(|cell| !["", "-", "not there"].contains(&cell.as_str())).peekable();
    let is_number = |cell: &String| {
        let number = cell.trim_start_matches(['+', '-', '<', '>', '=', '±', ' ']);
        number.starts_with(|letter: char| letter.is_ascii_digit())
    };
    cells.peek().is_some() && cells.all(is_number)
}

/// Returns the summary of a table that is long enough to be folded.
fn folded(rows: usize) -> String {
    if rows > ROWS_MAX { format!("{rows} rows") } else { String::new() }
}

/// Formats seconds as `3m 12s`.
fn duration(seconds: f64) -> String {
    format!("{:#}", SignedDuration::from_secs(seconds.round() as i64))
}

/// Most rows of a table that is not folded.
const ROWS_MAX: usize = 24;
