//! Storage of combined sets under a key.

use super::SetLimit;
use super::build::{Kept, put_members};
use super::combine::{Flow, Operation, combine};
use super::limit::{Added, Growth};
use super::read::{Set, read_all};
use crate::access::Access;
use crate::fault::Fault;
use crate::key::{Encoding, Key};
use packed::Element;

/// Outcome of storing a combined set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Number of members in the result.
    pub len: u64,
    /// True if the key was written or removed; an empty result leaves a missing key unchanged.
    pub is_change: bool,
}

/// Stores the combination of the sets of some keys under `target`, which may be one of them and may
/// hold any type. An empty result removes the target.
///
/// # Errors
/// When one of the sources is not a set, or there is no room; nothing has changed then.
pub fn store(
    access: &mut Access<'_>,
    target: &Key<'_>,
    operation: Operation,
    sources: &[Key<'_>],
    limit: SetLimit,
) -> Result<Stored, Fault> {
    let (kept, encoding) = result(access, operation, sources, limit)?;
    let len = kept.len() as u64;
    if len == 0 {
        let is_change = access.remove(target);
        return Ok(Stored { len, is_change });
    }
    put_members(&mut access.open_to_replace(target), encoding, &mut kept.members())?;
    Ok(Stored { len, is_change: true })
}

/// Computes the members of a result and its encoding.
fn result(
    access: &mut Access<'_>,
    operation: Operation,
    sources: &[Key<'_>],
    limit: SetLimit,
) -> Result<(Kept, Encoding), Fault> {
    let sets = read_all(access, sources)?;
    let (mut kept, mut growth) = (Kept::default(), Growth::new(Encoding::Intset));
    let mut all_integers = true;
    combine(operation, &sets, |tag, element| {
        growth.add(limit, added(element));
        all_integers &= matches!(element, Element::Integer(_));
        kept.push(tag, element);
        Flow::Continue(())
    });
    let encoding = match operation {
        Operation::Union => growth.encoding,
        Operation::Intersection => of_intersection(&sets, &kept, all_integers, limit),
        Operation::Difference => of_difference(&sets, limit).unwrap_or(growth.encoding),
    };
    Ok((kept, encoding))
}

fn added(element: Element<'_>) -> Added {
    let is_integer = matches!(element, Element::Integer(_));
    Added { is_integer, bytes: element.text_len() }
}

/// Encoding of an intersection: intset if all members are integers, otherwise the one that results
/// from adding them to a set with the form of the smallest source.
fn of_intersection(
    sets: &[Option<Set<'_>>],
    kept: &Kept,
    all_integers: bool,
    limit: SetLimit,
) -> Encoding {
    if all_integers && limit.allows_integers(kept.len() as u64) {
        return Encoding::Intset;
    }
    let least = sets.iter().flatten().min_by_key(|set| set.len()).map(|set| set.encoding);
    let begun = if least == Some(Encoding::Intset) { Encoding::Intset } else { Encoding::Listpack };
    let mut growth = Growth::new(begun);
    kept.members().into_iter().for_each(|(_, element)| growth.add(limit, added(element)));
    growth.encoding
}

/// Encoding of a difference that depends on all members of the first set: Valkey starts from a copy
/// of it if the other sets are small in comparison. `None` otherwise.
fn of_difference(sets: &[Option<Set<'_>>], limit: SetLimit) -> Option<Encoding> {
    let first = sets.first().copied().flatten()?;
    let present = sets.iter().flatten();
    let work_by_first = present.clone().count() as u64 * first.len() / 2;
    let work_by_all: u64 = present.map(Set::len).sum();
    if work_by_first <= work_by_all {
        return None;
    }
    let mut growth = Growth::new(Encoding::Intset);
    first.members().for_each(|element| growth.add(limit, added(element)));
    Some(growth.encoding)
}
