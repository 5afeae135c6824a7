//! Random members.

use super::read::SortedSet;
use crate::value::set::choose;
use base::Random;
use packed::Element;

/// Divisor of the length: if at least this part of all members is drawn, the set is walked in
/// order.
const WALKED_PART: u64 = 3;

/// Passes `count` different random members to `each`, all choices with the same probability; all
/// members if there are no more.
pub fn draw<'x>(
    set: &SortedSet<'x>,
    count: u64,
    random: &mut Random,
    mut each: impl FnMut(Element<'x>, f64),
) {
    let len = set.len();
    let mut missing = count.min(len);
    if missing.saturating_mul(WALKED_PART) >= len {
        // Each member is taken with probability `missing / left` (Knuth, The Art of Computer
        // Programming 2, section 3.4.2, algorithm S).
        for (left, (member, score)) in (1..=len).rev().zip(set.iter_from(0)) {
            if random.below(left) < missing {
                missing -= 1;
                each(member, score);
            }
        }
        return;
    }
    let ranks = choose(random, len, missing);
    for (member, score) in ranks.into_iter().filter_map(|rank| set.get(rank)) {
        each(member, score);
    }
}
