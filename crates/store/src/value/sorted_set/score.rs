//! Scores as elements, and as sort keys.

use packed::Element;

const SCORE_BYTES: usize = size_of::<f64>();

/// Maps a score to a number with the same order. Both zeros give the same number.
#[inline]
pub(super) fn sort_key(score: f64) -> u64 {
    let bits = (score + 0.0).to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

/// Score as an element: an integer if that loses nothing, otherwise eight bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Score {
    whole: Option<i64>,
    bytes: [u8; SCORE_BYTES],
}

impl Score {
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "what was rounded off is compared with the score"
    )]
    pub fn new(score: f64) -> Score {
        let whole = score as i64;
        let is_whole = whole as f64 == score && !(score == 0.0 && score.is_sign_negative());
        Score { whole: is_whole.then_some(whole), bytes: score.to_le_bytes() }
    }

    /// Returns the score for a small set, where both zeros are the same.
    #[inline]
    pub fn without_sign_of_zero(score: f64) -> Score {
        Score::new(score + 0.0)
    }

    #[inline]
    pub fn element(&self) -> Element<'_> {
        match self.whole {
            Some(whole) => Element::Integer(whole),
            None => Element::Bytes(&self.bytes),
        }
    }
}

/// Returns the score that an element stands for.
#[inline]
pub(super) fn score_of(element: Option<Element<'_>>) -> f64 {
    match element {
        Some(Element::Integer(whole)) => whole as f64,
        Some(Element::Bytes(bytes)) => {
            bytes.first_chunk().map_or(0.0, |it| f64::from_le_bytes(*it))
        }
        _ => 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RISING: [f64; 9] =
        [f64::NEG_INFINITY, -1e300, -2.0, -5e-324, 0.0, 5e-324, 1.0, 1e18, f64::INFINITY];

    #[test]
    fn sort_keys_are_ordered_as_scores_are() {
        for pair in RISING.windows(2) {
            assert!(sort_key(pair[0]) < sort_key(pair[1]), "{pair:?}");
        }
        assert_eq!(sort_key(0.0), sort_key(-0.0));
    }

    #[test]
    fn scores_are_read_as_they_were_written() {
        let whole = [1.0, -7.0, 9_007_199_254_740_992.0, 9_223_372_036_854_775_808.0, 1e18];
        let digits = f64::from_le_bytes(*b"12345678");
        let others = [digits, 0.5, -0.0, 1e300, f64::INFINITY, f64::NEG_INFINITY, 5e-324, -1e19];
        for score in whole.into_iter().chain(others) {
            let read = score_of(Some(Score::new(score).element()));
            assert_eq!(read.to_bits(), score.to_bits(), "{score}");
        }
        assert!(whole.iter().all(|score| Score::new(*score).whole.is_some()));
        assert!(others.iter().all(|score| Score::new(*score).whole.is_none()));
        assert!(Score::without_sign_of_zero(-0.0).whole.is_some());
    }
}
