//! A report as one self-contained page: no scripts, no files, no network. Its markup and style are
//! in the folder `templates`.

use askama::Template;

use super::svg::Drawing;
use super::{Comparison, Judgement, Report, Row, Section, State, Table};

/// Renders the page, with the change of each figure if there is a recorded result to compare with.
pub fn html(report: &Report, comparison: Option<&Comparison>) -> String {
    let rows = report.rows(comparison);
    let part = |(number, (section, id))| {
        let rows: Vec<_> =
            rows.iter().copied().filter(|row: &Row<'_>| row.section == number).collect();
        let short = rows.iter().filter(|row| row.figure.verdict() == "short").count();
        Part { id, section, rows, short }
    };
    let ids = ids(report);
    let parts = report.sections.iter().zip(ids.clone()).enumerate().map(part).collect();
    let mut aimed = rows.clone();
    aimed.retain(|row| row.figure.aim.is_some());
    aimed.sort_by_key(Row::rank);
    let page = Page { report, comparison, ids, parts, aimed };
    let text = page.render().expect("writing to a string cannot fail");
    let is_strange = |letter: char| letter.is_control() && !['\n', '\t'].contains(&letter);
    text.replace(is_strange, "\u{fffd}") + "\n"
}

#[derive(Template)]
#[template(path = "page.html")]
struct Page<'a> {
    report: &'a Report,
    comparison: Option<&'a Comparison>,
    /// Names of the sections for links.
    ids: Vec<String>,
    parts: Vec<Part<'a>>,
    /// Figures with an aim; those that need attention first.
    aimed: Vec<Row<'a>>,
}

struct Part<'a> {
    id: String,
    section: &'a Section,
    rows: Vec<Row<'a>>,
    /// Number of figures that are short of their aim.
    short: usize,
}

impl Page<'_> {
    fn facts(&self) -> String {
        let machine = self.report.condition(Report::MACHINE).map(str::to_owned);
        let seconds: f64 = self.report.sections.iter().map(|section| section.seconds).sum();
        let took = (seconds > 0.0).then(|| format!("measured in {}", duration(seconds)));
        machine.into_iter().chain(took).collect::<Vec<_>>().join(" · ")
    }

    fn small_scale(&self) -> Option<f64> {
        self.report.condition(Report::SCALE)?.parse().ok().filter(|scale| *scale < 1.0)
    }

    /// Returns class, count and words of each tile at the top.
    fn tiles(&self) -> Vec<(&'static str, usize, &'static str)> {
        let verdicts = || self.aimed.iter().map(|row| row.figure.verdict());
        let count = |verdict: &str| verdicts().filter(|it| *it == verdict).count();
        let mut tiles = vec![
            ("ok", count("ok"), "ok"),
            ("short", count("short"), "short of the aim"),
            ("unknown", count("not measured"), "not measured"),
        ];
        // Where nothing is judged, a zero would look like a good result.
        if let Some(comparison) = self.comparison.filter(|it| it.refusal().is_none()) {
            let worse = comparison.judged(Judgement::Worse).count();
            tiles.push(("worse", worse, "worse than recorded"));
        }
        tiles
    }

    fn states(&self) -> String {
        let states = || self.parts.iter().map(|part| &part.section.state);
        let skipped = states().filter(|state| matches!(state, State::Skipped(_))).count();
        let failed = states().filter(|state| matches!(state, State::Failed(_))).count();
        let (all, measured) = (self.parts.len(), self.parts.len() - skipped - failed);
        format!("Of {all} scenarios {measured} were measured, {skipped} skipped, {failed} failed.")
    }

    /// Returns the tables of figures with aims, ratios first. In a long one only the rows that need
    /// no attention are folded.
    fn glance(&self) -> Vec<Figures<'_>> {
        let (ratios, others): (Vec<_>, Vec<_>) =
            self.aimed.iter().copied().partition(|row: &Row<'_>| row.figure.is_ratio());
        let mut tables = Vec::new();
        for (rows, heading) in [
            (ratios, "Ratios, which hold on other machines too"),
            (others, "Absolute numbers, of this machine"),
        ] {
            let holding = rows.partition_point(|row: &Row<'_>| row.rank() < Row::HOLDS);
            let is_long = rows.len() > ROWS_MAX;
            let (first, rest) = rows.split_at(if is_long { holding } else { rows.len() });
            let heading_of_rest = if first.is_empty() { heading } else { "" };
            let summary = format!("Those that hold: {}", rest.len());
            tables.push(Figures::new(first, heading, String::new(), &self.ids));
            tables.push(Figures::new(rest, heading_of_rest, summary, &self.ids));
        }
        tables.retain(|table| !table.rows.is_empty());
        tables
    }
}

