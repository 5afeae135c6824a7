//! Tables of cells and of figures. Each has a box of its own that scrolls where the table is too
//! wide; long tables are folded.

use super::super::escape::escape;
use super::super::{Change, Figure, Judgement, Table};

/// A figure, its change and its section.
pub(super) struct Row<'a> {
    pub figure: &'a Figure,
    pub change: Option<&'a Change>,
    /// Link name of its section.
    pub id: &'a str,
}

impl Row<'_> {
    pub fn is_short(&self) -> bool {
        self.figure.verdict() == "short"
    }

    pub fn is_worse(&self) -> bool {
        self.change.is_some_and(|change| change.judgement == Judgement::Worse)
    }

    /// Returns the order in lists: short of the aim first, then worse than recorded, then not
    /// measured.
    pub fn rank(&self) -> u8 {
        match self.figure.verdict() {
            "short" => 0,
            _ if self.is_worse() => 1,
            "not measured" => 2,
            _ => RANK_OF_THE_REST,
        }
    }
}

/// Renders a table of measured cells, numbers aligned to the right; empty without rows.
pub(super) fn table(table: &Table, heading: &str) -> String {
    let numeric: Vec<_> = (0..table.columns.len()).map(|at| is_numeric(table, at)).collect();
    cells(table, heading, &numeric)
}

/// Renders a table of words, some of which may look like numbers; empty without rows.
pub(super) fn words(table: &Table, heading: &str) -> String {
    cells(table, heading, &[])
}

fn cells(table: &Table, heading: &str, numeric: &[bool]) -> String {
    if table.rows.is_empty() {
        return String::new();
    }
    let class = |at: usize| if numeric.get(at) == Some(&true) { " class=\"number\"" } else { "" };
    let count = rows_in_words(table.rows.len());
    let mut text = open(heading, "cells", (table.rows.len() > ROWS_MAX).then_some(&count));
    for (at, name) in table.columns.iter().enumerate() {
        text += &format!("<th scope=\"col\"{}>{}</th>", class(at), escape(name));
    }
    text += "</tr></thead>\n<tbody>\n";
    for row in &table.rows {
        text += "<tr>";
        for (at, cell) in row.iter().enumerate() {
            text += &format!("<td{}>{}</td>", class(at), escape(cell));
        }
        text += "</tr>\n";
    }
    text + close(table.rows.len() > ROWS_MAX)
}

