//! Lookup of many members in a set.

use super::Leaf;
use super::read::{Form, Members, Set, Wanted, has_row};
use crate::shard::ReadNodes;
use packed::Element;
use smallvec::SmallVec;
use tree::{NodeId, View};

/// Number of members looked up together: all their leaves are prefetched before the first is read.
const BURST: usize = 8;
/// Number of members below which a linear search is faster than one by tag.
const FEW: u64 = 16;

/// Members looked up together.
pub(super) type Burst<'x> = SmallVec<[Wanted<'x>; BURST]>;

/// Takes the next members; false at the end.
pub(super) fn next_burst<'x>(members: &mut Members<'x>, burst: &mut Burst<'x>) -> bool {
    burst.clear();
    burst.extend(members.take(BURST).map(Wanted::new));
    !burst.is_empty()
}

/// Set prepared for lookups.
#[derive(Debug)]
pub(super) enum Lookup<'x> {
    /// The set as it is.
    Plain(Set<'x>),
    /// A small set with a hash table of its members.
    Hashed(Set<'x>, Seen<'x>),
}

impl<'x> Lookup<'x> {
    /// Prepares a set for the lookup of `count` members.
    pub fn new(set: Set<'x>, count: u64) -> Lookup<'x> {
        let Form::Small(packed) = set.form else { return Lookup::Plain(set) };
        if set.len().min(count) < FEW {
            return Lookup::Plain(set);
        }
        let mut seen = Seen::new(packed.len());
        for element in packed {
            seen.is_new(set.tag_of(element), element);
        }
        Lookup::Hashed(set, seen)
    }

    /// Keeps only the members in `burst` that the set has, or those that it lacks if `those_there`
    /// is false.
    pub fn retain(&self, burst: &mut Burst<'x>, those_there: bool) {
        match self {
            Lookup::Hashed(set, seen) => {
                burst.retain(|it| seen.has(it.tag(set.hasher), it.element) == those_there);
            }
            Lookup::Plain(Set { form: Form::Large(view), hasher, .. }) => {
                let leaf = |wanted: &mut Wanted<'_>| view.leaf_of_tag(wanted.tag(hasher));
                let leaves: SmallVec<[NodeId; BURST]> = burst.iter_mut().map(leaf).collect();
                retain_in_leaves(view, burst, &leaves, those_there);
            }
            Lookup::Plain(set) => burst.retain(|wanted| set.has(wanted) == those_there),
        }
    }
}

fn retain_in_leaves<'x>(
    view: &View<'x, ReadNodes<'x>, Leaf>,
    burst: &mut Burst<'x>,
    leaves: &[NodeId],
    those_there: bool,
) {
    let mut leaves = leaves.iter();
    burst.retain(|wanted| {
        let is_there = leaves
            .next()
            .zip(wanted.tag)
            .is_some_and(|(leaf, tag)| has_row(view, *leaf, tag, wanted.element));
        is_there == those_there
    });
}

/// Hash table of the members seen so far.
#[derive(Debug)]
pub(in crate::value) struct Seen<'x> {
    members: Vec<(u32, Element<'x>)>,
    /// Indexes into `members` plus one, hashed by tag with linear probing; zero for a free place.
    places: Vec<u32>,
}

impl<'x> Seen<'x> {
    /// Returns a table for at most `most` members.
    pub fn new(most: usize) -> Seen<'x> {
        Seen { members: Vec::with_capacity(most), places: vec![0; (2 * most).next_power_of_two()] }
    }

    /// Adds a member; false if it is in the table already.
    #[inline]
    pub fn is_new(&mut self, tag: u32, element: Element<'x>) -> bool {
        let Err(place) = self.find(tag, element) else { return false };
        self.members.push((tag, element));
        self.places[place] = narrow::to_u32(self.members.len());
        true
    }

    /// Returns true if the table has a member.
    #[inline]
    pub fn has(&self, tag: u32, element: Element<'_>) -> bool {
        self.find(tag, element).is_ok()
    }

    /// Returns the number of a member, counted from zero in the order in which they were added;
    /// `None` if it is not in the table.
    #[inline]
    pub fn number_of(&self, tag: u32, element: Element<'_>) -> Option<usize> {
        let place = self.find(tag, element).ok()?;
        (self.places[place] as usize).checked_sub(1)
    }

    /// Finds the place of a member, or as an error the free place for it.
    #[inline]
    fn find(&self, tag: u32, element: Element<'_>) -> Result<usize, usize> {
        let mask = self.places.len() - 1;
        let mut place = self.start(tag);
        while let Some(number) = self.places[place].checked_sub(1) {
            let (other_tag, other) = self.members[number as usize];
            if other_tag == tag && other == element {
                return Ok(place);
            }
            place = (place + 1) & mask;
        }
        Err(place)
    }

    /// Returns the place where the search for a tag starts: by its upper bits, as the lowest ones
    /// of all tags of sets are zero.
    #[inline]
    fn start(&self, tag: u32) -> usize {
        tag.swap_bytes() as usize & (self.places.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::collection::short_tag_by;
    use base::KeyHasher;

    #[test]
    fn members_stand_near_the_places_where_their_search_starts() {
        let hasher = KeyHasher::from_seed(2);
        for count in [1, 16, 128, 1_000, 30_000] {
            let mut seen = Seen::new(count);
            let members = || (0..count).map(|number| Element::Integer(number as i64));
            let tag = |member: Element<'_>| member.with_text(|text| short_tag_by(&hasher, text));
            assert!(members().all(|member| seen.is_new(tag(member), member)));
            assert!(!members().any(|member| seen.is_new(tag(member), member)));
            let mask = seen.places.len() - 1;
            let steps = |member| {
                let tag = tag(member);
                let place = seen.find(tag, member).expect("it is in the table");
                place.wrapping_sub(seen.start(tag)) & mask
            };
            // Half of a step for each is expected at most.
            assert!(members().map(steps).sum::<usize>() <= 2 * count, "{count} members");
        }
    }
}
