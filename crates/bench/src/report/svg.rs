//! Plots as SVG for a page whose stylesheet gives colours and sizes of text.
//!
//! Written by hand: the SVG of `plotters` has its colours, fonts and dashes in each element and
//! knows no classes and no patterns, so that it cannot follow a dark scheme, cannot have larger
//! text on a narrow screen, and its bars cannot be told apart in black and white.

use maud::{Markup, html};

use super::plot::{Axis, Line, Plot, Shape};
use super::scale::{Scale, human};

/// Points of a line in the order of the plot; a gap where one cannot be drawn.
type Points = Vec<Option<(f64, f64)>>;

/// Renders heading, legend, drawing and remarks; the names that it defines begin with `id`.
pub(super) fn figure(plot: &Plot, id: &str) -> Markup {
    let lines: Vec<_> = plot.lines.iter().map(|line| points(plot, line)).collect();
    let left_out = lines.iter().flatten().filter(|point| point.is_none()).count();
    let width = width(plot);
    let is_wide = width > WIDTH;
    let drawing = Drawing { plot, id, looks: looks(&plot.lines, id), lines, left: 0.0, width };
    html! {
        figure.wide[is_wide] tabindex=[is_wide.then_some("0")] {
            figcaption { (plot.title) }
            (drawing.legend())
            (drawing.draw())
            @if left_out > 0 {
                p.remark {
                    (left_out) (if left_out == 1 { " value is" } else { " values are" })
                    " not drawn: not a number"
                    @if plot.x.logarithmic || plot.y.logarithmic {
                        ", or not above zero on a logarithmic axis"
                    }
                    "."
                }
            }
        }
    }
}

/// A plot, and what its parts need to be drawn.
struct Drawing<'a> {
    plot: &'a Plot,
    id: &'a str,
    looks: Vec<Look>,
    lines: Vec<Points>,
    /// Left end of the horizontal axis.
    left: f64,
    width: f64,
}

/// Look of one line, or of the bars of one colour.
struct Look {
    /// Classes in the stylesheet.
    class: String,
    /// Path of a marker, relative to its middle.
    marker: &'static str,
    /// Fill of bars.
    fill: String,
}

