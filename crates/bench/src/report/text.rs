//! Tables as aligned text and as Markdown.

use std::fmt::Write as _;

/// Aligns a table as text: the first column to the left, all others to the right.
pub(super) fn aligned(columns: &[String], rows: &[Vec<String>]) -> String {
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

pub(super) fn markdown_table(columns: &[String], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule: Vec<_> = columns.iter().map(|_| "---".to_owned()).collect();
    let mut text = line(columns) + &line(&rule);
    rows.iter().for_each(|row| text += &line(row));
    text
}

pub(super) fn strings(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}
