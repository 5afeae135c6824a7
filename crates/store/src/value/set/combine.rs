//! Intersection, union and difference of sets in any form.
//!
//! | operands | method |
//! |---|---|
//! | large sets | walked side by side in the order of tags; members are compared where tags agree |
//! | a small set and others | each of its members is looked up in the others |
//! | union of small sets only | each member is looked up among those already passed on |
//!
//! In a union and a difference a heap knows the next tag of each large set, so that a member costs
//! little however many sets there are.

use super::build::UNKNOWN;
use super::cursor::Cursor;
use super::lookup::{Burst, Lookup, Seen, next_burst};
use super::merge::{InTagOrder, Merge};
use super::read::{Form, Set, Wanted};
use packed::Element;
use smallvec::SmallVec;
use std::ops::ControlFlow;

/// Operation on several sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Members of all sets.
    Intersection,
    /// Members of any set.
    Union,
    /// Members of the first set that are in no other.
    Difference,
}

/// Continues with the next member, or stops.
pub type Flow = ControlFlow<()>;

/// Passes each member of the result once to `each`, with its tag, or zero if that is not known.
/// Keys without a set count as empty sets.
pub fn combine<'x>(
    operation: Operation,
    sets: &[Option<Set<'x>>],
    mut each: impl FnMut(u32, Element<'x>) -> Flow,
) {
    // A stop needs no report: `each` itself asked for it.
    let _ = match operation {
        Operation::Intersection => intersect(sets, &mut each),
        Operation::Union => unite(sets, &mut each),
        Operation::Difference => subtract(sets, &mut each),
    };
}

/// Sets of the existing keys.
type Present<'x> = SmallVec<[Set<'x>; 4]>;
type Lookups<'x> = SmallVec<[Lookup<'x>; 4]>;
type Cursors<'x> = SmallVec<[Cursor<'x>; 4]>;

fn intersect<'x>(
    sets: &[Option<Set<'x>>],
    each: &mut impl FnMut(u32, Element<'x>) -> Flow,
) -> Flow {
    let Some(mut sets) = sets.iter().copied().collect::<Option<Present<'x>>>() else {
        return Flow::Continue(());
    };
    sets.sort_by_key(Set::len);
    let Some((least, others)) = sets.split_first() else { return Flow::Continue(()) };
    if let Form::Large(view) = least.form {
        let (cursors, small) = cursors_of(others);
        return intersect_large(Cursor::new(view), cursors, &small, each);
    }
    let others: Lookups<'x> = others.iter().map(|other| Lookup::new(*other, least.len())).collect();
    let (mut members, mut burst) = (least.members(), Burst::new());
    while next_burst(&mut members, &mut burst) {
        others.iter().for_each(|other| other.retain(&mut burst, true));
        for wanted in &burst {
            each(wanted.tag.unwrap_or(UNKNOWN), wanted.element)?;
        }
    }
    Flow::Continue(())
}

/// Splits sets into cursors of the large ones and the small ones.
fn cursors_of<'x>(sets: &[Set<'x>]) -> (Cursors<'x>, Present<'x>) {
    let (mut cursors, mut small) = (Cursors::new(), Present::new());
    for set in sets {
        match set.form {
            Form::Large(view) => cursors.push(Cursor::new(view)),
            _ => small.push(*set),
        }
    }
    (cursors, small)
}

fn intersect_large<'x>(
    mut least: Cursor<'x>,
    mut others: Cursors<'x>,
    small: &[Set<'x>],
    each: &mut impl FnMut(u32, Element<'x>) -> Flow,
) -> Flow {
    'next: while let Some(tag) = least.tag() {
        for other in &mut others {
            other.seek(tag);
            match other.tag() {
                None => return Flow::Continue(()),
                Some(above) if above != tag => {
                    least.seek(above);
                    continue 'next;
                }
                Some(_) => {}
            }
        }
        let element = least.member();
        let mut wanted = Wanted { element, tag: Some(tag) };
        if others.iter_mut().all(|other| other.has(element))
            && small.iter().all(|other| other.has(&mut wanted))
        {
            each(tag, element)?;
        }
        least.advance();
    }
    Flow::Continue(())
}

