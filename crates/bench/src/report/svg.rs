//! Plots as SVG for a page whose stylesheet gives colours and sizes of text.
//!
//! Written by hand: the SVG of `plotters` has its colours, fonts and dashes in each element and
//! knows no classes and no patterns, so that it cannot follow a dark scheme, cannot have larger
//! text on a narrow screen, and its bars cannot be told apart in black and white.

use askama::Template;

use super::plot::{Axis, Line, Plot, Shape};
use super::scale::{Scale, human};

/// A plot with legend, drawing and remarks.
#[derive(Template)]
#[template(path = "plot.html")]
pub(super) struct Drawing<'a> {
    plot: &'a Plot,
    /// Beginning of the names that the drawing defines.
    id: String,
    looks: Vec<Look<'a>>,
    /// Number of values that cannot be drawn.
    left_out: usize,
    paths: Vec<Path>,
    texts: Vec<Text>,
    /// Left end of the horizontal axis.
    left: f64,
    width: f64,
    height: f64,
}

/// Look of one line, or of the bars of one colour, and its points; a gap where one cannot be drawn.
struct Look<'a> {
    label: &'a str,
    /// Classes in the stylesheet.
    class: String,
    /// Path of a marker, relative to its middle.
    marker: &'static str,
    /// Fill of bars.
    fill: String,
    points: Vec<Option<(f64, f64)>>,
}

struct Path {
    /// Classes in the stylesheet.
    class: String,
    /// Steps, as SVG has them.
    d: String,
    /// Fill, unless it is that of the class.
    fill: String,
    /// Text that is shown when the pointer is over it.
    told: String,
}

struct Text {
    class: &'static str,
    anchor: &'static str,
    place: String,
    words: String,
}

impl<'a> Drawing<'a> {
    /// Draws a plot; the names that the drawing defines begin with `id`.
    pub fn new(plot: &'a Plot, id: String) -> Self {
        let looks = looks(plot, &id);
        let left_out = looks.iter().flat_map(|it| &it.points).filter(|it| it.is_none()).count();
        let (paths, texts) = (Vec::new(), Vec::new());
        let (left, width, height) = (0.0, width(plot), BOTTOM);
        let mut it = Self { plot, id, looks, left_out, paths, texts, left, width, height };
        let values: Vec<_> = it.points().map(|point| point.1).collect();
        let y = match plot.y.logarithmic {
            true => Scale::logarithmic(&values, false, [BOTTOM, TOP]),
            // Bars are compared by their length, lines by their slope.
            false => Scale::linear(&values, plot.shape != Shape::Lines, [BOTTOM, TOP]),
        };
        it.left = 8.0 + y.ticks.iter().map(|it| text_width(&y.label(*it))).fold(0.0, f64::max);
        match &plot.shape {
            Shape::Lines => it.height += 20.0,
            Shape::Bars { groups } => it.name_groups(groups),
        }
        // Ticks on an axis without values would look like measurements.
        for &tick in y.ticks.iter().filter(|_| !values.is_empty()) {
            it.level("grid", y.place(tick));
            it.text("tick", "end", [it.left - 6.0, y.place(tick) + 4.5], y.label(tick));
        }
        it.level("axis", BOTTOM);
        match &plot.shape {
            Shape::Lines => it.draw_lines(&y),
            Shape::Bars { groups } => it.draw_bars(groups, &y),
        }
        let middle = f64::midpoint(it.left, it.right());
        it.height += if plot.x.label.is_empty() { 4.0 } else { 24.0 };
        // The name of the vertical axis is above it, where it can be read upright.
        it.text("name", "start", [2.0, 13.0], plot.y.label.clone());
        it.text("name", "middle", [middle, it.height - 6.0], plot.x.label.clone());
        if values.is_empty() {
            let place = [middle, f64::midpoint(TOP, BOTTOM)];
            it.text("empty", "middle", place, "nothing was measured".to_owned());
        }
        it
    }

    fn right(&self) -> f64 {
        self.width - 14.0
    }

    fn is_wide(&self) -> bool {
        self.width > WIDTH
    }

    fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        self.looks.iter().flat_map(|look| &look.points).filter_map(|point| *point)
    }

    /// Adds a line from the left to the right end.
    fn level(&mut self, class: &str, y: f64) {
        let path = format!("M{:.1},{y:.1}H{:.1}", self.left, self.right());
        self.paths.push(Path::new(class, path));
    }

    fn text(&mut self, class: &'static str, anchor: &'static str, at: [f64; 2], words: String) {
        let place = format!("translate({:.1} {:.1})", at[0], at[1]);
        self.texts.push(Text { class, anchor, place, words });
    }

    fn draw_lines(&mut self, y: &Scale) {
        let values: Vec<_> = self.points().map(|point| point.0).collect();
        let places = [self.left + 6.0, self.right() - 6.0];
        let x = match self.plot.x.logarithmic {
            true => Scale::logarithmic(&values, true, places),
            false => Scale::linear(&values, false, places),
        };
        if !values.is_empty() {
            self.numbers_below(&x);
        }
        let place = |(at, value)| [x.place(at), y.place(value)];
        let mut markers = Vec::new();
        for look in &self.looks {
            let runs = look.points.split(Option::is_none).filter(|run| !run.is_empty());
            let steps = runs.flat_map(|run| {
                let places = run.iter().flatten().map(|point| place(*point)).enumerate();
                places.map(|(step, [x, y])| {
                    format!("{}{x:.1},{y:.1}", if step == 0 { 'M' } else { 'L' })
                })
            });
            self.paths.push(Path::new(&format!("line {}", look.class), steps.collect()));
            let (last, every) = (look.points.len() - 1, look.points.len().div_ceil(MOST_MARKERS));
            for (number, point) in look.points.iter().enumerate() {
                if let Some((at, value)) = point.filter(|_| number % every == 0 || number == last) {
                    let told = format!("{}: {} at {}", look.label, human(value, 4), human(at, 4));
                    markers.push(look.marker(place((at, value)), told));
                }
            }
        }
        // Markers of all lines are drawn above all lines.
        self.paths.append(&mut markers);
    }

    fn numbers_below(&mut self, x: &Scale) {
        let mut free_to = f64::INFINITY;
        // From the right, since the label at the end of the axis must not be left out.
        for &tick in x.ticks.iter().rev() {
            let (number, place) = (x.label(tick), x.place(tick));
            self.paths.push(Path::new("axis", format!("M{place:.1},{BOTTOM:.1}v4")));
            let half = text_width(&number) / 2.0;
            // The label may be wider than the room beside the axis.
            let middle = place.min(self.right() + 13.0 - half).max(half);
            if middle + half <= free_to {
                self.text("tick", "middle", [middle, BOTTOM + 18.0], number);
                free_to = middle - half - 8.0;
            }
        }
    }

    fn draw_bars(&mut self, groups: &[String], y: &Scale) {
        let group = (self.right() - self.left) / groups.len().max(1) as f64;
        let looks = self.looks.len() as f64;
        let bar = (group * 0.8 / looks.max(1.0)).min(56.0);
        let zero = if self.plot.y.logarithmic { BOTTOM } else { y.place(0.0) };
        // Numbers on some bars only would look like a statement.
        let fits = |value: f64| text_width(&human(value, 3)) <= bar + 3.0 && value >= 0.0;
        let are_numbered = self.points().all(|(_, value)| fits(value));
        let mut numbers = Vec::new();
        for (number, look) in self.looks.iter().enumerate() {
            for (x, value) in look.points.iter().flatten() {
                let left =
                    self.left + group * (x.floor() + 0.5) + bar * (number as f64 - looks / 2.0);
                let (top, size) =
                    (y.place(*value).min(zero), (y.place(*value) - zero).abs().max(0.5));
                let told = format!("{}, {}: {}", look.label, groups[*x as usize], human(*value, 4));
                let width = (bar - 1.5).max(1.0);
                self.paths.push(look.bar([left, top, width, size], told));
                numbers.push(([left + width / 2.0, top - 4.0], human(*value, 3)));
            }
        }
        for (place, number) in numbers.into_iter().filter(|_| are_numbered) {
            self.text("value", "middle", place, number);
        }
        self.level("axis", zero);
    }

    /// Adds the names of groups in lines of words if they fit below their groups, else slanted, for
    /// which the first may need room at the left.
    fn name_groups(&mut self, groups: &[String]) {
        let right = self.right();
        let group = |left: f64| (right - left) / groups.len().max(1) as f64;
        let most = (group(self.left) / CHARACTER) as usize;
        let wrapped: Option<Vec<_>> = groups.iter().map(|name| wrap(name, most)).collect();
        if let Some(wrapped) = wrapped {
            for (number, lines) in wrapped.iter().enumerate() {
                let x = self.left + group(self.left) * (number as f64 + 0.5);
                for (line, words) in lines.iter().enumerate() {
                    let y = BOTTOM + 17.0 + 15.0 * line as f64;
                    self.text("tick", "middle", [x, y], words.clone());
                }
            }
            self.height += 6.0 + 15.0 * wrapped.iter().map(Vec::len).max().unwrap_or(0) as f64;
            return;
        }
        let names: Vec<_> = groups.iter().map(|name| elide(name)).collect();
        let room = text_width(&names[0]) * ASLANT.cos() - group(self.left) / 2.0 + 6.0;
        self.left = self.left.max(room);
        for (number, name) in names.iter().enumerate() {
            let x = self.left + group(self.left) * (number as f64 + 0.5) + 4.0;
            self.text("tick", "end", [x, BOTTOM + 14.0], name.clone());
            let turn = format!(" rotate({:.0})", -ASLANT.to_degrees());
            self.texts.last_mut().expect("just added").place += &turn;
        }
        let widest = names.iter().map(|name| text_width(name)).fold(0.0, f64::max);
        self.height += 18.0 + widest * ASLANT.sin();
    }
}

