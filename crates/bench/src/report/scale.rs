//! Mapping from values to positions on the drawing, and the ticks of an axis.

/// A range of values, and the positions between which it is drawn.
pub(super) struct Scale {
    logarithmic: bool,
    ends: [f64; 2],
    places: [f64; 2],
    /// Values of the axis that get a number.
    pub ticks: Vec<f64>,
    digits: i32,
}

impl Scale {
    /// Creates an axis of equal distances that ends at round numbers.
    pub fn linear(values: &[f64], is_from_zero: bool, places: [f64; 2]) -> Self {
        let [mut low, mut high] = extremes(values).unwrap_or([0.0, 1.0]);
        let largest = low.abs().max(high.abs());
        // If the values change little, the distance to zero would hide the change.
        if is_from_zero || low == high || high - low >= 0.2 * largest {
            (low, high) = (low.min(0.0), high.max(0.0));
        }
        if low == high {
            high = 1.0;
        }
        let step = at_least((high - low) / 5.0);
        let (first, last) = ((low / step).floor(), (high / step).ceil());
        let ticks = (first as i64..=last as i64).map(|number| number as f64 * step).collect();
        let digits = ((largest / step).log10().floor() as i32 + 2).max(3);
        let ends = [first * step, last * step];
        Self { logarithmic: false, ends, places, ticks, digits }
    }

    /// Creates an axis of equal factors for values above zero. It has ticks at the values if they
    /// are few, as sizes and numbers of threads are, and else at round numbers.
    pub fn logarithmic(values: &[f64], has_ticks_at_values: bool, places: [f64; 2]) -> Self {
        let [low, high] = extremes(values).unwrap_or([1.0, 10.0]);
        let mut ticks = values.to_vec();
        ticks.sort_by(f64::total_cmp);
        ticks.dedup();
        let mut ends = if low == high { [low / 2.0, high * 2.0] } else { [low, high] };
        if !has_ticks_at_values || ticks.len() > MOST_TICKS {
            // Half of the least value, so that its bar is still visible above the axis.
            ends = [at_most(low / 2.0), at_least(high)];
            let inside = |tick: &f64| (ends[0] * 0.999..=ends[1] * 1.001).contains(tick);
            ticks = round_numbers(&[1.0, 2.0, 5.0]).filter(inside).collect();
            if ticks.len() > MOST_TICKS {
                ticks = round_numbers(&[1.0]).filter(inside).collect();
            }
            let every = ticks.len() / MOST_TICKS + 1;
            ticks = ticks.into_iter().step_by(every).collect();
        }
        Self { logarithmic: true, ends: ends.map(f64::log10), places, ticks, digits: 3 }
    }

    /// Returns the position of a value; values out of the range are drawn at its ends.
    pub fn place(&self, value: f64) -> f64 {
        let value = if self.logarithmic { value.log10() } else { value };
        let ([low, high], [from, to]) = (self.ends, self.places);
        from + ((value - low) / (high - low)).clamp(0.0, 1.0) * (to - from)
    }

    /// Returns the text of a tick.
    pub fn label(&self, tick: f64) -> String {
        // Sizes are mostly powers of two, and 65.5k says less than 64Ki.
        let is_size = tick.fract() == 0.0 && (tick as u64).is_power_of_two();
        match self.logarithmic && is_size {
            true => with_suffix(tick, 4, &[(KI * KI * KI, "Gi"), (KI * KI, "Mi"), (KI, "Ki")]),
            false => human(tick, self.digits),
        }
    }
}

/// Formats a number with so many significant digits at most, and a suffix from thousands on.
pub(super) fn human(value: f64, digits: i32) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        1e-4..1e15 => {
            with_suffix(value, digits, &[(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")])
        }
        _ => format!("{value:.1e}").replace(".0e", "e"),
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

/// Returns these factors times all powers of ten, in their order.
fn round_numbers(factors: &[f64]) -> impl DoubleEndedIterator<Item = f64> {
    let powers = (-110..=110).map(|power| 10f64.powi(power));
    powers.flat_map(move |power| factors.iter().map(move |factor| factor * power))
}

fn at_least(value: f64) -> f64 {
    round_numbers(&[1.0, 2.0, 5.0]).find(|it| *it >= value * 0.999).unwrap_or(value)
}

fn at_most(value: f64) -> f64 {
    round_numbers(&[1.0, 2.0, 5.0]).rfind(|it| *it <= value * 1.001).unwrap_or(value)
}

const MOST_TICKS: usize = 10;
const KI: f64 = 1024.0;

#[cfg(test)]
mod tests {
    use super::{Scale, human};

    #[test]
    fn numbers_are_short_for_people() {
        let numbers = [0.0, 0.5, -12.34, 1000.0, 10_000.0, 1_250_000.0, 3e9, 1e-6];
        let texts = ["0", "0.5", "-12.3", "1k", "10k", "1.25M", "3G", "1e-6"];
        assert_eq!(numbers.map(|number| human(number, 3)), texts);
    }

    #[test]
    fn an_axis_has_few_round_numbers_that_differ_or_its_values() {
        let linear = |values: &[f64]| Scale::linear(values, false, [0.0, 1.0]);
        let logarithmic = |values, of_values| Scale::logarithmic(values, of_values, [0.0, 1.0]);
        for (scale, labels) in [
            (linear(&[3.0, 87.0]), "0 20 40 60 80 100"),
            (linear(&[-1.0, 1.0]), "-1 -0.5 0 0.5 1"),
            (linear(&[10_000.0, 10_001.0]), "10k 10.0002k 10.0004k 10.0006k 10.0008k 10.001k"),
            (logarithmic(&[1.5, 9e6], false), "1 10 100 1k 10k 100k 1M 10M"),
            (logarithmic(&[64.0, 4096.0, 1_048_576.0], true), "64 4Ki 1Mi"),
        ] {
            let told: Vec<_> = scale.ticks.iter().map(|&tick| scale.label(tick)).collect();
            assert_eq!(told.join(" "), labels);
        }
    }

    #[test]
    fn every_place_is_within_the_drawing_whatever_the_values() {
        for values in [&[][..], &[0.0], &[5.0], &[-3.0, -3.0], &[1e-9, 1e90], &[0.0, -1.0]] {
            let above: Vec<_> = values.iter().copied().filter(|it| *it > 0.0).collect();
            for flag in [false, true] {
                let linear = (Scale::linear(values, flag, [10.0, 20.0]), values);
                let logarithmic = (Scale::logarithmic(&above, flag, [10.0, 20.0]), &above[..]);
                for (scale, values) in [linear, logarithmic] {
                    for &value in values.iter().chain(&scale.ticks) {
                        assert!((10.0..=20.0).contains(&scale.place(value)), "{values:?}: {value}");
                    }
                    assert!(scale.ticks.len() <= 20, "{values:?}");
                }
            }
        }
    }
}
