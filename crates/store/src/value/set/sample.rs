//! Random members.

use super::Leaf;
use super::read::{Form, Set, read};
use crate::access::Access;
use crate::fault::WrongKind;
use crate::key::Key;
use crate::shard::ReadNodes;
use base::Random;
use packed::Element;
use tree::{Path, Rows, View, resolve};

/// Returns a random member of the set of a key, all with the same probability, for a command that
/// reads.
///
/// # Errors
/// When the key does not hold a set.
pub fn random_member<'x>(
    access: &'x mut Access<'_>,
    key: &Key<'_>,
) -> Result<Option<Element<'x>>, WrongKind> {
    let drawn = draw(access, key)?;
    Ok(drawn.and_then(|(set, mut random)| set.get(random.below(set.len()))))
}

/// Reads the set of a key for a command, together with a random number generator.
///
/// # Errors
/// When the key does not hold a set.
pub fn draw<'x>(
    access: &'x mut Access<'_>,
    key: &Key<'_>,
) -> Result<Option<(Set<'x>, Random)>, WrongKind> {
    let random = access.chance();
    Ok(read(access, key)?.map(|set| (set, random)))
}

/// Returns `count` different positions below `len` in ascending order, all choices with the same
/// probability.
///
/// # Panics
/// If `count` is greater than `len`.
pub(in crate::value) fn choose(random: &mut Random, len: u64, count: u64) -> Vec<u64> {
    assert!(count <= len);
    if count > len / FEW_PART {
        // Knuth, The Art of Computer Programming 2, section 3.4.2, algorithm S.
        let mut needed = count;
        let is_taken = |at: &u64| {
            let is_taken = random.below(len - at) < needed;
            needed -= u64::from(is_taken);
            is_taken
        };
        return (0..len).filter(is_taken).collect();
    }
    if count > len / MARKED_PART {
        return choose_by_marks(random, len, count);
    }
    let mut chosen: Vec<u64> = Vec::with_capacity(narrow::to_usize(count));
    while (chosen.len() as u64) < count {
        let missing = narrow::to_usize(count) - chosen.len();
        chosen.extend((0..missing).map(|_| random.below(len)));
        chosen.sort_unstable();
        chosen.dedup();
    }
    chosen
}

/// Divisor of the length: up to this part of all positions, they are drawn one by one.
const FEW_PART: u64 = 3;
/// Divisor of the length: from this part on, a bit for each position takes no more bytes than those
/// drawn. Of fewer, almost none is drawn twice, so they are sorted a few times at most.
const MARKED_PART: u64 = 64;

/// Draws positions and marks each with a bit: so none has to be sorted.
fn choose_by_marks(random: &mut Random, len: u64, count: u64) -> Vec<u64> {
    let mut marks = vec![0_u64; narrow::to_usize(len.div_ceil(64))];
    let mut missing = count;
    while missing > 0 {
        let at = random.below(len);
        let (word, bit) = (&mut marks[narrow::to_usize(at / 64)], 1 << (at % 64));
        missing -= u64::from(*word & bit == 0);
        *word |= bit;
    }
    let mut chosen = Vec::with_capacity(narrow::to_usize(count));
    for (first, mut word) in (0..).step_by(64).zip(marks) {
        while word != 0 {
            chosen.push(first + u64::from(word.trailing_zeros()));
            word &= word - 1;
        }
    }
    chosen
}