impl Drawing<'_> {
    /// Renders the legend as a list beside the drawing, where it covers nothing and wraps on a
    /// narrow screen.
    fn legend(&self) -> Markup {
        let is_lines = self.plot.shape == Shape::Lines;
        html! {
            ul.legend {
                @for (line, look) in self.plot.lines.iter().zip(&self.looks) {
                    li {
                        svg.key viewBox="0 0 32 14" width="32" height="14" aria-hidden="true" {
                            @if is_lines {
                                path class={ "line " (look.class) } d="M1,7h30" {}
                                (look.marker([16.0, 7.0], None))
                            } @else {
                                (look.bar([8.0, 1.0, 16.0, 12.0], None))
                            }
                        }
                        (line.label)
                    }
                }
            }
        }
    }

    fn draw(mut self) -> Markup {
        let (plot, width) = (self.plot, self.width);
        let y = self.scale(&plot.y, |point| point.1, [BOTTOM, TOP]);
        let widest = y.ticks.iter().map(|&tick| text_width(&y.label(tick))).fold(0.0, f64::max);
        self.left = widest + 8.0;
        let (below, depth) = match &plot.shape {
            Shape::Lines => (None, 20.0),
            Shape::Bars { groups } => {
                let (labels, depth) = self.group_labels(groups);
                (Some((labels, groups)), depth)
            }
        };
        let height = BOTTOM + depth + if plot.x.label.is_empty() { 4.0 } else { 24.0 };
        let middle = f64::midpoint(self.left, self.right());
        let name = |axis: &Axis| elide(&axis.label, (width / CHARACTER) as usize);
        let is_empty = self.lines.iter().flatten().flatten().next().is_none();
        let least = if width > WIDTH { width * 0.72 } else { 0.0 };
        html! {
            svg.plot viewBox=(format!("0 0 {width:.0} {height:.0}")) role="img"
                aria-label=(plot.title)
                style=(format!("min-width:{least:.0}px;max-width:{:.0}px", width * 1.3)) {
                @for &tick in &y.ticks {
                    (self.level("grid", y.place(tick)))
                    (label("tick", [self.left - 6.0, y.place(tick) + 4.5], "end", &y.label(tick)))
                }
                (self.level("axis", BOTTOM))
                @match below {
                    None => { (self.draw_lines(&y)) }
                    Some((labels, groups)) => { (labels) (self.draw_bars(groups, &y)) }
                }
                // The name of the vertical axis is above it, where it can be read upright.
                (label("name", [2.0, 13.0], "start", &name(&plot.y)))
                (label("name", [middle, height - 6.0], "middle", &name(&plot.x)))
                @if is_empty {
                    (label("empty", [middle, f64::midpoint(TOP, BOTTOM)], "middle", "nothing was measured"))
                }
            }
        }
    }

    fn right(&self) -> f64 {
        self.width - 14.0
    }

    fn scale(&self, axis: &Axis, value: fn(&(f64, f64)) -> f64, places: [f64; 2]) -> Scale {
        let values: Vec<_> = self.lines.iter().flatten().flatten().map(value).collect();
        match axis.logarithmic {
            true => Scale::logarithmic(&values, std::ptr::eq(axis, &raw const self.plot.x), places),
            // Bars are compared by their length, lines by their slope.
            false => Scale::linear(&values, self.plot.shape != Shape::Lines, places),
        }
    }

    /// Renders a line from the left to the right end.
    fn level(&self, class: &str, y: f64) -> Markup {
        let path = format!("M{:.1},{y:.1}H{:.1}", self.left, self.right());
        html! { path class=(class) d=(path) {} }
    }

    fn draw_lines(&self, y: &Scale) -> Markup {
        let x = self.scale(&self.plot.x, |point| point.0, [self.left + 6.0, self.right() - 6.0]);
        let place = |point: &(f64, f64)| [x.place(point.0), y.place(point.1)];
        let path = |points: &Points| {
            let runs = points.split(Option::is_none).filter(|run| !run.is_empty());
            let steps = |run: &[Option<(f64, f64)>]| {
                let places = run.iter().flatten().map(place);
                format!(
                    "M{}",
                    places.map(|[x, y]| format!("{x:.1},{y:.1}")).collect::<Vec<_>>().join("L")
                )
            };
            runs.map(steps).collect::<String>()
        };
        let told = |line: &Line, (x, y): &(f64, f64)| {
            format!("{}: {} at {}", line.label, human(*y, 4), human(*x, 4))
        };
        html! {
            (self.numbers_below(&x))
            @for (points, look) in self.lines.iter().zip(&self.looks) {
                path class={ "line " (look.class) } d=(path(points)) {}
            }
            // Markers of all lines are drawn above all lines.
            @for ((line, points), look) in self.plot.lines.iter().zip(&self.lines).zip(&self.looks) {
                @for (number, point) in points.iter().enumerate() {
                    @if let (Some(point), true) = (point, is_marked(number, points.len())) {
                        (look.marker(place(point), Some(told(line, point))))
                    }
                }
            }
        }
    }

    fn numbers_below(&self, x: &Scale) -> Markup {
        let mut free_to = f64::INFINITY;
        // From the right, since the label at the end of the axis must not be left out.
        let labels = x.ticks.iter().rev().map(|&tick| {
            let number = x.label(tick);
            let half = text_width(&number) / 2.0;
            // The label may be wider than the room beside the axis.
            let middle = x.place(tick).min(self.right() + 13.0 - half).max(half);
            let is_free = middle + half <= free_to;
            if is_free {
                free_to = middle - half - 8.0;
            }
            html! {
                path.axis d=(format!("M{:.1},{BOTTOM:.1}v4", x.place(tick))) {}
                @if is_free { (label("tick", [middle, BOTTOM + 18.0], "middle", &number)) }
            }
        });
        html! { @for label in labels { (label) } }
    }

    fn draw_bars(&self, groups: &[String], y: &Scale) -> Markup {
        let group = (self.right() - self.left) / groups.len().max(1) as f64;
        let looks = self.looks.len() as f64;
        let bar = (group * 0.8 / looks.max(1.0)).min(56.0);
        let zero = if self.plot.y.logarithmic { BOTTOM } else { y.place(0.0) };
        // Numbers on some bars only would look like a statement.
        let fits = |value: f64| text_width(&human(value, 3)) <= bar + 3.0 && value >= 0.0;
        let are_numbered = self.lines.iter().flatten().flatten().all(|point| fits(point.1));
        let one = |number: usize, (x, value): (f64, f64)| {
            let left = self.left + group * (x.floor() + 0.5) + bar * (number as f64 - looks / 2.0);
            let (top, size) = (y.place(value).min(zero), (y.place(value) - zero).abs().max(0.5));
            let (width, line) = ((bar - 1.5).max(1.0), &self.plot.lines[number].label);
            let told = format!("{line}, {}: {}", groups[x as usize], human(value, 4));
            html! {
                (self.looks[number].bar([left, top, width, size], Some(told)))
                @if are_numbered {
                    (label("value", [left + width / 2.0, top - 4.0], "middle", &human(value, 3)))
                }
            }
        };
        html! {
            (self.patterns())
            @for (number, points) in self.lines.iter().enumerate() {
                @for point in points.iter().flatten() { (one(number, *point)) }
            }
            (self.level("axis", zero))
        }
    }

    /// Renders the patterns that fill bars.
    fn patterns(&self) -> Markup {
        html! {
            defs {
                @for (kind, lines) in HATCHES.iter().enumerate().take(self.looks.len()).skip(1) {
                    pattern id={ (self.id) "-hatch" (kind) } width="8" height="8"
                        patternUnits="userSpaceOnUse" {
                        rect class={ "filled c" (kind) } width="8" height="8" {}
                        path.hatch d=(lines) {}
                    }
                }
            }
        }
    }

    /// Renders the names of groups in lines of words if they fit below their groups, else slanted,
    /// for which the first may need room at the left; returns also the height that they take.
    fn group_labels(&mut self, groups: &[String]) -> (Markup, f64) {
        let group = |left: f64| (self.width - 14.0 - left) / groups.len().max(1) as f64;
        let most = (group(self.left) / CHARACTER) as usize;
        let wrapped: Vec<_> = groups.iter().map(|name| wrap(name, most)).collect();
        let fits = |lines: &Vec<String>| {
            lines.len() <= 3 && lines.iter().all(|line| line.chars().count() <= most)
        };
        if wrapped.iter().all(fits) {
            let (left, group) = (self.left, group(self.left));
            let at = |number, line| {
                [left + group * (number as f64 + 0.5), BOTTOM + 17.0 + 15.0 * line as f64]
            };
            let labels = html! {
                @for (number, lines) in wrapped.iter().enumerate() {
                    @for (line, words) in lines.iter().enumerate() {
                        (label("tick", at(number, line), "middle", words))
                    }
                }
            };
            let lines = wrapped.iter().map(Vec::len).max().unwrap_or(0);
            return (labels, 6.0 + 15.0 * lines as f64);
        }
        let names: Vec<_> = groups.iter().map(|name| elide(name, LONGEST)).collect();
        let widest = names.iter().map(|name| text_width(name)).fold(0.0, f64::max);
        let left = text_width(&names[0]) * ASLANT.cos() - group(self.left) / 2.0 + 6.0;
        let left = self.left.max(left);
        let turn = |number: usize| {
            let x = left + group(left) * (number as f64 + 0.5) + 4.0;
            format!("translate({x:.1} {:.1}) rotate({:.0})", BOTTOM + 14.0, -ASLANT.to_degrees())
        };
        let labels = html! {
            @for (number, name) in names.iter().enumerate() {
                text.tick text-anchor="end" transform=(turn(number)) { (name) }
            }
        };
        self.left = left;
        (labels, 18.0 + widest * ASLANT.sin())
    }
}

