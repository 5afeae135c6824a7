//! Lines, bars, and the names of groups of bars.

use super::super::plot::{Plot, Shape};
use super::frame::{CHARACTER, Frame, label, text_width};
use super::marks::Mark;
use super::points::Points;
use super::scale::{Scale, human};
use crate::report::escape::{elide, escape};

pub(super) fn lines(plot: &Plot, points: &Points, marks: &[Mark], x: &Scale, y: &Scale) -> String {
    let mut text = String::new();
    for (points, mark) in points.lines.iter().zip(marks) {
        let mut path = String::new();
        let mut is_joined = false;
        for point in points {
            if let Some((at, value)) = point {
                let step = if is_joined { 'L' } else { 'M' };
                path += &format!("{step}{:.1},{:.1}", x.place(*at), y.place(*value));
            }
            is_joined = point.is_some();
        }
        if !path.is_empty() {
            text += &format!("<path class=\"line {}\" d=\"{path}\"/>", mark.classes);
        }
    }
    // Markers of all lines are drawn above all lines.
    for ((line, points), mark) in plot.lines.iter().zip(&points.lines).zip(marks) {
        let every = points.len().div_ceil(MOST_MARKERS).max(1);
        for (number, point) in points.iter().enumerate() {
            let is_marked = number % every == 0 || number + 1 == points.len();
            if let (Some((at, value)), true) = (point, is_marked) {
                let told = format!("{}: {} at {}", line.label, human(*value, 4), human(*at, 4));
                text += &mark.marker(x.place(*at), y.place(*value), &told);
            }
        }
    }
    text
}

pub(super) fn bars(
    plot: &Plot,
    points: &Points,
    marks: &[Mark],
    frame: &Frame,
    y: &Scale,
) -> String {
    let Shape::Bars { groups } = &plot.shape else { return String::new() };
    let group = (frame.right - frame.left) / groups.len().max(1) as f64;
    let bar = (group * 0.8 / marks.len().max(1) as f64).min(56.0);
    let zero = if plot.y.logarithmic { frame.bottom } else { y.place(0.0) };
    // Numbers on some bars only would look like a statement.
    let fits = |value: f64| text_width(&human(value, 3)) <= bar + 3.0 && value >= 0.0;
    let are_numbered = points.all().all(|(_, value)| fits(value));
    let mut text = String::new();
    for (number, points) in points.lines.iter().enumerate() {
        let Mark { classes, fill, .. } = &marks[number];
        for (x, value) in points.iter().flatten() {
            let name = &groups[*x as usize];
            let middle = frame.left + group * (x.floor() + 0.5);
            let left = middle + bar * (number as f64 - marks.len() as f64 / 2.0);
            let end = y.place(*value);
            let (top, height) = (end.min(zero), (end - zero).abs().max(0.5));
            let (width, shown) = ((bar - 1.5).max(1.0), human(*value, 3));
            let told =
                escape(&format!("{}, {name}: {}", plot.lines[number].label, human(*value, 4)));
            text += &format!(
                "<rect class=\"bar {classes}\" x=\"{left:.1}\" y=\"{top:.1}\" \
                 width=\"{width:.1}\" height=\"{height:.1}\" style=\"fill:{fill}\">\
                 <title>{told}</title></rect>"
            );
            if are_numbered {
                text += &label("value", left + width / 2.0, top - 4.0, "middle", &shown);
            }
        }
    }
    text + &format!("<path class=\"axis\" d=\"M{:.1},{zero:.1}H{:.1}\"/>", frame.left, frame.right)
}

/// Names of groups, drawn as the labels of bars that end at height zero, and the room that they
/// take.
pub(super) struct GroupLabels {
    pub text: String,
    pub height: f64,
}

/// Lays names out in lines of words if they fit below their groups, else slanted; the first may
/// then need room at the left.
pub(super) fn group_labels(groups: &[String], frame: &mut Frame) -> GroupLabels {
    let group = (frame.right - frame.left) / groups.len().max(1) as f64;
    let most = (group / CHARACTER) as usize;
    let wrapped: Option<Vec<_>> = groups.iter().map(|name| wrap(name, most)).collect();
    if let Some(wrapped) = wrapped {
        let lines = wrapped.iter().map(Vec::len).max().unwrap_or(0);
        let height = 6.0 + 15.0 * lines as f64;
        return GroupLabels { text: upright(&wrapped, frame, group), height };
    }
    let names: Vec<_> = groups.iter().map(|name| elide(name, LONGEST)).collect();
    let widest = names.iter().map(|name| text_width(name)).fold(0.0, f64::max);
    let first = names.first().map_or(0.0, |name| text_width(name));
    frame.left = frame.left.max(first * ASLANT.cos() - group / 2.0 + 6.0);
    let group = (frame.right - frame.left) / groups.len() as f64;
    let mut text = String::new();
    for (number, name) in names.iter().enumerate() {
        let x = frame.left + group * (number as f64 + 0.5) + 4.0;
        let (turn, name) = (-ASLANT.to_degrees(), escape(name));
        text += &format!(
            "<text class=\"tick\" text-anchor=\"end\" \
             transform=\"translate({x:.1} 14) rotate({turn:.0})\">{name}</text>"
        );
    }
    GroupLabels { text, height: 18.0 + widest * ASLANT.sin() }
}

fn upright(names: &[Vec<String>], frame: &Frame, group: f64) -> String {
    let mut text = String::new();
    for (number, lines) in names.iter().enumerate() {
        let x = frame.left + group * (number as f64 + 0.5);
        for (line, words) in lines.iter().enumerate() {
            text += &label("tick", x, 17.0 + 15.0 * line as f64, "middle", words);
        }
    }
    text
}

/// Breaks a name into up to three lines of so many characters, if the words fit.
fn wrap(name: &str, most: usize) -> Option<Vec<String>> {
    let mut lines: Vec<String> = Vec::new();
    for word in name.split_whitespace() {
        let length = word.chars().count();
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + length <= most => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    let fits = lines.len() <= 3 && lines.iter().all(|line| line.chars().count() <= most);
    fits.then_some(lines)
}

/// Most markers of a line; more would cover it.
const MOST_MARKERS: usize = 14;
/// Most characters in the name of a group that is slanted.
const LONGEST: usize = 24;
/// Angle of slanted names, in radians.
const ASLANT: f64 = 0.62;
