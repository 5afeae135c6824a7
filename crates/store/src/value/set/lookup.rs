//! Many members that are looked for in a set.

use super::Leaf;
use super::read::{Form, Members, Set, Wanted, has_row};
use crate::shard::ReadNodes;
use packed::Element;
use smallvec::SmallVec;
use tree::{NodeId, View};

/// Members that are looked for together: the leaves of all are prefetched before the first is read.
const BURST: usize = 8;
/// Among fewer members than these, one is found sooner by passing all than by its tag.
const FEW: u64 = 16;

/// Members that are looked for together.
pub(super) type Burst<'x> = SmallVec<[Wanted<'x>; BURST]>;

/// Takes the next members; false at the end.
pub(super) fn next_burst<'x>(members: &mut Members<'x>, burst: &mut Burst<'x>) -> bool {
    burst.clear();
    burst.extend(members.take(BURST).map(Wanted::new));
    !burst.is_empty()
}

/// A set in which members are looked for.
#[derive(Debug)]
pub(super) enum Lookup<'x> {
    /// As it is.
    Plain(Set<'x>),
    /// A small one by its tags.
    Hashed(Set<'x>, Seen<'x>),
}

impl<'x> Lookup<'x> {
    /// A set in which `count` members are going to be looked for.
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

    /// Leaves those members in `burst` that are there, or those that are not.
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
            Lookup::Plain(set) => burst.retain(|wanted| set.holds(wanted) == those_there),
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

/// Members that were given already.
#[derive(Debug)]
pub(super) struct Seen<'x> {
    members: Vec<(u32, Element<'x>)>,
    /// Numbers of members and one more, by tag; zero for none.
    places: Vec<u32>,
}

impl<'x> Seen<'x> {
    /// For so many members at most.
    pub fn new(most: usize) -> Seen<'x> {
        Seen { members: Vec::with_capacity(most), places: vec![0; (2 * most).next_power_of_two()] }
    }

    /// Notes a member; false if it was noted before.
    #[inline]
    pub fn is_new(&mut self, tag: u32, element: Element<'x>) -> bool {
        let Err(place) = self.find(tag, element) else { return false };
        self.members.push((tag, element));
        self.places[place] = narrow::to_u32(self.members.len());
        true
    }

    /// Whether a member was noted.
    #[inline]
    pub fn has(&self, tag: u32, element: Element<'_>) -> bool {
        self.find(tag, element).is_ok()
    }

    /// The place of a member, or the free one for it.
    #[inline]
    fn find(&self, tag: u32, element: Element<'_>) -> Result<usize, usize> {
        let mask = self.places.len() - 1;
        let mut place = tag as usize & mask;
        while let Some(number) = self.places[place].checked_sub(1) {
            let (other_tag, other) = self.members[number as usize];
            if other_tag == tag && other == element {
                return Ok(place);
            }
            place = (place + 1) & mask;
        }
        Err(place)
    }
}