impl<'x> Set<'x> {
    /// Returns the member at a position, in the order of `members`.
    pub fn get(&self, at: u64) -> Option<Element<'x>> {
        match &self.form {
            Form::Integers(all) => {
                let at = usize::try_from(at).ok().filter(|at| *at < all.len())?;
                Some(Element::Integer(all.get(at)))
            }
            Form::Small(packed) => packed.get(usize::try_from(at).ok()?),
            Form::Large(view) => {
                let (path, row) = view.find_position(at);
                let cell = Rows::new(view.leaf(&path)).cell(narrow::to_usize(row), 0)?;
                Some(resolve(view.nodes, cell))
            }
        }
    }

    /// Passes `count` different random members to `each`, all choices with the same probability.
    ///
    /// # Panics
    /// If the set has fewer members.
    pub fn sample(&self, random: &mut Random, count: u64, each: impl FnMut(Element<'x>)) {
        self.each_at(&choose(random, self.len(), count), each);
    }

    /// Passes the members at these ascending positions to `each`.
    pub(super) fn each_at(&self, positions: &[u64], mut each: impl FnMut(Element<'x>)) {
        match &self.form {
            Form::Integers(all) => {
                positions
                    .iter()
                    .for_each(|at| each(Element::Integer(all.get(narrow::to_usize(*at)))));
            }
            Form::Small(packed) => {
                let mut place = packed.front();
                for at in positions {
                    place = packed.forward(place, narrow::to_usize(*at));
                    packed.at(place).into_iter().for_each(&mut each);
                }
            }
            Form::Large(view) => {
                let mut walk = Walk::new(*view);
                positions.iter().for_each(|at| each(walk.member(*at)));
            }
        }
    }
}

/// Walk along the members of a tree at ascending positions.
struct Walk<'x> {
    view: View<'x, ReadNodes<'x>, Leaf>,
    path: Path,
    rows: Rows<'x>,
    /// Position of the leaf's first row; `place` is that of the last member returned from the leaf.
    begin: u64,
    place: packed::Place,
}

impl<'x> Walk<'x> {
    fn new(view: View<'x, ReadNodes<'x>, Leaf>) -> Walk<'x> {
        let path = view.first();
        let rows = Rows::new(view.leaf(&path));
        Walk { view, path, rows, begin: 0, place: rows.place(0) }
    }

    fn member(&mut self, at: u64) -> Element<'x> {
        if at - self.begin >= self.rows.len() as u64 {
            self.begin += self.rows.len() as u64;
            let is_next = self.view.next(&mut self.path)
                && at - self.begin < Rows::new(self.view.leaf(&self.path)).len() as u64;
            if !is_next {
                let (path, row) = self.view.find_position(at);
                (self.path, self.begin) = (path, at - row);
            }
            self.rows = Rows::new(self.view.leaf(&self.path));
            self.place = self.rows.place(0);
        }
        let packed = self.rows.packed();
        self.place = packed.forward(self.place, narrow::to_usize(at - self.begin));
        let cell = packed.at(self.place).expect("the position is below the number of members");
        resolve(self.view.nodes, cell)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn as_many_different_positions_are_chosen_as_are_wanted() {
        let mut random = Random::from_seed(9);
        for len in [1, 2, 63, 64, 65, 191, 192, 193, 6_400, 10_000] {
            let parts = [len / MARKED_PART, len / FEW_PART, len / 2, len];
            let around = parts.iter().flat_map(|part| part.saturating_sub(1)..=part + 1);
            for count in around.filter(|count| *count <= len) {
                let chosen = choose(&mut random, len, count);
                assert_eq!(chosen.len() as u64, count, "of {len}");
                assert!(chosen.is_sorted_by(|one, next| one < next), "{count} of {len}");
                assert!(chosen.last().is_none_or(|last| *last < len), "{count} of {len}");
            }
        }
    }

    #[test]
    fn positions_are_those_that_were_drawn() {
        for (len, count) in [(64, 2), (65, 21), (1_000, 300), (5_000, 80), (100_000, 33_000)] {
            let chosen = choose_by_marks(&mut Random::from_seed(len), len, count);
            let (mut drawn, mut random) = (BTreeSet::new(), Random::from_seed(len));
            while (drawn.len() as u64) < count {
                drawn.insert(random.below(len));
            }
            assert_eq!(chosen, drawn.into_iter().collect::<Vec<_>>());
        }
    }
}
