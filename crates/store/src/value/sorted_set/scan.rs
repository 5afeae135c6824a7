//! Scans of a sorted set in parts, with changes in between.
//!
//! Members are visited in the order of their tags, which do not change with the scores, and all
//! members of one tag in one call: so a member that stays is visited once. Tree 1 gives the scores
//! of the next tags, and tree 0 the members with those scores.

use super::bound::Bound;
use super::read::{Form, SortedSet};
use super::score::{score_of, sort_key};
use packed::Element;
use tree::Rows;

/// Number of members that may be read for each one that is visited.
const LOOKS_PER_VISIT: u64 = 64;

/// Visits about `count` members from a cursor on, or more if many have the same score. Returns the
/// cursor to continue from, zero at the end. A small set is visited as a whole.
pub fn scan<'x>(
    set: &SortedSet<'x>,
    cursor: u64,
    count: u64,
    mut visit: impl FnMut(Element<'x>, f64),
) -> u64 {
    if let Form::Small(_) = set.form {
        set.iter_from(0).for_each(|(member, score)| visit(member, score));
        return 0;
    }
    let Ok(from) = u32::try_from(cursor) else { return 0 };
    let mut window = Window::from(set, from, count);
    let looks = window.looks(set);
    if looks > count.saturating_mul(LOOKS_PER_VISIT) {
        window = Window::from(set, from, looks / LOOKS_PER_VISIT);
    }
    for key in &window.keys {
        let first = set.rank_of(&Bound::before_key(*key));
        let same = set.iter_from(first).take_while(|(_, score)| sort_key(*score) == *key);
        for (member, score) in same {
            let tag = set.tag(member);
            if tag >= from && window.end.is_none_or(|end| tag < end) {
                visit(member, score);
            }
        }
    }
    window.end.map_or(0, u64::from)
}

/// Range of tags that one call visits.
struct Window {
    /// Sort keys of the scores stored under these tags.
    keys: Vec<u64>,
    /// First tag behind the range; `None` at the end of the set.
    end: Option<u32>,
}

impl Window {
    /// Returns the range of about `count` members from a tag on, and all others with the last tag.
    fn from(set: &SortedSet<'_>, from: u32, count: u64) -> Window {
        let Form::Large(_, tags) = &set.form else { return Window { keys: Vec::new(), end: None } };
        let mut path = tags.find_tag(from);
        let mut rows = Rows::new(tags.leaf(&path));
        let mut row = rows.find_tag(from);
        let (mut keys, mut last, mut end) = (Vec::new(), from, None);
        loop {
            if row == rows.len() {
                if !tags.next(&mut path) {
                    break;
                }
                (rows, row) = (Rows::new(tags.leaf(&path)), 0);
                continue;
            }
            let tag = rows.tag(row);
            if keys.len() as u64 >= count.max(1) && tag != last {
                end = Some(tag);
                break;
            }
            last = tag;
            keys.push(sort_key(score_of(rows.cell(row, 0))));
            row += 1;
        }
        keys.sort_unstable();
        keys.dedup();
        Window { keys, end }
    }

    /// Counts the members that have one of the scores.
    fn looks(&self, set: &SortedSet<'_>) -> u64 {
        let rank = |key: u64| set.rank_of(&Bound::before_key(key));
        self.keys.iter().map(|key| rank(key + 1) - rank(*key)).sum()
    }
}
