//! Plots as markup: lines as SVG, bars as rows that name what they stand for, beside their numbers.
//!
//! Written by hand: the SVG of `plotters` has fixed colours, fonts and places for its texts, so
//! that it cannot follow a dark scheme or have larger text on a narrow screen, and cannot be told
//! apart in black and white.

use askama::Template;

use super::plot::{Axis, Line, Plot, Shape};
use super::scale::{Scale, human};

pub(super) fn draw(plot: &Plot) -> String {
    match &plot.shape {
        Shape::Lines => Lines::new(plot).to_string(),
        Shape::Bars { groups } => Bars::new(plot, groups).to_string(),
    }
}

#[derive(Template)]
#[template(path = "lines.html")]
struct Lines<'a> {
    plot: &'a Plot,
    curves: Vec<Curve<'a>>,
    /// Number of values that cannot be drawn.
    left_out: usize,
    x: Scale,
    y: Scale,
    /// Left end of the horizontal axis.
    left: f64,
}

/// A line: its path, and some of its points with their values in words.
struct Curve<'a> {
    label: &'a str,
    colour: usize,
    /// Form of the marker.
    marker: usize,
    path: String,
    points: Vec<([f64; 2], String)>,
}

#[derive(Template)]
#[template(path = "bars.html")]
struct Bars<'a> {
    plot: &'a Plot,
    groups: Vec<(&'a str, Vec<Bar<'a>>)>,
}

struct Bar<'a> {
    label: &'a str,
    colour: usize,
    /// Length in percent of the longest possible.
    length: f64,
    value: String,
}

impl<'a> Lines<'a> {
    fn new(plot: &'a Plot) -> Self {
        let all = || plot.lines.iter().flat_map(|line| &line.points);
        let drawn: Vec<_> = all().filter(|point| is_drawn(plot, point)).collect();
        let (xs, ys): (Vec<_>, Vec<_>) = drawn.iter().copied().copied().unzip();
        let y = Scale::new(&plot.y, &ys, false, [BOTTOM, TOP]);
        let width = y.labels().map(|(_, label)| text_width(label)).fold(0.0, f64::max);
        let left = width + 8.0;
        let x = Scale::new(&plot.x, &xs, true, [left + 6.0, RIGHT - 6.0]);
        let curve = |(number, line)| Curve::new(number, line, plot, &x, &y);
        let curves = plot.lines.iter().enumerate().map(curve).collect();
        Self { plot, curves, left_out: all().count() - drawn.len(), x, y, left }
    }

    /// Returns the places and labels below the horizontal axis that do not touch each other.
    fn labels_below(&self) -> Vec<(f64, &str)> {
        let mut labels: Vec<(f64, &str)> = Vec::new();
        let mut free_to = f64::INFINITY;
        // From the right, since the label at the end of the axis must not be left out.
        for (place, label) in self.x.labels().rev() {
            let half = text_width(label) / 2.0;
            if place + half <= free_to {
                labels.push((place, label));
                free_to = place - half - 8.0;
            }
        }
        labels
    }
}

impl<'a> Curve<'a> {
    /// Draws a line, with a gap where a point cannot be drawn.
    fn new(number: usize, line: &'a Line, plot: &Plot, x: &Scale, y: &Scale) -> Self {
        let (mut path, mut points, mut step) = (String::new(), Vec::new(), 'M');
        let count = line.points.len();
        for (at, point) in line.points.iter().enumerate() {
            if !is_drawn(plot, point) {
                step = 'M';
                continue;
            }
            let place = [x.place(point.0), y.place(point.1)];
            path += &format!("{step}{:.1},{:.1}", place[0], place[1]);
            step = 'L';
            if at % count.div_ceil(MOST_MARKERS) == 0 || at == count - 1 {
                let [x, y] = [point.0, point.1].map(|it| human(it, 4));
                points.push((place, format!("{}: {y} at {x}", line.label)));
            }
        }
        // A ninth line has the colour of the first, so at least its marker differs.
        let (colour, marker) = (number % KINDS, (number + number / KINDS) % KINDS);
        Self { label: &line.label, colour, marker, path, points }
    }
}