impl Look {
    /// Renders a marker at a position, with a text that is shown when the pointer is over it.
    fn marker(&self, [x, y]: [f64; 2], told: Option<String>) -> Markup {
        html! {
            path class={ "marker " (self.class) } d=(format!("M{x:.1},{y:.1}{}", self.marker)) {
                @if let Some(told) = told { title { (told) } }
            }
        }
    }

    /// Renders a bar of this left, top, width and height.
    fn bar(&self, place: [f64; 4], told: Option<String>) -> Markup {
        let [x, y, width, height] = place.map(|it| format!("{it:.1}"));
        html! {
            rect class={ "bar " (self.class) } x=(x) y=(y) width=(width) height=(height)
                style={ "fill:" (self.fill) } {
                @if let Some(told) = told { title { (told) } }
            }
        }
    }
}

/// Returns the looks of all lines of a plot; lines of the source have no colour.
fn looks(lines: &[Line], id: &str) -> Vec<Look> {
    let number =
        |at: usize| lines[..at].iter().filter(|it| it.is_paper == lines[at].is_paper).count();
    let look = |at: usize| {
        let (number, is_paper) = (number(at), lines[at].is_paper);
        let kind = number % KINDS;
        // A ninth line has the colour of the first, so at least its marker must differ.
        let marker = MARKERS[(number + number / KINDS) % KINDS];
        let (class, fill) = match (is_paper, kind) {
            (true, _) => (format!("paper dash{}", kind % 3), "var(--page)".to_owned()),
            (false, 0) => ("c0".to_owned(), "var(--c)".to_owned()),
            (false, _) => (format!("c{kind}"), format!("url(#{id}-hatch{kind})")),
        };
        Look { class, marker, fill }
    };
    (0..lines.len()).map(look).collect()
}

