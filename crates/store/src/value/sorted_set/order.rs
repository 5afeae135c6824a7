//! Scores as elements, and the order of rows by score and member.

use super::bound::Bound;
use packed::{Element, Place};
use std::cmp::Ordering;
use tree::{Nodes, Order, Rows, Separator, shortest_between};

const SCORE_BYTES: usize = size_of::<f64>();
/// Rows that are passed one by one from where a score is expected.
const STEPS: usize = 8;

/// A score as a number that is ordered as scores are. The two zeros are one.
#[inline]
pub(super) fn sort_key(score: f64) -> u64 {
    let bits = (score + 0.0).to_bits();
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

/// A score as an element: an integer where that loses nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Score {
    whole: Option<i64>,
    bytes: [u8; SCORE_BYTES],
}

impl Score {
    #[inline]
    pub fn new(score: f64) -> Score {
        let whole = score as i64;
        let is_whole = whole as f64 == score && !(score == 0.0 && score.is_sign_negative());
        Score { whole: is_whole.then_some(whole), bytes: score.to_le_bytes() }
    }

    /// Of a small set, in which the two zeros are one.
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

/// The score that an element stands for.
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

/// By score, then by the bytes of the member.
#[derive(Debug)]
pub(super) enum ByScore {}

impl ByScore {
    /// Where a row of a leaf stands to a bound.
    #[inline]
    pub fn is_below_bound<'n>(
        nodes: impl Nodes<'n>,
        rows: Rows<'_>,
        place: Place,
        bound: &Bound<'_>,
    ) -> bool {
        let run = rows.run();
        let key = sort_key(score_of(run.at(place)));
        if key != bound.key {
            return key < bound.key;
        }
        !bound.is_at_front()
            && with_member(nodes, run.at(run.after(place)), |member| bound.is_above_member(member))
    }

    /// The first row of a leaf that is not below a bound. Scores are looked for where they should
    /// be if they rose evenly, and otherwise by halves.
    #[inline]
    pub fn seek<'n>(nodes: impl Nodes<'n>, rows: Rows<'_>, bound: &Bound<'_>) -> usize {
        nodes.announce_bytes(rows.codes());
        let is_below = |place: Place| Self::is_below_bound(nodes, rows, place, bound);
        let (mut low, mut high) = (0, rows.len());
        if let Some(guess) = guess(nodes, rows, bound) {
            let run = rows.run();
            let mut place = rows.place(guess);
            if is_below(place) {
                low = guess + 1;
                while low < high && low <= guess + STEPS {
                    place = run.after(run.after(place));
                    if !is_below(place) {
                        return low;
                    }
                    low += 1;
                }
            } else {
                high = guess;
                while high > 0 && high + STEPS > guess {
                    place = run.before(run.before(place));
                    if is_below(place) {
                        return high;
                    }
                    high -= 1;
                }
            }
        }
        rows.partition_from((low, rows.place(low)), high, is_below).0
    }

    fn key_of<'n>(nodes: impl Nodes<'n>, rows: Rows<'_>, row: usize) -> (u64, Vec<u8>) {
        let key = sort_key(score_of(rows.cell(row, 0)));
        (key, with_member(nodes, rows.cell(row, 1), |member| member.to_text()))
    }
}

/// The row in which the score of a bound is expected; none where there are few rows, or all have
/// one score.
#[inline]
fn guess<'n>(nodes: impl Nodes<'n>, rows: Rows<'_>, bound: &Bound<'_>) -> Option<usize> {
    let run = rows.run();
    let last = rows.len().checked_sub(1).filter(|last| *last >= STEPS)?;
    let first_key = sort_key(score_of(run.at(run.front())));
    let last_key = sort_key(score_of(run.at(run.before(run.before(run.end())))));
    let span = last_key.checked_sub(first_key).filter(|span| *span > 0)?;
    let from_first = bound.key.clamp(first_key, last_key) - first_key;
    let row = (u128::from(from_first) * last as u128 / u128::from(span)) as usize;
    nodes.announce_bytes(rows.about(row));
    Some(row)
}

/// Gives what an element of a leaf stands for to `use_member`.
#[inline]
fn with_member<'n, T>(
    nodes: impl Nodes<'n>,
    element: Option<Element<'_>>,
    use_member: impl FnOnce(Element<'_>) -> T,
) -> T {
    match element {
        Some(Element::Far(far)) => use_member(Element::Bytes(nodes.bytes(far.node))),
        Some(near) => use_member(near),
        None => use_member(Element::Bytes(&[])),
    }
}

impl Order for ByScore {
    fn separator<'n>(nodes: impl Nodes<'n>, left: Rows<'_>, right: Rows<'_>) -> Separator {
        let below = Self::key_of(nodes, left, left.len() - 1);
        let above = Self::key_of(nodes, right, 0);
        if below.0 != above.0 {
            return shortest_between(&below.0.to_be_bytes(), &above.0.to_be_bytes());
        }
        let mut separator = Separator::from_slice(&above.0.to_be_bytes());
        separator.extend_from_slice(&shortest_between(&below.1, &above.1));
        separator
    }

    fn is_below<'n>(nodes: impl Nodes<'n>, rows: Rows<'_>, row: usize, separator: &[u8]) -> bool {
        Self::is_below_bound(nodes, rows, rows.place(row), &Bound::of_separator(separator))
    }

    fn cmp_rows<'n>(nodes: impl Nodes<'n>, rows: Rows<'_>, row: usize, other: usize) -> Ordering {
        Self::key_of(nodes, rows, row).cmp(&Self::key_of(nodes, rows, other))
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