fn subtract<'x>(sets: &[Option<Set<'x>>], each: &mut impl FnMut(u32, Element<'x>) -> Flow) -> Flow {
    let Some((Some(first), others)) = sets.split_first() else { return Flow::Continue(()) };
    let others: Present<'x> = others.iter().flatten().copied().collect();
    if let Form::Large(view) = first.form {
        return subtract_from_large(
            Cursor::new(view),
            others.iter().map(Stream::of).collect(),
            each,
        );
    }
    let others: Lookups<'x> = others.iter().map(|other| Lookup::new(*other, first.len())).collect();
    let (mut members, mut burst) = (first.members(), Burst::new());
    while next_burst(&mut members, &mut burst) {
        others.iter().for_each(|other| other.retain(&mut burst, false));
        for wanted in &burst {
            each(wanted.tag.unwrap_or(UNKNOWN), wanted.element)?;
        }
    }
    Flow::Continue(())
}

fn subtract_from_large<'x>(
    mut first: Cursor<'x>,
    others: Streams<'x>,
    each: &mut impl FnMut(u32, Element<'x>) -> Flow,
) -> Flow {
    let mut others = Merge::new(others);
    // Members of the others with the current tag.
    let mut there: SmallVec<[Element<'x>; 4]> = SmallVec::new();
    let mut there_tag = None;
    while let Some(tag) = first.tag() {
        if there_tag != Some(tag) {
            there.clear();
            there.extend(std::iter::from_fn(|| others.take(tag)));
            there_tag = Some(tag);
        }
        let element = first.member();
        if !there.contains(&element) {
            each(tag, element)?;
        }
        first.advance();
    }
    Flow::Continue(())
}

fn unite<'x>(sets: &[Option<Set<'x>>], each: &mut impl FnMut(u32, Element<'x>) -> Flow) -> Flow {
    let sets: Present<'x> = sets.iter().flatten().copied().collect();
    if let [only] = sets.as_slice() {
        return only.members().try_for_each(|element| each(UNKNOWN, element));
    }
    if sets.iter().any(|set| matches!(set.form, Form::Large(_))) {
        return unite_streams(sets.iter().map(Stream::of).collect(), each);
    }
    let mut seen = Seen::new(sets.iter().map(|set| narrow::to_usize(set.len())).sum());
    for set in &sets {
        for element in set.members() {
            let tag = set.tag_of(element);
            if seen.is_new(tag, element) {
                each(tag, element)?;
            }
        }
    }
    Flow::Continue(())
}

fn unite_streams<'x>(
    streams: Streams<'x>,
    each: &mut impl FnMut(u32, Element<'x>) -> Flow,
) -> Flow {
    let mut merge = Merge::new(streams);
    let mut given: SmallVec<[Element<'x>; 4]> = SmallVec::new();
    while let Some(tag) = merge.tag() {
        given.clear();
        while let Some(element) = merge.take(tag) {
            if !given.contains(&element) {
                given.push(element);
                each(tag, element)?;
            }
        }
    }
    Flow::Continue(())
}

/// Members of a set in the order of their tags.
#[expect(clippy::large_enum_variant, reason = "there are few, and most are the large ones")]
enum Stream<'x> {
    Large(Cursor<'x>),
    Small { members: Vec<(u32, Element<'x>)>, at: usize },
}

type Streams<'x> = SmallVec<[Stream<'x>; 4]>;

impl<'x> Stream<'x> {
    fn of(set: &Set<'x>) -> Stream<'x> {
        if let Form::Large(view) = set.form {
            return Stream::Large(Cursor::new(view));
        }
        let tagged = |element| (set.tag_of(element), element);
        let mut members: Vec<_> = set.members().map(tagged).collect();
        members.sort_by_key(|(tag, _)| *tag);
        Stream::Small { members, at: 0 }
    }
}

impl<'x> InTagOrder for Stream<'x> {
    type Member = Element<'x>;

    #[inline]
    fn tag(&self) -> Option<u32> {
        match self {
            Stream::Large(cursor) => cursor.tag(),
            Stream::Small { members, at } => members.get(*at).map(|(tag, _)| *tag),
        }
    }

    #[inline]
    fn member(&mut self) -> Element<'x> {
        match self {
            Stream::Large(cursor) => cursor.member(),
            Stream::Small { members, at } => members[*at].1,
        }
    }

    #[inline]
    fn advance(&mut self) {
        match self {
            Stream::Large(cursor) => cursor.advance(),
            Stream::Small { at, .. } => *at += 1,
        }
    }

    #[inline]
    fn seek(&mut self, tag: u32) {
        match self {
            Stream::Large(cursor) => cursor.seek(tag),
            Stream::Small { members, at } => {
                *at += members[*at..].iter().take_while(|(other, _)| *other < tag).count();
            }
        }
    }
}