impl Path {
    fn new(class: &str, d: String) -> Self {
        Self { class: class.to_owned(), d, fill: String::new(), told: String::new() }
    }
}

impl Look<'_> {
    fn marker(&self, [x, y]: [f64; 2], told: String) -> Path {
        let path = format!("M{x:.1},{y:.1}{}", self.marker);
        Path { told, ..Path::new(&format!("marker {}", self.class), path) }
    }

    fn bar(&self, [left, top, width, height]: [f64; 4], told: String) -> Path {
        let path = format!("M{left:.1},{top:.1}h{width:.1}v{height:.1}h-{width:.1}z");
        let fill = self.fill.clone();
        Path { told, fill, ..Path::new(&format!("bar {}", self.class), path) }
    }
}

/// Returns the looks of all lines of a plot; lines of the source have no colour.
fn looks<'a>(plot: &'a Plot, id: &str) -> Vec<Look<'a>> {
    let mut counts = [0; 2];
    let look = |line: &'a Line| {
        let number = counts[usize::from(line.is_paper)];
        counts[usize::from(line.is_paper)] += 1;
        let kind = number % KINDS;
        // A ninth line has the colour of the first, so at least its marker must differ.
        let marker = MARKERS[(number + number / KINDS) % KINDS];
        let (class, fill) = match (line.is_paper, kind) {
            (true, _) => (format!("paper dash{}", kind % 3), "var(--page)".to_owned()),
            (false, 0) => ("c0".to_owned(), "var(--c)".to_owned()),
            (false, _) => (format!("c{kind}"), format!("url(#{id}-hatch{kind})")),
        };
        let points = line.points.iter().map(|it| Some(*it).filter(|it| is_drawn(plot, *it)));
        Look { label: &line.label, class, marker, fill, points: points.collect() }
    };
    plot.lines.iter().map(look).collect()
}

/// Returns true for points that have a place.
fn is_drawn(plot: &Plot, (x, y): (f64, f64)) -> bool {
    // Larger numbers are mistakes and would hide all others.
    let fits = |axis: &Axis, it: f64| it.abs() < 1e100 && (!axis.logarithmic || it > 1e-100);
    let has_place = match &plot.shape {
        Shape::Lines => fits(&plot.x, x),
        Shape::Bars { groups } => (0.0..groups.len() as f64).contains(&x),
    };
    has_place && fits(&plot.y, y)
}

/// Returns the width of the drawing; many bars make it wider.
fn width(plot: &Plot) -> f64 {
    let Shape::Bars { groups } = &plot.shape else { return WIDTH };
    let group = plot.lines.len() as f64 * 10.0 + 12.0;
    (groups.len() as f64 * group + 60.0).clamp(WIDTH, 1600.0).round()
}