/// Renders a table of the figures of one scenario.
pub(super) fn figures(rows: &[Row<'_>], heading: &str) -> String {
    let short = rows.iter().filter(|row| row.is_short()).count();
    let mut count = rows_in_words(rows.len());
    if short > 0 {
        count += &format!(", {short} short");
    }
    lines(rows, heading, false, (rows.len() > ROWS_MAX).then_some(&count))
}

/// Renders a table of figures of any scenarios by rank, with links to them. In a long one only the
/// rows that need no attention are folded.
pub(super) fn linked_figures(rows: &[Row<'_>], heading: &str) -> String {
    if rows.len() <= ROWS_MAX {
        return lines(rows, heading, true, None);
    }
    let (first, rest) = rows.split_at(rows.partition_point(|row| row.rank() < RANK_OF_THE_REST));
    let heading_of_rest = if first.is_empty() { heading } else { "" };
    let count = format!("Those that hold: {}", rows_in_words(rest.len()));
    lines(first, heading, true, None) + &lines(rest, heading_of_rest, true, Some(&count))
}

/// Renders rows of figures; empty columns are left out.
fn lines(rows: &[Row<'_>], heading: &str, is_linked: bool, folded: Option<&String>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let has_aim = rows.iter().any(|row| row.figure.aim.is_some());
    let has_paper = rows.iter().any(|row| row.figure.paper.is_some());
    let has_change = rows.iter().any(|row| row.change.is_some());
    let is_shown = [has_aim, true, true, has_aim, has_paper, has_change, has_change];
    let mut text = open(heading, "figures", folded);
    for ((name, is_number), _) in HEADS.iter().zip(is_shown).filter(|(_, is_shown)| *is_shown) {
        let class = if *is_number { " class=\"number\"" } else { "" };
        text += &format!("<th scope=\"col\"{class}>{name}</th>");
    }
    text += "</tr></thead>\n<tbody>\n";
    for row in rows {
        let class = if row.is_short() { " class=\"is-short\"" } else { "" };
        text += &format!("<tr{class}>");
        let cells = row.cells(is_linked);
        cells.iter().zip(is_shown).filter(|it| it.1).for_each(|(cell, _)| text += cell);
        text += "</tr>\n";
    }
    text + close(folded.is_some())
}

impl Row<'_> {
    /// Returns the cells, one per column head.
    fn cells(&self, is_linked: bool) -> [String; 7] {
        let figure = self.figure;
        let what = match (escape(&figure.what), is_linked) {
            (what, true) => format!("<a href=\"#{}\">{what}</a>", self.id),
            (what, false) => what,
        };
        let spread = match figure.spread_text() {
            spread if spread.is_empty() => spread,
            spread => format!(" <span class=\"spread\">{spread}</span>"),
        };
        let aim = figure.aim_text().replace("<=", "≤").replace(">=", "≥");
        let measured = escape(&figure.measured_text());
        let recorded = self.change.map_or_else(|| "-".to_owned(), Change::recorded_text);
        [
            format!("<td>{}</td>", verdict(figure)),
            format!("<th scope=\"row\" class=\"what\">{what}</th>"),
            format!("<td class=\"number measured\">{measured}{spread}</td>"),
            number("aim", &aim),
            number("paper", &figure.paper_text()),
            number("recorded", &recorded),
            format!("<td>{}</td>", self.change.map_or_else(String::new, change)),
        ]
    }
}

/// Renders a cell that names its column, for screens where the table has no head.
fn number(name: &str, text: &str) -> String {
    let absent = if text == "-" { " absent" } else { "" };
    format!("<td class=\"number{absent}\" data-name=\"{name}\">{}</td>", escape(text))
}

/// Renders the verdict as word, sign and colour.
fn verdict(figure: &Figure) -> String {
    if figure.aim.is_none() {
        return "<span class=\"mark\">no aim</span>".to_owned();
    }
    let (class, sign) = match figure.verdict() {
        "ok" => ("ok", "✓"),
        "short" => ("short", "✗"),
        _ => ("unknown", "?"),
    };
    let word = figure.verdict();
    format!("<span class=\"mark {class}\"><span aria-hidden=\"true\">{sign}</span> {word}</span>")
}

fn change(change: &Change) -> String {
    let class = match change.judgement {
        Judgement::Better => "ok",
        Judgement::Worse => "worse",
        Judgement::New | Judgement::Gone => "unknown",
        Judgement::Same | Judgement::Unjudged => "",
    };
    format!("<span class=\"mark {class}\">{}</span>", escape(&change.text()))
}

/// Returns true if all cells of a column begin like numbers, so that they are aligned to the right.
fn is_numeric(table: &Table, column: usize) -> bool {
    let cells = table.rows.iter().filter_map(|row| row.get(column));
    let mut told = cells.filter(|cell| !matches!(cell.as_str(), "" | "-" | "not there")).peekable();
    let is_number = |cell: &String| {
        cell.trim_start_matches(['+', '-', '<', '>', '=', '±', ' '])
            .starts_with(|letter: char| letter.is_ascii_digit())
    };
    told.peek().is_some() && told.all(is_number)
}

/// Renders a table up to its head; a folded one states its number of rows.
fn open(heading: &str, class: &str, folded: Option<&String>) -> String {
    let heading = match heading {
        "" => String::new(),
        _ => format!("<h3>{}</h3>\n", escape(heading)),
    };
    let fold = folded.map(|count| format!("<details>\n<summary>{count}</summary>\n"));
    let fold = fold.unwrap_or_default();
    // A box that scrolls must be reachable from the keyboard.
    format!(
        "<div class=\"box\">\n{heading}{fold}<div class=\"scroll\" tabindex=\"0\">\
         <table class=\"{class}\"><thead><tr>"
    )
}

fn close(is_folded: bool) -> &'static str {
    match is_folded {
        true => "</tbody></table></div>\n</details>\n</div>\n",
        false => "</tbody></table></div>\n</div>\n",
    }
}

fn rows_in_words(count: usize) -> String {
    if count == 1 { "1 row".to_owned() } else { format!("{count} rows") }
}

/// Most rows of a table that is not folded.
const ROWS_MAX: usize = 24;
const RANK_OF_THE_REST: u8 = 3;
/// Names of the columns of figures; true for those that hold numbers.
const HEADS: [(&str, bool); 7] = [
    ("verdict", false),
    ("what", false),
    ("measured", true),
    ("aim", true),
    ("paper", true),
    ("recorded", true),
    ("change", false),
];