impl Row<'_> {
    /// Rank of what needs no attention.
    const HOLDS: u8 = 3;

    /// Returns the order in lists: short of the aim first, then worse than recorded, then not
    /// measured.
    fn rank(&self) -> u8 {
        match (self.figure.verdict(), self.change.map(|change| change.judgement)) {
            ("short", _) => 0,
            (_, Some(Judgement::Worse)) => 1,
            ("not measured", _) => 2,
            _ => Self::HOLDS,
        }
    }

    /// Returns the verdict as class, sign and word.
    fn mark(&self) -> [&'static str; 3] {
        match (self.figure.aim, self.figure.verdict()) {
            (None, _) => ["", "", "no aim"],
            (_, "ok") => ["ok", "✓", "ok"],
            (_, "short") => ["short", "✗", "short"],
            (_, word) => ["unknown", "?", word],
        }
    }
}

/// Table of figures, with links to their sections if there are names of them.
#[derive(Template)]
#[template(path = "figures.html")]
struct Figures<'a> {
    heading: &'a str,
    summary: String,
    rows: Vec<Row<'a>>,
    ids: &'a [String],
    has_aim: bool,
    has_paper: bool,
    has_change: bool,
}

impl<'a> Figures<'a> {
    fn new(rows: &[Row<'a>], heading: &'a str, summary: String, ids: &'a [String]) -> Self {
        let has_aim = rows.iter().any(|row| row.figure.aim.is_some());
        let has_paper = rows.iter().any(|row| row.figure.paper.is_some());
        let has_change = rows.iter().any(|row| row.change.is_some());
        Self { heading, summary, rows: rows.to_vec(), ids, has_aim, has_paper, has_change }
    }

    /// Figures of one section.
    fn of(part: &Part<'a>) -> Self {
        let short = if part.short > 0 { format!(", {} short", part.short) } else { String::new() };
        let summary = summary(part.rows.len()).map(|it| it + &short);
        Self::new(&part.rows, "Figures", summary.unwrap_or_default(), &[])
    }
}

/// Table of cells, numbers aligned to the right.
#[derive(Template)]
#[template(path = "cells.html")]
struct Cells<'a> {
    heading: &'a str,
    summary: String,
    /// Name and class of each column.
    columns: Vec<(String, &'static str)>,
    rows: Vec<Vec<String>>,
}

impl<'a> Cells<'a> {
    fn new(table: &Table, heading: &'a str) -> Self {
        let class = |column| if is_numeric(&table.rows, column) { "number" } else { "" };
        let columns = table.columns.iter().cloned().enumerate();
        let columns = columns.map(|(column, name)| (name, class(column))).collect();
        let summary = summary(table.rows.len()).unwrap_or_default();
        Self { heading, summary, columns, rows: table.rows.clone() }
    }

    fn differing(comparison: &Comparison) -> Self {
        let rows = comparison.differing.iter().map(|row| row.to_vec()).collect();
        let table = Table::new(&["condition", "now", "recorded"], rows);
        Self::new(&table, "Conditions that differ from those of the recorded result")
    }

    fn gone(comparison: &Comparison) -> Self {
        let rows = comparison.gone.iter().map(|it| {
            vec![it.section.clone(), it.figure.what.clone(), it.figure.text_of(it.recorded)]
        });
        let table = Table::new(&["scenario", "what", "recorded"], rows.collect());
        Self::new(&table, "Recorded, and gone from this result")
    }
}

/// Returns true if all cells of a column begin like numbers.
fn is_numeric(rows: &[Vec<String>], column: usize) -> bool {
    let cells = rows.iter().filter_map(|row| row.get(column));
    let mut told = cells.filter(|cell| !["", "-", "not there"].contains(&cell.as_str())).peekable();
    let is_number = |cell: &String| {
        let number = cell.trim_start_matches(['+', '-', '<', '>', '=', '±', ' ']);
        number.starts_with(|letter: char| letter.is_ascii_digit())
    };
    told.peek().is_some() && told.all(is_number)
}

/// Returns the summary of a table that is long enough to be folded.
fn summary(rows: usize) -> Option<String> {
    (rows > ROWS_MAX).then(|| format!("{rows} rows"))
}

/// Returns a link name for each section, made from its name, with its number if another has it.
/// The page's own names begin with an underscore.
fn ids(report: &Report) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    for section in &report.sections {
        let simple = |letter: char| if letter.is_ascii_alphanumeric() { letter } else { '-' };
        let id = section.key().chars().map(simple).collect::<String>().to_ascii_lowercase();
        let is_new = !ids.contains(&id) && id.contains(|it: char| it != '-');
        ids.push(if is_new { id } else { format!("{id}_{}", ids.len()) });
    }
    ids
}

/// Formats seconds in words.
fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..10 => format!("{seconds:.1} s"),
        10..60 => format!("{whole} s"),
        60..3600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", whole / 3600, whole % 3600 / 60),
    }
}

/// Most rows of a table that is not folded.
const ROWS_MAX: usize = 24;

#[cfg(test)]
mod tests {
    use super::duration;

    #[test]
    fn seconds_are_written_as_people_say_them() {
        let times = [0.26, 42.4, 192.0, 4830.0].map(duration);
        assert_eq!(times, ["0.3 s", "42 s", "3 min 12 s", "1 h 20 min"]);
    }
}
