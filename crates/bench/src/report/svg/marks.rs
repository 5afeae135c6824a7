//! Colours, markers and patterns that tell the lines and bars of a plot apart.

use std::fmt::Write as _;

use super::super::escape::escape;
use super::super::plot::{Line, Plot, Shape};

/// Look of one line, or of the bars of one colour.
pub(super) struct Mark {
    /// Classes in the stylesheet.
    pub classes: String,
    /// Path of a marker, relative to its middle.
    marker: &'static str,
    /// Fill of bars.
    pub fill: String,
}

/// Returns the marks of all lines of a plot; lines of the source have no colour.
pub(super) fn marks(lines: &[Line], id: &str) -> Vec<Mark> {
    let (mut measured, mut papers) = (0, 0);
    let mut next = |line: &Line| {
        let number = if line.is_paper { &mut papers } else { &mut measured };
        *number += 1;
        mark(*number - 1, line.is_paper, id)
    };
    lines.iter().map(&mut next).collect()
}

fn mark(number: usize, is_paper: bool, id: &str) -> Mark {
    let kind = number % KINDS;
    // A ninth line has the colour of the first, so at least its marker must differ.
    let marker = MARKERS[(number + number / KINDS) % KINDS];
    let hatch = format!("url(#{id}-hatch{kind})");
    let (classes, fill) = match (is_paper, kind) {
        (true, _) => (format!("paper dash{}", kind % 3), "var(--page)".to_owned()),
        (false, 0) => ("c0".to_owned(), "var(--c)".to_owned()),
        (false, _) => (format!("c{kind}"), hatch),
    };
    Mark { classes, marker, fill }
}

impl Mark {
    /// Renders a marker at a position, with a text that is shown when the pointer is over it.
    pub fn marker(&self, x: f64, y: f64, text: &str) -> String {
        let (classes, marker, text) = (&self.classes, self.marker, escape(text));
        let title = if text.is_empty() { String::new() } else { format!("<title>{text}</title>") };
        format!("<path class=\"marker {classes}\" d=\"M{x:.1},{y:.1}{marker}\">{title}</path>")
    }
}

/// Renders the patterns that fill bars; their names begin with `id`.
pub(super) fn patterns(marks: usize, id: &str) -> String {
    let mut text = String::from("<defs>");
    for (kind, lines) in HATCHES.iter().enumerate().take(marks.min(KINDS)).skip(1) {
        let written = write!(
            text,
            "<pattern id=\"{id}-hatch{kind}\" width=\"8\" height=\"8\" \
             patternUnits=\"userSpaceOnUse\"><rect class=\"c{kind} filled\" width=\"8\" \
             height=\"8\"/><path class=\"hatch\" d=\"{lines}\"/></pattern>"
        );
        written.expect("writing to a string cannot fail");
    }
    text + "</defs>"
}

/// Renders the legend as a list beside the drawing, where it covers nothing and wraps on a narrow
/// screen.
pub(super) fn legend(plot: &Plot, marks: &[Mark]) -> String {
    let mut text = String::from("<ul class=\"legend\">");
    for (line, mark) in plot.lines.iter().zip(marks) {
        let (classes, fill) = (&mark.classes, &mark.fill);
        let key = match plot.shape {
            Shape::Lines => {
                let path = format!("<path class=\"line {classes}\" d=\"M1,7h30\"/>");
                path + &mark.marker(16.0, 7.0, "")
            }
            Shape::Bars { .. } => format!(
                "<rect class=\"bar {classes}\" x=\"8\" y=\"1\" width=\"16\" height=\"12\" \
                 style=\"fill:{fill}\"/>"
            ),
        };
        let label = escape(&line.label);
        let written = write!(
            text,
            "<li><svg class=\"key\" viewBox=\"0 0 32 14\" width=\"32\" height=\"14\" \
             aria-hidden=\"true\">{key}</svg>{label}</li>"
        );
        written.expect("writing to a string cannot fail");
    }
    text + "</ul>"
}

/// Number of lines of a plot that have colours of their own.
const KINDS: usize = 8;

const MARKERS: [&str; KINDS] = [
    "m-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0z",
    "m-3.6,-3.6h7.2v7.2h-7.2z",
    "m0,-5l4.8,8.4h-9.6z",
    "m0,-5.2l5.2,5.2l-5.2,5.2l-5.2,-5.2z",
    "m0,5l-4.8,-8.4h9.6z",
    "m-1.5,-4.8h3v3.3h3.3v3h-3.3v3.3h-3v-3.3h-3.3v-3h3.3z",
    "m-4.2,-4.4h8.4l-8.4,8.8h8.4z",
    "m-2,-5.5h4v11h-4z",
];

/// Patterns of bars; the first is plain.
const HATCHES: [&str; KINDS] = [
    "",
    "M-2,2l4,-4M0,8l8,-8M6,10l4,-4",
    "M2,2h2v2h-2zM6,6h2v2h-2z",
    "M0,2h8M0,6h8",
    "M0,8l8,-8M0,0l8,8",
    "M2,0v8M6,0v8",
    "M-2,6l4,4M0,0l8,8M6,-2l4,4",
    "M0,4h8M4,0v8",
];