impl<'a> Bars<'a> {
    fn new(plot: &'a Plot, groups: &'a [String]) -> Self {
        let points = plot.lines.iter().enumerate().flat_map(|(number, line)| {
            line.points
                .iter()
                .map(move |(group, value)| (number, line.label.as_str(), *group, *value))
        });
        let mut values: Vec<_> = points.clone().map(|(.., value)| value).collect();
        values.retain(|value| is_placed(&plot.y, *value));
        // The least bar must be seen on a logarithmic axis; on a linear one, lengths are compared.
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        values.push(if plot.y.logarithmic { least.clamp(1e-99, 1e99) / 2.0 } else { 0.0 });
        let scale = Scale::new(&plot.y, &values, false, [0.0, 100.0]);
        let bar = |(number, label, _, value)| {
            let length = if is_placed(&plot.y, value) { scale.place(value) } else { 0.0 };
            Bar { label, colour: number % KINDS, length, value: human(value, 3) }
        };
        let of_group = |(at, name): (usize, &'a String)| {
            let bars = points.clone().filter(|(_, _, group, _)| *group == at as f64).map(bar);
            (name.as_str(), bars.collect())
        };
        Self { plot, groups: groups.iter().enumerate().map(of_group).collect() }
    }
}

fn is_drawn(plot: &Plot, (x, y): &(f64, f64)) -> bool {
    is_placed(&plot.x, *x) && is_placed(&plot.y, *y)
}

/// Returns true for values that have a place on an axis.
fn is_placed(axis: &Axis, value: f64) -> bool {
    // Larger numbers are mistakes and would hide all others.
    value.abs() < 1e99 && (!axis.logarithmic || value > 1e-99)
}

/// Returns the width of a text at the largest size that the stylesheet uses, 15.
fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * 9.6
}

/// Ends of the axes, in a drawing of 460 by 286.
const TOP: f64 = 30.0;
const BOTTOM: f64 = 240.0;
const RIGHT: f64 = 440.0;
/// Most markers of a line; more would cover it.
const MOST_MARKERS: usize = 14;
/// Number of colours, and of forms of markers.
const KINDS: usize = 8;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Plot, draw};

    fn line_of(points: &[(f64, f64)]) -> Plot {
        let mut plot = Plot::lines("t", "x", "y");
        points.iter().for_each(|&(x, y)| plot.point("varve", x, y));
        plot
    }

    fn bars_of(bars: &[(&str, f64)]) -> Plot {
        let mut plot = Plot::bars("t", "y");
        bars.iter().for_each(|(group, value)| plot.bar("a", group, *value));
        plot
    }

    #[test]
    fn bars_are_as_long_as_their_values_and_a_value_not_drawn_is_a_gap_and_told() {
        let odd = [(1.0, 1.0), (2.0, f64::NAN), (3.0, 2.0), (4.0, f64::INFINITY)];
        for (plot, words) in [
            (line_of(&[]), "nothing was measured"),
            (bars_of(&[]), "nothing was measured"),
            (line_of(&[(0.0, 0.0)]), "marker c0"),
            (line_of(&[(3.0, 7.0)]).log(true, true), "marker c0"),
            (line_of(&odd), "2 values are not drawn: not a number."),
            (line_of(&[(0.0, 5.0), (10.0, 0.0), (1.0, 3.0)]).log(true, true), "2 values are not"),
            (bars_of(&[("W1", 0.0), ("W2", 8.0)]).log(false, true), "width:0.0%\"></div>0<"),
            (bars_of(&[("W1", f64::NAN), ("W2", 5.0)]), "width:0.0%\"></div>-<"),
            (bars_of(&[("W1", f64::NAN)]).log(false, true), "width:0.0%\"></div>-<"),
            // As long as their values, on a linear axis.
            (bars_of(&[("W1", 2.5), ("W2", 5.0)]), "width:40.0%\"></div>2.5<"),
            (bars_of(&[("W1", 2.5), ("W2", 5.0)]), "width:80.0%\"></div>5<"),
        ] {
            let drawn = draw(&plot);
            assert!(drawn.contains(words), "{words}: {drawn}");
            assert_eq!(drawn.contains("not drawn"), words.contains("value"), "{words}");
            assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
        }
        let path = draw(&line_of(&odd)).split(" d=\"").last().unwrap().to_owned();
        assert_eq!(path.split('"').next().unwrap().matches('M').count(), 2, "{path}");
    }

    #[test]
    fn eight_lines_differ_in_colour_and_in_marker_and_nine_in_either() {
        let mut plot = line_of(&[]);
        (0..9).for_each(|line| plot.point(&format!("line {line}"), 1.0, f64::from(line)));
        let drawn = draw(&plot);
        let looks = drawn.split("class=\"marker ").skip(1).map(|it| it.split('"'));
        let looks: Vec<_> =
            looks.map(|mut look| (look.next().unwrap(), look.nth(1).unwrap())).collect();
        let (colours, markers): (BTreeSet<_>, BTreeSet<_>) = looks[..8].iter().copied().unzip();
        assert_eq!((colours.len(), markers.len()), (8, 8), "{drawn}");
        assert_eq!(looks.iter().collect::<BTreeSet<_>>().len(), 9, "{drawn}");
    }
}