fn points(plot: &Plot, line: &Line) -> Points {
    let groups = match &plot.shape {
        Shape::Lines => None,
        Shape::Bars { groups } => Some(groups.len()),
    };
    let is_drawn = |&(x, y): &(f64, f64)| match groups {
        Some(groups) => (0.0..groups as f64).contains(&x) && plot.y.can_show(y),
        None => plot.x.can_show(x) && plot.y.can_show(y),
    };
    line.points.iter().map(|point| Some(*point).filter(is_drawn)).collect()
}

impl Axis {
    /// Returns true for numbers that have a place. Larger ones are mistakes and would hide all
    /// others.
    fn can_show(&self, value: f64) -> bool {
        value.abs() < 1e100 && (!self.logarithmic || value > 1e-100)
    }
}

/// Returns the width of the drawing; many bars make it wider.
fn width(plot: &Plot) -> f64 {
    let Shape::Bars { groups } = &plot.shape else { return WIDTH };
    let group = plot.lines.len() as f64 * 10.0 + 12.0;
    (groups.len() as f64 * group + 60.0).clamp(WIDTH, 1600.0)
}

fn is_marked(number: usize, points: usize) -> bool {
    number.is_multiple_of(points.div_ceil(MOST_MARKERS)) || number + 1 == points
}

fn label(class: &str, [x, y]: [f64; 2], anchor: &str, text: &str) -> Markup {
    let [x, y] = [x, y].map(|place| format!("{place:.1}"));
    html! { text class=(class) x=(x) y=(y) text-anchor=(anchor) { (text) } }
}

