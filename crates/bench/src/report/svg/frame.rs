//! Layout of a drawing, and its texts.

use super::super::escape::escape;

/// Layout, in units of the drawing.
pub(super) struct Frame {
    pub left: f64,
    pub right: f64,
    pub top: f64,
    pub bottom: f64,
    pub height: f64,
}

pub(super) fn label(class: &str, x: f64, y: f64, anchor: &str, text: &str) -> String {
    let text = escape(text);
    format!(
        "<text class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{text}</text>"
    )
}

/// Returns the width of a text at the largest size that the stylesheet uses.
pub(super) fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * CHARACTER
}

/// Width of a character at the largest size of text that the stylesheet uses, 15.
pub(super) const CHARACTER: f64 = 9.6;
