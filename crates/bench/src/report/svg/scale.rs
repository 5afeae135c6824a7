//! Mapping from values to positions on the drawing, and the ticks of an axis.

/// A range of values, and the positions between which it is drawn.
pub(super) struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    logarithmic: bool,
    /// Values of the axis that get a number.
    pub ticks: Vec<f64>,
    digits: i32,
}

/// Choice of the range of an axis.
#[derive(Clone, Copy)]
pub(super) struct Range {
    /// True if equal distances stand for equal factors.
    pub logarithmic: bool,
    /// True if a linear axis includes zero.
    pub has_zero: bool,
    /// True if it ends at ticks and not at the extreme values.
    pub is_rounded: bool,
}

impl Scale {
    /// Returns the scale of all these values; only of those above zero if it is logarithmic.
    pub fn over(values: &[f64], range: Range) -> Self {
        let mut scale =
            if range.logarithmic { logarithmic(values, range) } else { linear(values, range) };
        // Ticks on an axis without values would look like measurements.
        scale.ticks.retain(|_| !values.is_empty());
        scale
    }

    /// Sets the positions between which the range is drawn.
    pub fn between(mut self, from: f64, to: f64) -> Self {
        (self.from, self.to) = (from, to);
        self
    }

    /// Returns the position of a value; values out of the range are drawn at its ends.
    pub fn place(&self, value: f64) -> f64 {
        let value = if self.logarithmic { value.max(f64::MIN_POSITIVE).log10() } else { value };
        let part = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        self.from + part * (self.to - self.from)
    }

    /// Returns the text of a tick.
    pub fn label(&self, tick: f64) -> String {
        // Sizes are mostly powers of two, and 65.5k says less than 64Ki.
        if self.logarithmic && tick >= 1024.0 && is_power_of_two(tick) {
            let (divisor, suffix) = if tick >= MI * KI {
                (MI * KI, "Gi")
            } else if tick >= MI {
                (MI, "Mi")
            } else {
                (KI, "Ki")
            };
            return format!("{:.0}{suffix}", tick / divisor);
        }
        human(tick, self.digits)
    }
}

