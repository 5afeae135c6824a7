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
    let window = Window::worth_reading(set, from, count);
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
    /// Number of the tags' rows.
    rows: u64,
    /// First tag behind the range; `None` at the end of the set.
    end: Option<u32>,
}

impl Window {
    /// Returns the range of about `count` members from a tag on, or of so many more that each of
    /// them costs no more than `LOOKS_PER_VISIT`.
    ///
    /// A wider range has more scores, so the members to be read are counted anew for each one. As
    /// they only become more, no range shorter than `looks / LOOKS_PER_VISIT` would do.
    fn worth_reading(set: &SortedSet<'_>, from: u32, count: u64) -> Window {
        let mut window = Window::from(set, from, count);
        loop {
            let looks = window.looks(set);
            if window.end.is_none() || looks <= window.rows.saturating_mul(LOOKS_PER_VISIT) {
                return window;
            }
            window = Window::from(set, from, (2 * window.rows).max(looks / LOOKS_PER_VISIT));
        }
    }

    /// Returns the range of about `count` members from a tag on, and all others with the last tag.
    fn from(set: &SortedSet<'_>, from: u32, count: u64) -> Window {
        let Form::Large(_, tags) = &set.form else {
            return Window { keys: Vec::new(), rows: 0, end: None };
        };
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
        let rows = keys.len() as u64;
        keys.sort_unstable();
        keys.dedup();
        Window { keys, rows, end }
    }

    /// Counts the members that have one of the scores.
    fn looks(&self, set: &SortedSet<'_>) -> u64 {
        let rank = |key: u64| set.rank_of(&Bound::before_key(key));
        self.keys.iter().map(|key| rank(key + 1) - rank(*key)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::sorted_set::tests::Fixture;
    use crate::value::sorted_set::{SortedSetLimit, lookup_without_touch};
    use std::collections::BTreeSet;

    const NEVER_SMALL: SortedSetLimit = SortedSetLimit { members_max: 0, member_bytes_max: 0 };
    const MEMBERS: u64 = 6_000;

    #[test]
    fn each_member_of_a_window_costs_few_looks_however_many_scores_there_are() {
        for scores in [1, 40, 400, MEMBERS] {
            let mut fixture = Fixture::new();
            for number in 0..MEMBERS {
                let (score, member) = ((number % scores) as f64, number.to_string());
                fixture.add("a", score, member.as_bytes(), NEVER_SMALL);
            }
            fixture.on(&["a"], |access, keys| {
                let set = lookup_without_touch(access, &keys[0]).expect("a set").expect("it is");
                let (mut from, mut rows, mut looks) = (0, 0, 0);
                loop {
                    let window = Window::worth_reading(&set, from, 10);
                    assert!(window.end.is_none() || window.rows >= 10, "of {scores} scores");
                    (rows, looks) = (rows + window.rows, looks + window.looks(&set));
                    let Some(end) = window.end else { break };
                    from = end;
                }
                assert_eq!(rows, MEMBERS);
                assert!(looks <= (LOOKS_PER_VISIT + 1) * MEMBERS, "{looks}, {scores} scores");
                let (mut visited, mut cursor) = (BTreeSet::new(), 0);
                loop {
                    let visit = |member: Element<'_>, _| assert!(visited.insert(member.to_text()));
                    cursor = scan(&set, cursor, 10, visit);
                    if cursor == 0 {
                        break;
                    }
                }
                assert_eq!(visited.len() as u64, MEMBERS);
            });
        }
    }
}