/// Breaks a name into lines of so many characters, where its words allow it.
fn wrap(name: &str, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in name.split_whitespace() {
        match lines.last_mut() {
            Some(line) if format!("{line} {word}").chars().count() <= most => {
                *line = format!("{line} {word}");
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// Returns the text if it is short enough, else its beginning and an ellipsis.
fn elide(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    let beginning: String = text.chars().take(most.saturating_sub(1)).collect();
    beginning.trim_end().to_owned() + "…"
}

/// Returns the width of a text at the largest size that the stylesheet uses.
fn text_width(text: &str) -> f64 {
    text.chars().count() as f64 * CHARACTER
}

const WIDTH: f64 = 460.0;
/// Upper and lower end of the vertical axis.
const TOP: f64 = 34.0;
const BOTTOM: f64 = 244.0;
/// Width of a character at the largest size of text that the stylesheet uses, 15.
const CHARACTER: f64 = 9.6;
/// Most markers of a line; more would cover it.
const MOST_MARKERS: usize = 14;
/// Most characters in the name of a group that is slanted.
const LONGEST: usize = 24;
/// Angle of slanted names, in radians.
const ASLANT: f64 = 0.62;
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{Plot, figure};

    fn drawn(plot: &Plot) -> String {
        let text = figure(plot, "p").into_string();
        for attribute in ["d=\"", "x=\"", "y=\"", "height=\""] {
            for value in text.split(attribute).skip(1).map(|it| it.split('"').next().unwrap()) {
                assert!(!value.contains("NaN") && !value.contains("inf"), "{value}");
            }
        }
        text
    }

    fn line_of(points: &[(f64, f64)]) -> Plot {
        let mut plot = Plot::lines("t", "x", "y");
        points.iter().for_each(|&(x, y)| plot.point("varve", x, y));
        plot
    }

    fn bars_of(bars: &[(&str, f64)]) -> Plot {
        let mut plot = Plot::bars("t", Vec::new(), "y");
        bars.iter().for_each(|(group, value)| plot.bar("a", group, *value));
        plot
    }

    #[test]
    fn what_cannot_be_drawn_is_told() {
        let empty_group = || Plot::bars("t", vec!["a".to_owned()], "y");
        let odd = [(1.0, 1.0), (2.0, f64::NAN), (3.0, 2.0), (4.0, f64::INFINITY)];
        let mut without_group = bars_of(&[("W1", -5.0), ("W2", 5.0)]);
        without_group.point("a", 9.0, 1.0);
        let marker = "<path class=\"marker c0\"";
        for (plot, told) in [
            (line_of(&[]), "nothing was measured"),
            (bars_of(&[]), "nothing was measured"),
            (empty_group().log_y(), "nothing was measured"),
            (line_of(&[(0.0, 0.0)]), marker),
            (line_of(&[(3.0, 7.0)]).log_x().log_y(), marker),
            (line_of(&odd), "2 values are not drawn: not a number."),
            (line_of(&[(0.0, 5.0), (10.0, 0.0), (1.0, 3.0)]).log_x().log_y(), "2 values are not"),
            (
                bars_of(&[("W1", 0.0), ("W2", 8.0)]).log_y(),
                "1 value is not drawn: not a number, or",
            ),
            (without_group, "1 value is not drawn"),
        ] {
            let text = drawn(&plot);
            assert!(text.contains(told), "{told}: {text}");
            assert_eq!(text.contains("not drawn"), told.contains("value"), "{told}");
        }
        let text = drawn(&line_of(&odd));
        let path = text.split("class=\"line c0\" d=\"").nth(2).unwrap().split('"').next().unwrap();
        assert_eq!(path.matches('M').count(), 2, "a gap: {path}");
    }

    #[test]
    fn eight_lines_differ_in_colour_and_in_marker_and_the_source_has_neither() {
        let mut plot = Plot::lines("t", "x", "y");
        plot.point("paper", 1.0, 1.0);
        plot.lines[0].is_paper = true;
        (0..8).for_each(|line| plot.point(&format!("line {line}"), 1.0, f64::from(line)));
        let text = drawn(&plot);
        let legend = text.split("</ul>").next().unwrap();
        assert!(legend.contains("line paper dash0"), "{legend}");
        let looks = legend.split("class=\"marker c").skip(1);
        let looks: Vec<_> = looks.map(|it| it.split('"').step_by(2).take(2)).collect();
        let [colours, markers] = [0, 1].map(|part| {
            looks.iter().map(|look| look.clone().nth(part).unwrap()).collect::<BTreeSet<_>>()
        });
        assert_eq!((colours.len(), markers.len()), (8, 8), "{legend}");
    }

    #[test]
    fn bars_differ_in_pattern_and_long_names_of_groups_stand_aslant() {
        let mut plot = bars_of(&[("two words", 1.0)]);
        plot.bar("b", "two words", 2.0);
        let text = drawn(&plot);
        assert!(text.contains("fill:url(#p-hatch1)") && text.contains("id=\"p-hatch1\""), "{text}");
        assert!(!text.contains("rotate("));
        let names: Vec<_> = (0..12).map(|it| format!("Collections-under-churn-{it}")).collect();
        let bars: Vec<_> = names.iter().map(|name| (name.as_str(), 1.0)).collect();
        assert!(drawn(&bars_of(&bars)).contains("rotate("));
    }
}
