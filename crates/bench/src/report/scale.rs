//! Mapping from values to places on a drawing, and the ticks of an axis.

use super::Axis;

/// A range of values, and the places between which it is drawn.
pub(super) struct Scale {
    logarithmic: bool,
    ends: [f64; 2],
    places: [f64; 2],
    /// Values of the axis that get a label, and the label.
    pub ticks: Vec<(f64, String)>,
}

impl Scale {
    /// Creates a scale of values, with ticks at them if they are few and `at_values`, as sizes
    /// and numbers of threads are, and else at round numbers.
    pub fn new(axis: &Axis, values: &[f64], at_values: bool, places: [f64; 2]) -> Self {
        let mut scale = match axis.logarithmic {
            true => Self::logarithmic(values, at_values, places),
            false => Self::linear(values, places),
        };
        if values.is_empty() {
            // They would look like measurements.
            scale.ticks.clear();
        }
        scale
    }

    /// Equal distances, up to round numbers.
    fn linear(values: &[f64], places: [f64; 2]) -> Self {
        let [mut low, mut high] = extremes(values).unwrap_or([0.0, 1.0]);
        let largest = low.abs().max(high.abs());
        // If the values change little, the distance to zero would hide the change.
        if low == high || high - low >= 0.2 * largest {
            (low, high) = (low.min(0.0), high.max(0.0));
        }
        if high - low < 1e-99 {
            high = low + 1.0;
        }
        let step = at_least((high - low) / 5.0);
        let (first, last) = ((low / step).floor(), (high / step).ceil());
        let digits = ((largest / step).log10().floor() as i32 + 2).max(3);
        let tick = |number| (number as f64 * step, human(number as f64 * step, digits));
        let ticks = (first as i64..=last as i64).map(tick).collect();
        Self { logarithmic: false, ends: [first * step, last * step], places, ticks }
    }

    /// Equal factors, for values above zero.
    fn logarithmic(values: &[f64], at_values: bool, places: [f64; 2]) -> Self {
        let [low, high] = extremes(values).unwrap_or([1.0, 10.0]);
        let mut ticks = if at_values { values.to_vec() } else { Vec::new() };
        ticks.sort_by(f64::total_cmp);
        ticks.dedup();
        let mut ends = if low == high { [low / 2.0, high * 2.0] } else { [low, high] };
        if ticks.is_empty() || ticks.len() > MOST_TICKS {
            ends = [at_most(ends[0]), at_least(ends[1])];
            ticks = round_numbers(&[1.0, 2.0, 5.0], ends);
            if ticks.len() > MOST_TICKS {
                ticks = round_numbers(&[1.0], ends);
            }
            let every = ticks.len() / MOST_TICKS + 1;
            ticks = ticks.into_iter().step_by(every).collect();
        }
        let ticks = ticks.into_iter().map(|tick| (tick, human_size(tick))).collect();
        Self { logarithmic: true, ends: ends.map(f64::log10), places, ticks }
    }

    /// Returns the places of the ticks, and their labels.
    pub fn labels(&self) -> impl DoubleEndedIterator<Item = (f64, &str)> {
        self.ticks.iter().map(|(tick, label)| (self.place(*tick), label.as_str()))
    }

    /// Returns the place of a value; values out of the range are drawn at its ends.
    pub fn place(&self, value: f64) -> f64 {
        let value = if self.logarithmic { value.log10() } else { value };
        let ([low, high], [from, to]) = (self.ends, self.places);
        from + ((value - low) / (high - low)).clamp(0.0, 1.0) * (to - from)
    }
}

