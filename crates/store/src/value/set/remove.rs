//! Removal of members.

use super::add::{SetTree, add_one};
use super::integers::{self, Integers};
use super::read::{Set, find_row};
use super::{Leaf, SetLimit};
use crate::access::Access;
use crate::fault::Fault;
use crate::key::{Encoding, Key, Kind};
use crate::shard::{KeyMut, Reason};
use crate::value::collection::short_tag_by;
use base::KeyHasher;
use packed::{Element, PackedList};
use tree::Rows;

/// Removes members from the set of a key, and the key if none is left. Returns the number removed.
///
/// # Errors
/// When the key holds something else.
#[inline]
pub fn remove<'t>(
    access: &mut Access<'_>,
    key: &Key<'_>,
    mut texts: impl Iterator<Item = &'t [u8]>,
) -> Result<u64, Fault> {
    let Some(mut key) = access.open(key, Kind::Set)?.existing() else { return Ok(0) };
    if key.value_tag().is_tree() {
        return remove_from_tree(&mut key, texts);
    }
    let mut removed = 0;
    while let Some(at) = texts.find_map(|text| find_small(&Set::of(key.value()), text)) {
        removed += 1;
        remove_at(&mut key, at);
        if !key.exists() {
            break;
        }
    }
    Ok(removed)
}

/// Finds the index of a member in a small set.
#[inline]
fn find_small(set: &Set<'_>, text: &[u8]) -> Option<usize> {
    match (&set.form, Element::of(text)) {
        (super::read::Form::Integers(all), Element::Integer(value)) => all.find(value).ok(),
        (super::read::Form::Small(packed), element) => {
            packed.find(element, packed.front(), 1).map(packed::Place::index)
        }
        _ => None,
    }
}

/// Removes the member at an index of a small set, and the key with its last member.
pub(super) fn remove_at(key: &mut KeyMut<'_, '_>, at: usize) {
    if key.value_tag().encoding() == Encoding::Intset {
        let all = Integers::new(key.bytes());
        let len = integers::byte_len(all.width(), all.len() - 1);
        if all.len() == 1 {
            key.remove(Reason::Deleted);
            return;
        }
        integers::remove(key.bytes_mut(), at);
        // `shrink` must not fail for want of room: the bytes behind have moved forward already, so
        // a record of the old length would end in a duplicate of the last integer.
        key.shrink(len);
        return;
    }
    let packed = PackedList::new(key.bytes());
    if packed.len() == 1 {
        key.remove(Reason::Deleted);
        return;
    }
    let place = packed.place(at);
    key.remove_from_packed(place, 1);
}

fn remove_from_tree<'t>(
    key: &mut KeyMut<'_, '_>,
    texts: impl Iterator<Item = &'t [u8]>,
) -> Result<u64, Fault> {
    let hasher = key.hasher();
    let (removed, left) = key.change_tree::<Leaf, _>(0, |tree| {
        let mut removed = 0;
        for text in texts {
            removed += u64::from(remove_row(tree, hasher, text));
            if tree.root.count == 0 {
                break;
            }
        }
        Ok((removed, tree.root.count))
    })?;
    if left == 0 {
        key.remove(Reason::Deleted);
    }
    Ok(removed)
}

#[inline]
fn remove_row(tree: &mut SetTree<'_, '_, '_>, hasher: &KeyHasher, text: &[u8]) -> bool {
    let tag = short_tag_by(hasher, text);
    let view = tree.view();
    let path = view.find_tag(tag);
    let found = find_row(view.nodes, Rows::new(view.leaf(&path)), tag, Element::of(text));
    let Ok(row) = found else { return false };
    tree.remove_rows(&path, row, 1);
    true
}

/// Moves a member from one set to another, which is created if need be. `None` if the first set
/// lacks the member; otherwise true if it is new to the second.
///
/// # Errors
/// When a key holds something else, or there is no room; nothing has changed then.
pub fn move_member(
    access: &mut Access<'_>,
    from: &Key<'_>,
    to: &Key<'_>,
    text: &[u8],
    limit: SetLimit,
) -> Result<Option<bool>, Fault> {
    let Some(source) = access.open(from, Kind::Set)?.existing() else { return Ok(None) };
    let is_member = Set::of(source.value()).contains(text);
    access.open(to, Kind::Set)?;
    if !is_member {
        return Ok(None);
    }
    if from.keyspace == to.keyspace && from.bytes == to.bytes {
        return Ok(Some(false));
    }
    access.open(from, Kind::Set)?.notify_key_listeners_early();
    let added = add_one(access, to, text, limit)?;
    remove(access, from, std::iter::once(text))?;
    Ok(Some(added > 0))
}
