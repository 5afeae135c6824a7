//! Plots as data for a page.

use serde::{Deserialize, Deserializer, Serialize};

/// Lines or bars over an axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plot {
    pub title: String,
    /// Lines or bars.
    pub shape: Shape,
    pub x: Axis,
    pub y: Axis,
    /// Lines, or bars of one colour each.
    pub lines: Vec<Line>,
}

/// Drawing of the points of a plot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Points, joined in their order.
    Lines,
    /// Groups of bars; `x` of a point is the number of its group, from zero.
    Bars { groups: Vec<String> },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Axis {
    /// Measured quantity with its unit.
    pub label: String,
    /// True if equal distances stand for equal factors.
    #[serde(default)]
    pub logarithmic: bool,
}

/// One line, or the bars of one colour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// Name in the legend.
    pub label: String,
    /// Points. JSON has no NaN or infinity and writes null for them.
    #[serde(deserialize_with = "points")]
    pub points: Vec<(f64, f64)>,
}

impl Plot {
    /// Creates a plot of lines over two linear axes, without lines.
    pub fn lines(title: impl Into<String>, x: &str, y: &str) -> Self {
        let axis = |label: &str| Axis { label: label.to_owned(), logarithmic: false };
        Self { title: title.into(), shape: Shape::Lines, x: axis(x), y: axis(y), lines: Vec::new() }
    }

    /// Creates a plot of bars in named groups, without bars.
    pub fn bars(title: impl Into<String>, y: &str) -> Self {
        Self { shape: Shape::Bars { groups: Vec::new() }, ..Self::lines(title, "", y) }
    }

    /// Makes axes logarithmic.
    pub fn log(mut self, x: bool, y: bool) -> Self {
        (self.x.logarithmic, self.y.logarithmic) = (x, y);
        self
    }

    /// Adds a point to the line of this name; adds the line if there is none.
    pub fn point(&mut self, label: &str, x: f64, y: f64) {
        if let Some(line) = self.lines.iter_mut().find(|line| line.label == label) {
            line.points.push((x, y));
        } else {
            let points = vec![(x, y)];
            self.lines.push(Line { label: label.to_owned(), points });
        }
    }

    /// Adds a bar to the group of this name; adds the group if there is none. Without effect on
    /// lines.
    pub fn bar(&mut self, label: &str, group: &str, y: f64) {
        let Shape::Bars { groups } = &mut self.shape else { return };
        let known = groups.iter().position(|it| it == group);
        let number = known.unwrap_or_else(|| {
            groups.push(group.to_owned());
            groups.len() - 1
        });
        self.point(label, number as f64, y);
    }
}

fn points<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(f64, f64)>, D::Error> {
    let points: Vec<(Option<f64>, Option<f64>)> = Vec::deserialize(deserializer)?;
    let number = |value: Option<f64>| value.unwrap_or(f64::NAN);
    Ok(points.into_iter().map(|(x, y)| (number(x), number(y))).collect())
}