/// Breaks a name into up to three lines of so many characters, if the words fit.
fn wrap(name: &str, most: usize) -> Option<Vec<String>> {
    let mut lines: Vec<String> = Vec::new();
    for word in name.split_whitespace() {
        match lines.last_mut() {
            Some(line) if format!("{line} {word}").chars().count() <= most => {
                *line = format!("{line} {word}");
            }
            _ => lines.push(word.to_owned()),
        }
    }
    let fits = lines.len() <= 3 && lines.iter().all(|line| line.chars().count() <= most);
    fits.then_some(lines)
}

/// Returns the name of a group, or its beginning if it is too long to be slanted.
fn elide(name: &str) -> String {
    let beginning: String = name.chars().take(LONGEST).collect();
    if beginning == name { beginning } else { beginning + "…" }
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use askama::Template;

    use super::{Drawing, Plot};

    fn drawn(plot: &Plot) -> String {
        let text = Drawing::new(plot, "p".to_owned()).render().unwrap();
        for attribute in ["d=\"", "Box=\"", "transform=\""] {
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
    fn what_cannot_be_drawn_leaves_a_gap_and_is_told() {
        let odd = line_of(&[(1.0, 1.0), (2.0, f64::NAN), (3.0, 2.0), (4.0, f64::INFINITY)]);
        let mut without_group = bars_of(&[("W1", -5.0), ("W2", 5.0)]);
        without_group.point("a", 9.0, 1.0);
        for (plot, told) in [
            (&line_of(&[]), "nothing was measured"),
            (&bars_of(&[]), "nothing was measured"),
            (&Plot::bars("t", vec!["a".to_owned()], "y").log_y(), "nothing was measured"),
            (&line_of(&[(0.0, 0.0)]), "marker c0\" d=\"M"),
            (&line_of(&[(3.0, 7.0)]).log_x().log_y(), "marker c0\" d=\"M"),
            (&odd, "2 values are not drawn: not a number."),
            (&line_of(&[(0.0, 5.0), (10.0, 0.0), (1.0, 3.0)]).log_x().log_y(), "2 values are not"),
            (
                &bars_of(&[("W1", 0.0), ("W2", 8.0)]).log_y(),
                "1 value is not drawn: not a number, or",
            ),
            (&without_group, "1 value is not drawn"),
        ] {
            let text = drawn(plot);
            assert!(text.contains(told), "{told}: {text}");
            assert_eq!(text.contains("not drawn"), told.contains("value"), "{told}");
        }
        let text = drawn(&odd);
        let line = text.split("class=\"line c0\"").nth(2).unwrap().split('>').next().unwrap();
        assert_eq!(line.matches('M').count(), 2, "{line}");
    }

    #[test]
    fn eight_lines_differ_in_colour_and_in_marker_and_the_source_takes_no_colour() {
        let mut plot = line_of(&[(1.0, 1.0)]);
        plot.lines[0].is_paper = true;
        (0..8).for_each(|line| plot.point(&format!("line {line}"), 1.0, f64::from(line)));
        let text = drawn(&plot);
        let legend = text.split("</ul>").next().unwrap();
        assert!(legend.contains("line paper dash0"), "{legend}");
        assert!(text.rfind("\"grid\"") < text.rfind("\"line c0\""), "the grid covers no line");
        let looks = || legend.split("class=\"marker c").skip(1).map(|it| it.split('"'));
        let colours: BTreeSet<_> = looks().map(|mut look| look.next()).collect();
        let markers: BTreeSet<_> = looks().map(|mut look| look.nth(2)).collect();
        assert_eq!((colours.len(), markers.len()), (8, 8), "{legend}");
    }

    #[test]
    fn bars_differ_in_pattern_and_long_names_of_groups_stand_aslant() {
        let mut plot = bars_of(&[("two words", 1.0)]);
        plot.bar("b", "two words", 2.0);
        let text = drawn(&plot);
        assert!(text.contains("fill:url(#p-hatch1)") && text.contains("id=\"p-hatch1\""), "{text}");
        assert!(!text.contains("rotate("));
        (0..12).for_each(|it| plot.bar("b", &format!("Collections-under-churn-{it}"), 1.0));
        assert!(drawn(&plot).contains("rotate("));
    }
}
