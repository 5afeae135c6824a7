//! Random fields.

use super::read::{Hash, Pair};
use base::Random;
use std::collections::HashSet;

/// Attempts to hit a field that has not expired.
const TRIES: usize = 100;
/// Fields per wanted one below which all fields are visited in order.
const WALK_BELOW: u64 = 3;

/// Returns a random field, each with about the same probability; `None` if all that were tried have
/// expired.
pub fn random_field<'x>(hash: &Hash<'x>, random: &mut Random) -> Option<Pair<'x>> {
    let len = hash.len();
    (0..TRIES).find_map(|_| hash.nth(random.below(len)))
}

/// Passes up to `count` different random fields to `visit`, or all fields if there are no more.
pub fn random_fields<'x>(
    hash: &Hash<'x>,
    count: u64,
    random: &mut Random,
    mut visit: impl FnMut(Pair<'x>),
) {
    if count >= hash.len() {
        hash.iter().for_each(visit);
    } else if hash.is_small() || count.saturating_mul(WALK_BELOW) > hash.len() {
        choose_among_all(hash, count, random, visit);
    } else {
        let (mut seen, mut tries) = (HashSet::new(), count * 10);
        while (seen.len() as u64) < count && tries > 0 {
            tries -= 1;
            let at = random.below(hash.len());
            if let Some(pair) = hash.nth(at).filter(|_| seen.insert(at)) {
                visit(pair);
            }
        }
    }
}

/// Visits all fields in order and takes each with the probability that yields `count` of them in
/// the end (selection sampling, Knuth 3.4.2).
fn choose_among_all<'x>(
    hash: &Hash<'x>,
    count: u64,
    random: &mut Random,
    mut visit: impl FnMut(Pair<'x>),
) {
    let mut left = if hash.has_deadlines() { hash.iter().count() as u64 } else { hash.len() };
    let mut wanted = count;
    for pair in hash.iter() {
        if random.below(left) < wanted {
            visit(pair);
            wanted -= 1;
        }
        left -= 1;
    }
}
