//! Statistics of a list of numbers.

/// Returns the median: the middle value or the mean of the two in the middle; NaN without values.
pub fn median(values: Vec<f64>) -> f64 {
    let [median] = quantiles(values, [0.5]);
    median
}

/// Returns half the interquartile range as a fraction of the median, a spread that outliers do not
/// change. Absent with fewer than two values, or a median of zero.
pub fn spread(values: &[f64]) -> Option<f64> {
    let [low, middle, high] = quantiles(values.to_vec(), [0.25, 0.5, 0.75]);
    (values.len() > 1 && middle != 0.0).then(|| (high - low) / 2.0 / middle.abs())
}

/// Returns the geometric mean.
pub fn geometric_mean(values: &[f64]) -> f64 {
    let sum: f64 = values.iter().map(|value| value.ln()).sum();
    (sum / values.len() as f64).exp()
}

/// Returns quantiles, interpolated between two values.
fn quantiles<const N: usize>(mut values: Vec<f64>, parts: [f64; N]) -> [f64; N] {
    values.sort_by(f64::total_cmp);
    parts.map(|part| {
        let place = part * values.len().saturating_sub(1) as f64;
        let at = |place: f64| values.get(place as usize).copied().unwrap_or(f64::NAN);
        let (low, high) = (at(place.floor()), at(place.ceil()));
        if low == high { low } else { low + (high - low) * place.fract() }
    })
}

#[cfg(test)]
mod tests {
    use super::{median, spread};

    #[test]
    fn the_middle_counts_and_one_value_that_is_far_off_hardly_widens_the_spread() {
        assert!((median(vec![4.0, 1.0, 3.0, 2.0]) - 2.5).abs() < 1e-9);
        assert!((median(vec![9.0, 1.0, 3.0]) - 3.0).abs() < 1e-9);
        assert!(median(Vec::new()).is_nan());
        assert_eq!(spread(&[2.0, 4.0, 6.0, 8.0, 10.0]), Some(2.0 / 6.0));
        assert_eq!(spread(&[2.0, 4.0, 6.0, 8.0, 1000.0]), Some(2.0 / 6.0));
        assert_eq!([spread(&[1.0]), spread(&[]), spread(&[-1.0, 0.0, 1.0])], [None; 3]);
    }
}
