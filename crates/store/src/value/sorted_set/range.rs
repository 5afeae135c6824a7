//! Ranges of a sorted set by rank, score or member, from either end.

use super::bound::{Bound, LexRange, ScoreRange};
use super::read::SortedSet;
use super::score::sort_key;
use crate::value::list;
use packed::Element;

/// Selection of members.
#[derive(Clone, Copy, Debug)]
pub enum Pick<'t> {
    /// Ranks from one to another, both included; negative ones count from the end.
    Ranks(i64, i64),
    /// Members with scores in a range.
    Scores(ScoreRange),
    /// Range of members, all of which have the same score.
    Members(LexRange<'t>),
}

/// Range of ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Lowest rank.
    pub from: u64,
    /// Number of ranks.
    pub count: u64,
}

impl Span {
    /// Returns the `count` ranks that follow the first `offset`; if `is_reverse`, those before the
    /// last `offset`.
    #[must_use]
    pub fn part(self, offset: u64, count: u64, is_reverse: bool) -> Span {
        let left = self.count.saturating_sub(offset);
        let count = left.min(count);
        let skipped = if is_reverse { left - count } else { self.count - left };
        Span { from: self.from + skipped, count }
    }
}

impl<'x> SortedSet<'x> {
    /// Returns the ranks of the selected members; ranks in `pick` count from the other end if
    /// `is_reverse`.
    #[inline]
    pub fn span(&self, pick: &Pick<'_>, is_reverse: bool) -> Span {
        match pick {
            Pick::Ranks(start, end) => {
                let (from, count) = list::range(self.len(), *start, *end);
                let from = if is_reverse { self.len() - from - count } else { from };
                Span { from, count }
            }
            Pick::Scores(range) => self.between(range.bounds()),
            Pick::Members(range) => self.between_members(range),
        }
    }

    /// Finds a range of members. If all have one score, they are ordered by their bytes; otherwise
    /// that order is assumed, and scores are ignored.
    fn between_members(&self, range: &LexRange<'_>) -> Span {
        let key = |rank: u64| self.get(rank).map_or(0, |(_, score)| sort_key(score));
        let (lowest, highest) = (key(0), key(self.len() - 1));
        if lowest == highest {
            return self.between(range.bounds(lowest));
        }
        let [from, to] = range.bounds(0).map(|bound| self.bisect(&bound));
        Span { from, count: to.saturating_sub(from) }
    }

    /// Counts the members below a bound by binary search, ignoring scores.
    fn bisect(&self, bound: &Bound<'_>) -> u64 {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            let is_below = self.get(middle).is_some_and(|(member, _)| bound.is_above(member));
            if is_below { low = middle + 1 } else { high = middle }
        }
        low
    }

    #[inline]
    fn between(&self, [from, to]: [Bound<'_>; 2]) -> Span {
        let from = self.rank_of(&from);
        Span { from, count: self.rank_of(&to).saturating_sub(from) }
    }

    /// Passes the members of a span to `each` as long as it returns true, the last one first if
    /// `is_reverse`.
    #[inline]
    pub fn each_while(
        &self,
        span: Span,
        is_reverse: bool,
        mut each: impl FnMut(Element<'x>, f64) -> bool,
    ) {
        let count = usize::try_from(span.count).unwrap_or(usize::MAX);
        if count == 0 {
            return;
        }
        if is_reverse {
            let last = span.from + span.count - 1;
            self.iter_back_from(last).take(count).all(|(member, score)| each(member, score));
        } else {
            self.iter_from(span.from).take(count).all(|(member, score)| each(member, score));
        }
    }
}
