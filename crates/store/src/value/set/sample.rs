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
pub(super) fn choose(random: &mut Random, len: u64, count: u64) -> Vec<u64> {
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
