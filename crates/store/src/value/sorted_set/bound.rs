//! Bounds of ranges of a sorted set.

use super::score::sort_key;
use packed::Element;
use std::cmp::Ordering;

/// Bytes of a score in a separator.
const KEY_BYTES: usize = size_of::<u64>();

/// Position between rows: all rows before it are said to be below the bound.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound<'t> {
    /// Sort key of the score.
    pub key: u64,
    member: &'t [u8],
    /// True if the row with exactly this member is below the bound.
    is_behind: bool,
}

impl<'t> Bound<'t> {
    /// Returns the bound before the row of a member.
    #[inline]
    pub fn at(score: f64, member: &'t [u8]) -> Bound<'t> {
        Bound { key: sort_key(score), member, is_behind: false }
    }

    /// Returns the bound before all rows with this sort key or a higher one.
    #[inline]
    pub fn before_key(key: u64) -> Bound<'t> {
        Bound { key, member: &[], is_behind: false }
    }

    /// Returns the bound before the first row that is not below a separator. A separator without a
    /// whole sort key counts as if zeros followed: it is above all keys that lack its bytes.
    #[inline]
    pub fn of_separator(separator: &'t [u8]) -> Bound<'t> {
        let (key, member) = split(separator);
        Bound { key, member, is_behind: false }
    }

    /// Returns true if no row of the bound's own score is below it.
    #[inline]
    pub fn is_at_front(&self) -> bool {
        self.member.is_empty() && !self.is_behind
    }

    /// Returns true if a member of the bound's own score is below it.
    #[inline]
    pub fn is_above_member(&self, member: Element<'_>) -> bool {
        match member.with_text(|text| text.cmp(self.member)) {
            Ordering::Less => true,
            Ordering::Equal => self.is_behind,
            Ordering::Greater => false,
        }
    }

    /// Returns true if a member is below the bound, whatever its score. For bounds with the lowest
    /// sort key.
    pub fn is_above(&self, member: Element<'_>) -> bool {
        self.key == u64::MAX || self.is_above_member(member)
    }

    /// Returns true if a separator is at or below the bound, so that all rows to its left are
    /// below.
    #[inline]
    pub fn is_at_or_above(&self, separator: &[u8]) -> bool {
        let (key, member) = split(separator);
        if self.key != key { self.key > key } else { self.member >= member }
    }
}

/// Splits a separator into sort key and member.
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

/// Score at one end of a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreBound {
    /// The score itself; not NaN.
    pub score: f64,
    /// True if members with exactly this score are outside.
    pub is_exclusive: bool,
}

/// Range of scores.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreRange {
    /// The lower bound.
    pub from: ScoreBound,
    /// The upper bound.
    pub to: ScoreBound,
}

impl ScoreRange {
    /// Returns the bounds at the start and the end of the range.
    #[inline]
    pub(super) fn bounds(&self) -> [Bound<'static>; 2] {
        let key = |score: f64, is_behind: bool| sort_key(score) + u64::from(is_behind);
        [
            Bound::before_key(key(self.from.score, self.from.is_exclusive)),
            Bound::before_key(key(self.to.score, !self.to.is_exclusive)),
        ]
    }
}

/// Member at one end of a range of members with one score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LexBound<'t> {
    /// Before all members.
    Lowest,
    /// At this member, which is inside.
    Inclusive(&'t [u8]),
    /// At this member, which is outside.
    Exclusive(&'t [u8]),
    /// After all members.
    Highest,
}

/// Range of members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LexRange<'t> {
    /// The lower bound.
    pub from: LexBound<'t>,
    /// The upper bound.
    pub to: LexBound<'t>,
}

impl<'t> LexRange<'t> {
    /// Returns the bounds at the start and the end of the range, in a set whose members all have
    /// the score with this sort key.
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
    fn shortened_separators_part_the_same_scores() {
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