/// Formats a number with so many significant digits at most, and a suffix from thousands on.
pub(super) fn human(value: f64, digits: i32) -> String {
    let size = value.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    if !(1e-4..1e15).contains(&size) {
        return format!("{value:.1e}").replace(".0e", "e");
    }
    let steps = [(1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")];
    let (divisor, suffix) = steps.into_iter().find(|it| size >= it.0).unwrap_or((1.0, ""));
    let number = value / divisor;
    let decimals = (digits - 1 - number.abs().log10().floor() as i32).clamp(0, 9) as usize;
    let text = format!("{number:.decimals$}");
    let text = if decimals > 0 { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    format!("{text}{suffix}")
}

fn is_power_of_two(value: f64) -> bool {
    value < 1e15 && value.fract() == 0.0 && (value as u64).is_power_of_two()
}

fn extremes(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let ends = |ends: Option<(f64, f64)>, value: f64| {
        Some(ends.map_or((value, value), |(low, high)| (low.min(value), high.max(value))))
    };
    values.fold(None, ends)
}

fn linear(values: &[f64], range: Range) -> Scale {
    let (mut low, mut high) = extremes(values.iter().copied()).unwrap_or((0.0, 1.0));
    // If the values change little, the distance to zero would hide the change.
    if range.has_zero || low == high {
        (low, high) = (low.min(0.0), high.max(0.0));
    }
    if low == high {
        high = low + 1.0;
    }
    let step = round_step((high - low) / 5.0);
    if range.is_rounded {
        (low, high) = ((low / step).floor() * step, (high / step).ceil() * step);
    }
    let first = (low / step - 1e-9).ceil();
    let count = ((high / step + 1e-9).floor() - first).clamp(0.0, 20.0) as usize;
    let ticks: Vec<_> = (0..=count).map(|number| (first + number as f64) * step).collect();
    let digits = (low.abs().max(high.abs()) / step).log10().floor() as i32 + 2;
    Scale { low, high, from: 0.0, to: 1.0, logarithmic: false, ticks, digits: digits.max(3) }
}

/// Returns the least value of the form 1, 2 or 5 times a power of ten that is not below `least`.
fn round_step(least: f64) -> f64 {
    let power = 10f64.powf(least.log10().floor());
    let factor = [1.0, 2.0, 5.0].into_iter().find(|factor| factor * power >= least * 0.999);
    factor.unwrap_or(10.0) * power
}

fn logarithmic(values: &[f64], range: Range) -> Scale {
    let above = || values.iter().copied().filter(|&value| value > 0.0);
    let (mut low, mut high) = extremes(above()).unwrap_or((1.0, 10.0));
    let mut ticks = distinct(above());
    if range.is_rounded {
        // Half of the least value, so that its bar is still visible above the axis.
        (low, high) = (floor_125(if range.has_zero { low / 2.0 } else { low }), ceil_125(high));
    }
    if low == high {
        (low, high) = (low / 2.0, high * 2.0);
    }
    if range.is_rounded || ticks.len() > MOST_VALUES {
        let inside = |tick: &f64| (low * 0.999..=high * 1.001).contains(tick);
        ticks = decades(low, high).into_iter().filter(inside).collect();
    }
    let (low, high) = (low.log10(), high.log10());
    Scale { low, high, from: 0.0, to: 1.0, logarithmic: true, ticks, digits: 3 }
}

fn distinct(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values.dedup();
    values
}

fn decades(low: f64, high: f64) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let factors: &[f64] = if last - first <= 3 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let every = (last - first) as usize / 10 + 1;
    let powers = (first..=last).step_by(every).map(|power| 10f64.powi(power));
    powers.flat_map(|power| factors.iter().map(move |factor| factor * power)).collect()
}

fn floor_125(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let factor = [5.0, 2.0].into_iter().find(|factor| factor * power <= value * 1.001);
    factor.unwrap_or(1.0) * power
}

fn ceil_125(value: f64) -> f64 {
    round_step(value)
}

/// Most values for which a logarithmic axis has a tick at each value.
const MOST_VALUES: usize = 10;
const KI: f64 = 1024.0;
const MI: f64 = KI * KI;

#[cfg(test)]
mod tests {
    use super::{Range, Scale, human};

    fn labels(values: &[f64], logarithmic: bool, is_rounded: bool) -> Vec<String> {
        let scale = Scale::over(values, Range { logarithmic, has_zero: true, is_rounded });
        scale.ticks.iter().map(|&tick| scale.label(tick)).collect()
    }

    #[test]
    fn numbers_are_short_for_people() {
        let short = |value| human(value, 3);
        assert_eq!(short(0.0), "0");
        assert_eq!(short(0.5), "0.5");
        assert_eq!(short(-12.34), "-12.3");
        assert_eq!(short(1000.0), "1k");
        assert_eq!(short(10_000.0), "10k");
        assert_eq!(short(1_250_000.0), "1.25M");
        assert_eq!(short(3e9), "3G");
        assert_eq!(short(1e-6), "1e-6");
    }

    #[test]
    fn an_axis_has_round_numbers_from_zero_to_above_the_largest() {
        assert_eq!(labels(&[3.0, 87.0], false, true), ["0", "20", "40", "60", "80", "100"]);
        assert_eq!(labels(&[-1.0, 1.0], false, true), ["-1", "-0.5", "0", "0.5", "1"]);
    }

    #[test]
    fn numbers_of_an_axis_differ_though_the_values_are_close() {
        let range = Range { logarithmic: false, has_zero: false, is_rounded: true };
        let scale = Scale::over(&[10_000.0, 10_004.0], range);
        let mut labels: Vec<_> = scale.ticks.iter().map(|&tick| scale.label(tick)).collect();
        let count = labels.len();
        labels.dedup();
        assert!(count >= 3 && labels.len() == count, "{labels:?}");
    }

    #[test]
    fn a_logarithmic_axis_has_powers_or_its_few_values() {
        assert_eq!(
            labels(&[1.5, 9e6], true, true),
            ["1", "10", "100", "1k", "10k", "100k", "1M", "10M"]
        );
        assert_eq!(labels(&[64.0, 4096.0, 1_048_576.0], true, false), ["64", "4Ki", "1Mi"]);
    }

    #[test]
    fn every_place_is_a_number_whatever_the_values() {
        for values in [&[][..], &[0.0], &[5.0], &[-3.0, -3.0], &[1e-9, 1e90], &[0.0, -1.0]] {
            for logarithmic in [false, true] {
                for is_rounded in [false, true] {
                    let range = Range { logarithmic, has_zero: false, is_rounded };
                    let scale = Scale::over(values, range).between(10.0, 20.0);
                    for &value in values.iter().chain(&scale.ticks) {
                        let place = scale.place(value);
                        assert!((10.0..=20.0).contains(&place), "{values:?}: {value} at {place}");
                    }
                    assert!(scale.ticks.len() <= 40, "{values:?}");
                }
            }
        }
    }
}
