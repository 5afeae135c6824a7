//! What of a plot can be drawn.

use super::super::plot::{Plot, Shape};

/// The points of each line that can be drawn; a gap where one cannot.
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

/// Values beyond these ends are mistakes; drawn, they would leave nothing else to be seen.
const LARGEST: f64 = 1e100;
const SMALLEST: f64 = 1e-100;
