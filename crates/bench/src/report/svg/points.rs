//! Points of a plot that can be drawn.

use super::super::plot::{Plot, Shape};

/// Drawable points of each line; a gap where one cannot be drawn.
pub(super) struct Points {
    pub lines: Vec<Vec<Option<(f64, f64)>>>,
    pub left_out: usize,
}

impl Points {
    pub fn of(plot: &Plot) -> Self {
        let is_drawn = |value: f64, logarithmic: bool| {
            value.abs() < LARGEST && (!logarithmic || value > SMALLEST)
        };
        let groups = match &plot.shape {
            Shape::Lines => None,
            Shape::Bars { groups } => Some(groups.len()),
        };
        let drawn = |&(x, y): &(f64, f64)| {
            let has_place = groups.is_none_or(|groups| (0.0..groups as f64).contains(&x));
            (has_place && is_drawn(x, plot.x.logarithmic && groups.is_none()))
                .then_some((x, y))
                .filter(|_| is_drawn(y, plot.y.logarithmic))
        };
        let lines: Vec<Vec<_>> =
            plot.lines.iter().map(|line| line.points.iter().map(drawn).collect()).collect();
        let left_out = lines.iter().flatten().filter(|point| point.is_none()).count();
        Self { lines, left_out }
    }

    pub fn all(&self) -> impl Iterator<Item = (f64, f64)> {
        self.lines.iter().flatten().filter_map(|&point| point)
    }
}

/// Largest value that is drawn; larger ones are mistakes and would hide all others.
const LARGEST: f64 = 1e100;
const SMALLEST: f64 = 1e-100;
