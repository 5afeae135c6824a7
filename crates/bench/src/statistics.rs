//! Statistics of a list of numbers.

/// Returns the median: the middle value or the mean of the two in the middle; NaN without values.
#[must_use]
pub fn median(values: Vec<f64>) -> f64 {
    Sorted::new(values).quantile(0.5)
}

/// Returns half the interquartile range as a fraction of the median, a spread that outliers do not
/// change. Absent with fewer than two values, or a median of zero.
#[must_use]
pub fn spread(values: &[f64]) -> Option<f64> {
    let sorted = Sorted::new(values.to_vec());
    let [low, middle, high] = [0.25, 0.5, 0.75].map(|part| sorted.quantile(part));
    (values.len() > 1 && middle != 0.0).then(|| (high - low) / 2.0 / middle.abs())
}

struct Sorted(Vec<f64>);

impl Sorted {
    fn new(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    /// Returns a quantile, interpolated between two values.
    fn quantile(&self, part: f64) -> f64 {
        let place = part * self.0.len().saturating_sub(1) as f64;
        let (below, above) = (place.floor() as usize, place.ceil() as usize);
        match (self.0.get(below), self.0.get(above)) {
            (Some(low), Some(high)) if below < above => low + (high - low) * place.fract(),
            (Some(value), _) => *value,
            _ => f64::NAN,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{median, spread};

    #[test]
    fn the_median_of_an_even_count_is_the_middle_of_two() {
        assert!((median(vec![4.0, 1.0, 3.0, 2.0]) - 2.5).abs() < 1e-9);
        assert!((median(vec![9.0, 1.0, 3.0]) - 3.0).abs() < 1e-9);
        assert!(median(Vec::new()).is_nan());
    }

    #[test]
    fn one_value_that_is_far_off_hardly_widens_the_spread() {
        assert_eq!(spread(&[2.0, 4.0, 6.0, 8.0, 10.0]), Some(2.0 / 6.0));
        assert_eq!(spread(&[2.0, 4.0, 6.0, 8.0, 1000.0]), Some(2.0 / 6.0));
        assert_eq!([spread(&[1.0]), spread(&[]), spread(&[-1.0, 0.0, 1.0])], [None; 3]);
    }
}
