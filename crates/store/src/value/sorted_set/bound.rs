//! Bounds: where ranges of a sorted set begin and end.

use super::score::sort_key;
use packed::Element;
use std::cmp::Ordering;

/// Bytes of a score in a separator.
const KEY_BYTES: usize = size_of::<u64>();

/// A place between rows: all rows that are below it come before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound<'t> {
    /// Of the score.
    pub key: u64,
    member: &'t [u8],
    /// The row with this very member is below.
    is_behind: bool,
}

impl<'t> Bound<'t> {
    /// Before the row of a member.
    #[inline]
    pub fn at(score: f64, member: &'t [u8]) -> Bound<'t> {
        Bound { key: sort_key(score), member, is_behind: false }
    }

    /// Before all rows whose scores are not below this sort key.
    #[inline]
    pub fn before_key(key: u64) -> Bound<'t> {
        Bound { key, member: &[], is_behind: false }
    }

    /// Before the rows that are not below a separator. One that is cut short is as if zeros
    /// followed, since it is above everything that lacks them.
    #[inline]
    pub fn of_separator(separator: &'t [u8]) -> Bound<'t> {
        let (key, member) = split(separator);
        Bound { key, member, is_behind: false }
    }

    /// Whether every row of the score is at or above it.
    #[inline]
    pub fn is_at_front(&self) -> bool {
        self.member.is_empty() && !self.is_behind
    }

    /// Whether a member of the same score is below.
    #[inline]
    pub fn is_above_member(&self, member: Element<'_>) -> bool {
        match member.with_text(|text| text.cmp(self.member)) {
            Ordering::Less => true,
            Ordering::Equal => self.is_behind,
            Ordering::Greater => false,
        }
    }

    /// Whether a member is below, whatever its score. For bounds of the lowest score.
    pub fn is_above(&self, member: Element<'_>) -> bool {
        self.key == u64::MAX || self.is_above_member(member)
    }

    /// Whether all that is left of a separator is below.
    #[inline]
    pub fn is_at_or_above(&self, separator: &[u8]) -> bool {
        let (key, member) = split(separator);
        if self.key != key { self.key > key } else { self.member >= member }
    }
}

/// A separator as sort key and member.
#[inline]
fn split(separator: &[u8]) -> (u64, &[u8]) {
    match separator.split_first_chunk::<KEY_BYTES>() {
        Some((key, member)) => (u64::from_be_bytes(*key), member),
        None => {
            let mut key = [0; KEY_BYTES];
            key[..separator.len()].copy_from_slice(separator);
            (u64::from_be_bytes(key), &[])
        }
    }
}

/// A score at which a range begins or ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreBound {
    /// The score itself; not NaN.
    pub score: f64,
    /// Whether members of this very score are outside.
    pub is_exclusive: bool,
}

/// Scores between two bounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreRange {
    /// The lower bound.
    pub from: ScoreBound,
    /// The upper bound.
    pub to: ScoreBound,
}

impl ScoreRange {
    /// Where it begins, and where it ends.
    #[inline]
    pub(super) fn bounds(&self) -> [Bound<'static>; 2] {
        let key = |score: f64, is_behind: bool| sort_key(score) + u64::from(is_behind);
        [
            Bound::before_key(key(self.from.score, self.from.is_exclusive)),
            Bound::before_key(key(self.to.score, !self.to.is_exclusive)),
        ]
    }
}

/// A member at which a range of members of one score begins or ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LexBound<'t> {
    /// Before all members.
    Lowest,
    /// At this member, which is inside.
    Inclusive(&'t [u8]),
    /// At this member, which is outside.
    Exclusive(&'t [u8]),
    /// Behind all members.
    Highest,
}

/// Members between two bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LexRange<'t> {
    /// The lower bound.
    pub from: LexBound<'t>,
    /// The upper bound.
    pub to: LexBound<'t>,
}

impl<'t> LexRange<'t> {
    /// Where it begins, and where it ends, in a set whose members all have the score with this
    /// sort key.
    pub(super) fn bounds(&self, key: u64) -> [Bound<'t>; 2] {
        let bound = |at: LexBound<'t>, is_upper: bool| match at {
            LexBound::Lowest => Bound::before_key(0),
            LexBound::Highest => Bound::before_key(u64::MAX),
            LexBound::Inclusive(member) => Bound { key, member, is_behind: is_upper },
            LexBound::Exclusive(member) => Bound { key, member, is_behind: !is_upper },
        };
        [bound(self.from, false), bound(self.to, true)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_that_are_cut_short_part_the_same_scores() {
        let above = sort_key(3.0).to_be_bytes();
        let below = sort_key(1.0).to_be_bytes();
        let short = tree::shortest_between(&below, &above);
        assert!(short.len() < KEY_BYTES);
        assert!(Bound::at(3.0, b"").is_at_or_above(&short));
        assert!(!Bound::at(1.0, b"zz").is_at_or_above(&short));
    }

    #[test]
    fn a_bound_behind_a_member_is_above_it_and_not_above_the_next() {
        let range = LexRange { from: LexBound::Exclusive(b"b"), to: LexBound::Inclusive(b"c") };
        let [from, to] = range.bounds(7);
        assert!(from.is_above_member(Element::of(b"b")));
        assert!(!from.is_above_member(Element::of(b"b\0")));
        assert!(to.is_above_member(Element::of(b"c")));
        assert!(!to.is_above_member(Element::of(b"c\0")));
    }
}
