//! Plots as SVG for a page whose stylesheet gives colours and sizes of text.
//!
//! Written by hand: the SVG of `plotters` has its colours, fonts and dashes in each element and
//! knows no classes and no patterns, so that it cannot follow a dark scheme, cannot have larger
//! text on a narrow screen, and its bars cannot be told apart in black and white.

mod frame;
mod marks;
mod points;
mod scale;
mod shapes;

use std::fmt::Write as _;

use super::escape::{elide, escape};
use super::plot::{Plot, Shape};
use frame::{CHARACTER, Frame, label, text_width};
use points::Points;
use scale::{Range, Scale};
use shapes::{bars, group_labels, lines};

/// Renders legend, drawing and remarks; the names that it defines begin with `id`.
pub(super) fn svg(plot: &Plot, id: &str) -> String {
    let marks = marks::marks(&plot.lines, id);
    let points = Points::of(plot);
    let mut text = marks::legend(plot, &marks);
    text += &drawing(plot, &points, &marks, id);
    if points.left_out > 0 {
        let (count, why) = (points.left_out, left_out_because(plot));
        let are = if count == 1 { "value is" } else { "values are" };
        let written = write!(text, "<p class=\"remark\">{count} {are} not drawn: {why}.</p>");
        written.expect("writing to a string cannot fail");
    }
    text
}

/// Returns true if a plot needs the width of the page.
pub(super) fn is_wide(plot: &Plot) -> bool {
    width(plot) > WIDTH
}

fn drawing(plot: &Plot, points: &Points, marks: &[marks::Mark], id: &str) -> String {
    let y = scale_of_y(plot, points);
    let labels: Vec<_> = y.ticks.iter().map(|&tick| y.label(tick)).collect();
    let widest = labels.iter().map(|label| text_width(label)).fold(0.0, f64::max);
    let mut frame = Frame {
        left: widest + 8.0,
        right: width(plot) - 14.0,
        top: 34.0,
        bottom: 0.0,
        height: 0.0,
    };
    let (below, bottom) = match &plot.shape {
        Shape::Lines => (None, 20.0),
        Shape::Bars { groups } => {
            let labels = group_labels(groups, &mut frame);
            (Some(labels.text), labels.height)
        }
    };
    let named = if plot.x.label.is_empty() { 4.0 } else { 24.0 };
    frame.bottom = frame.top + HEIGHT;
    frame.height = frame.bottom + bottom + named;
    let y = y.between(frame.bottom, frame.top);
    let mut inside = grid(&frame, &y);
    match below {
        None => {
            let x = scale_of_x(plot, points).between(frame.left + 6.0, frame.right - 6.0);
            inside += &numbers_of_x(&frame, &x);
            inside += &lines(plot, points, marks, &x, &y);
        }
        Some(labels) => {
            inside += &format!("<g transform=\"translate(0 {:.1})\">{labels}</g>", frame.bottom);
            inside += &marks::patterns(marks.len(), id);
            inside += &bars(plot, points, marks, &frame, &y);
        }
    }
    inside += &names(plot, &frame);
    if points.all().next().is_none() {
        let (x, y) = ((frame.left + frame.right) / 2.0, (frame.top + frame.bottom) / 2.0);
        inside += &label("empty", x, y, "middle", "nothing was measured");
    }
    let (width, height, title) = (width(plot), frame.height, escape(&plot.title));
    let least = if is_wide(plot) { width * 0.72 } else { 0.0 };
    format!(
        "<svg class=\"plot\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" \
         aria-label=\"{title}\" style=\"min-width:{least:.0}px;max-width:{:.0}px\">{inside}</svg>",
        width * 1.3
    )
}

fn scale_of_y(plot: &Plot, points: &Points) -> Scale {
    let values: Vec<_> = points.all().map(|point| point.1).collect();
    let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
    // Bars are compared by their length, lines by their slope.
    let is_flat = highest - lowest < 0.2 * highest.abs().max(lowest.abs());
    let has_zero = matches!(plot.shape, Shape::Bars { .. }) || !is_flat;
    let has_zero = if plot.y.logarithmic { !matches!(plot.shape, Shape::Lines) } else { has_zero };
    Scale::over(&values, Range { logarithmic: plot.y.logarithmic, has_zero, is_rounded: true })
}

fn scale_of_x(plot: &Plot, points: &Points) -> Scale {
    let values: Vec<_> = points.all().map(|point| point.0).collect();
    let lowest = values.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let has_zero = lowest >= 0.0 && lowest < 0.2 * highest;
    let logarithmic = plot.x.logarithmic;
    Scale::over(&values, Range { logarithmic, has_zero, is_rounded: false })
}

fn grid(frame: &Frame, y: &Scale) -> String {
    let mut text = String::new();
    for &tick in &y.ticks {
        let (place, left, right) = (y.place(tick), frame.left, frame.right);
        text += &format!("<path class=\"grid\" d=\"M{left:.1},{place:.1}H{right:.1}\"/>");
        text += &label("tick", left - 6.0, place + 4.5, "end", &y.label(tick));
    }
    let (left, bottom, right) = (frame.left, frame.bottom, frame.right);
    text + &format!("<path class=\"axis\" d=\"M{left:.1},{bottom:.1}H{right:.1}\"/>")
}

fn numbers_of_x(frame: &Frame, x: &Scale) -> String {
    let mut text = String::new();
    let mut free_to = f64::INFINITY;
    // From the right, since the label at the end of the axis must not be left out.
    for &tick in x.ticks.iter().rev() {
        let (place, bottom, number) = (x.place(tick), frame.bottom, x.label(tick));
        text += &format!("<path class=\"axis\" d=\"M{place:.1},{bottom:.1}v4\"/>");
        let half = text_width(&number) / 2.0;
        // The label may be wider than the room beside the frame.
        let middle = place.min(frame.right + 13.0 - half).max(half);
        if middle + half <= free_to {
            text += &label("tick", middle, bottom + 18.0, "middle", &number);
            free_to = middle - half - 8.0;
        }
    }
    text
}

/// Renders the names of the axes; that of the vertical one is above it, where it can be read
/// upright.
fn names(plot: &Plot, frame: &Frame) -> String {
    let most = ((frame.right + 12.0) / CHARACTER) as usize;
    let mut text = label("name", 2.0, 13.0, "start", &elide(&plot.y.label, most));
    if !plot.x.label.is_empty() {
        let x = f64::midpoint(frame.left, frame.right);
        text += &label("name", x, frame.height - 6.0, "middle", &elide(&plot.x.label, most));
    }
    text
}

/// Returns the width of the drawing; many bars make it wider.
fn width(plot: &Plot) -> f64 {
    match &plot.shape {
        Shape::Lines => WIDTH,
        Shape::Bars { groups } => {
            let group = plot.lines.len() as f64 * 10.0 + 12.0;
            (groups.len() as f64 * group + 60.0).clamp(WIDTH, 1600.0)
        }
    }
}

fn left_out_because(plot: &Plot) -> &'static str {
    if plot.x.logarithmic || plot.y.logarithmic {
        "not a number, or not above zero on a logarithmic axis"
    } else {
        "not a number"
    }
}

const WIDTH: f64 = 460.0;
/// Height inside the frame.
const HEIGHT: f64 = 210.0;

#[cfg(test)]
mod tests;
