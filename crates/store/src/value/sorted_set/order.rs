//! Order of rows by score and member.

use super::bound::Bound;
use super::score::{score_of, sort_key};
use packed::{Element, Place};
use std::cmp::Ordering;
use tree::{Nodes, Order, Rows, Separator, shortest_between};

/// Number of rows checked one by one from the row at which a score is expected.
const STEPS: usize = 8;

/// Order by score, then by the bytes of the member.
#[derive(Debug)]
pub(super) enum ByScore {}

impl ByScore {
    /// Returns true if the row at `place` is below a bound.
    #[inline]
    pub fn is_below_bound<'n>(
        nodes: impl Nodes<'n>,
        rows: Rows<'_>,
        place: Place,
        bound: &Bound<'_>,
    ) -> bool {
        let packed = rows.packed();
        let key = sort_key(score_of(packed.at(place)));
        if key != bound.key {
            return key < bound.key;
        }
        !bound.is_at_front()
            && with_member(nodes, packed.at(packed.after(place)), |member| {
                bound.is_above_member(member)
            })
    }

    /// Returns the first row of a leaf that is not below a bound. The search starts where the score
    /// would be if scores were evenly distributed, and falls back to a binary search.
    #[inline]
    pub fn seek<'n>(nodes: impl Nodes<'n>, rows: Rows<'_>, bound: &Bound<'_>) -> usize {
        nodes.prefetch_bytes(rows.codes());
        let is_below = |place: Place| Self::is_below_bound(nodes, rows, place, bound);
        let (mut low, mut high) = (0, rows.len());
        if let Some(guess) = guess(nodes, rows, bound) {
            let packed = rows.packed();
            let mut place = rows.place(guess);
            if is_below(place) {
                low = guess + 1;
                while low < high && low <= guess + STEPS {
                    place = packed.after(packed.after(place));
                    if !is_below(place) {
                        return low;
                    }
                    low += 1;
                }
            } else {
                high = guess;
                while high > 0 && high + STEPS > guess {
                    place = packed.before(packed.before(place));
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

/// Row at which the score of a bound is expected; `None` if there are few rows, or all have one
/// score.
#[inline]
fn guess<'n>(nodes: impl Nodes<'n>, rows: Rows<'_>, bound: &Bound<'_>) -> Option<usize> {
    let packed = rows.packed();
    let last = rows.len().checked_sub(1).filter(|last| *last >= STEPS)?;
    let first_key = sort_key(score_of(packed.at(packed.front())));
    let last_key = sort_key(score_of(packed.at(packed.before(packed.before(packed.end())))));
    let span = last_key.checked_sub(first_key).filter(|span| *span > 0)?;
    let from_first = bound.key.clamp(first_key, last_key) - first_key;
    let row = (u128::from(from_first) * last as u128 / u128::from(span)) as usize;
    nodes.prefetch_bytes(rows.about(row));
    Some(row)
}

/// Passes the member that an element of a leaf stands for to `use_member`.
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