/// Formats a number with so many significant digits at most, and a suffix from thousands on; a dash
/// if it is none.
pub(super) fn human(value: f64, digits: i32) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        none if none.is_nan() => "-".to_owned(),
        1e-4..1e15 => {
            with_suffix(value, digits, &[(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")])
        }
        _ => format!("{value:.1e}").replace(".0e", "e"),
    }
}

/// Formats a power of two in its own suffixes, since 65.5k says less than 64Ki.
fn human_size(value: f64) -> String {
    match value.fract() == 0.0 && (value as u64).is_power_of_two() {
        true => with_suffix(value, 4, &[(KI * KI * KI, "Gi"), (KI * KI, "Mi"), (KI, "Ki")]),
        false => human(value, 3),
    }
}

fn with_suffix(value: f64, digits: i32, suffixes: &[(f64, &str)]) -> String {
    let fitting = suffixes.iter().find(|(divisor, _)| value.abs() >= *divisor);
    let (divisor, suffix) = *fitting.unwrap_or(&(1.0, ""));
    let number = value / divisor;
    let decimals = (digits - 1 - number.abs().log10().floor() as i32).clamp(0, 9) as usize;
    let text = format!("{number:.decimals$}");
    let text = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{suffix}")
}

fn extremes(values: &[f64]) -> Option<[f64; 2]> {
    let low = values.iter().copied().reduce(f64::min)?;
    Some([low, values.iter().copied().reduce(f64::max)?])
}

/// Returns these factors times all powers of ten between two values, ordered.
fn round_numbers(factors: &[f64], [low, high]: [f64; 2]) -> Vec<f64> {
    let powers = low.log10().floor() as i32..=high.log10().ceil() as i32;
    let all = powers.flat_map(|power| factors.iter().map(move |it| it * 10f64.powi(power)));
    all.filter(|it| (low * 0.999..=high * 1.001).contains(it)).collect()
}

fn at_least(value: f64) -> f64 {
    *round_numbers(&[1.0, 2.0, 5.0], [value, value * 10.0]).first().unwrap_or(&value)
}

fn at_most(value: f64) -> f64 {
    *round_numbers(&[1.0, 2.0, 5.0], [value / 10.0, value]).last().unwrap_or(&value)
}

const MOST_TICKS: usize = 10;
const KI: f64 = 1024.0;

#[cfg(test)]
mod tests {
    use super::Scale;

    #[test]
    fn an_axis_has_few_round_numbers_that_differ_or_its_values() {
        let linear = |values: &[f64]| Scale::linear(values, [0.0, 1.0]);
        let logarithmic = |values, at_values| Scale::logarithmic(values, at_values, [0.0, 1.0]);
        for (scale, labels) in [
            (linear(&[3.0, 87.0]), "0 20 40 60 80 100"),
            (linear(&[-1.0, 1.0]), "-1 -0.5 0 0.5 1"),
            (linear(&[10_000.0, 10_001.0]), "10k 10.0002k 10.0004k 10.0006k 10.0008k 10.001k"),
            (linear(&[0.0, 3e-6]), "0 1e-6 2e-6 3e-6"),
            (logarithmic(&[1.5, 9e6], false), "1 10 100 1k 10k 100k 1M 10M"),
            (logarithmic(&[30.0, 90.0], false), "20 50 100"),
            (logarithmic(&[64.0, 4096.0, 1_048_576.0], true), "64 4Ki 1Mi"),
        ] {
            let labelled: Vec<_> = scale.ticks.into_iter().map(|(_, label)| label).collect();
            assert_eq!(labelled.join(" "), labels);
        }
    }

    #[test]
    fn every_place_is_within_the_drawing_whatever_the_values() {
        for values in [&[][..], &[0.0], &[5.0], &[-3.0, -3.0], &[1e-9, 1e90], &[0.0, -1.0]] {
            let above: Vec<_> = values.iter().copied().filter(|it| *it > 0.0).collect();
            let places = [10.0, 20.0];
            for (scale, values) in [
                (Scale::linear(values, places), values),
                (Scale::logarithmic(&above, false, places), &above),
                (Scale::logarithmic(&above, true, places), &above),
            ] {
                for value in values.iter().chain(scale.ticks.iter().map(|(tick, _)| tick)) {
                    assert!((10.0..=20.0).contains(&scale.place(*value)), "{values:?}: {value}");
                }
                assert!(scale.ticks.len() <= 20, "{values:?}");
            }
        }
    }
}
