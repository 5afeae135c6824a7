//! Addition of members.

use super::build::{convert, distinct, put_members};
use super::integers::{self, Integers, width_of};
use super::limit::Added;
use super::read::{Set, find_row};
use super::{Leaf, SMALL_BYTES_MAX, SetLimit, Tagged, small_value_tag};
use crate::access::Access;
use crate::fault::{Fault, NoSpace};
use crate::key::{Encoding, Key, Kind};
use crate::shard::{KeyMut, WriteNodes};
use crate::value::collection::short_tag_by;
use base::KeyHasher;
use packed::{Element, PackedList, PackedListMut};
use smallvec::{SmallVec, smallvec};
use tree::{NoRoom, NodesMut, Rows, Tree};

pub(super) type SetTree<'n, 'x, 'a> = Tree<'n, WriteNodes<'x, 'a>, Leaf>;

/// Adds members to the set of a key, created if need be. Returns the number of new members.
///
/// # Errors
/// When the key holds something else, or there is no room.
#[inline]
pub fn add<'t>(
    access: &mut Access<'_>,
    key: &Key<'_>,
    texts: impl ExactSizeIterator<Item = &'t [u8]> + Clone,
    limit: SetLimit,
) -> Result<u64, Fault> {
    let count = texts.len() as u64;
    let mut key = access.open(key, Kind::Set)?;
    if !key.exists() {
        return create(&mut key, texts, limit);
    }
    let encoding = key.value_tag().encoding();
    let wanted = limit.before_adding(encoding, count);
    if wanted != encoding {
        convert(&mut key, wanted, None)?;
    }
    add_each(&mut key, texts, limit)
}

/// Adds a member to the set of a key, as `add` does, but keeps the set's form if it is a member
/// already.
///
/// # Errors
/// When the key holds something else, or there is no room.
pub(super) fn add_one(
    access: &mut Access<'_>,
    key: &Key<'_>,
    text: &[u8],
    limit: SetLimit,
) -> Result<u64, Fault> {
    let text = std::iter::once(text);
    let mut key = access.open(key, Kind::Set)?;
    if key.exists() { add_each(&mut key, text, limit) } else { create(&mut key, text, limit) }
}

/// Adds members, one after the other, to an existing set.
fn add_each<'t>(
    key: &mut KeyMut<'_, '_>,
    mut texts: impl Iterator<Item = &'t [u8]>,
    limit: SetLimit,
) -> Result<u64, Fault> {
    let mut added = 0;
    loop {
        let value_tag = key.value_tag();
        if value_tag.is_tree() && value_tag.encoding() == Encoding::Hashtable {
            return Ok(added + add_to_tree(key, texts)?);
        }
        let Some(text) = texts.next() else { return Ok(added) };
        let is_new = match value_tag.encoding() {
            _ if value_tag.is_tree() => add_to_named_tree(key, text, limit)?,
            Encoding::Intset => add_to_integers(key, text, limit)?,
            _ => add_to_packed(key, text, limit)?,
        };
        added += u64::from(is_new);
    }
}

fn add_to_packed(key: &mut KeyMut<'_, '_>, text: &[u8], limit: SetLimit) -> Result<bool, Fault> {
    let (packed, element) = (PackedList::new(key.bytes()), Element::of(text));
    if packed.find(element, packed.front(), 1).is_some() {
        return Ok(false);
    }
    let len = packed.len();
    let form = limit.with(Encoding::Listpack, len as u64, added(text, element), || 0);
    if form == Encoding::Listpack && packed.full_len() + element.cost() <= SMALL_BYTES_MAX {
        key.insert_into_packed(len, &[element])?;
        return Ok(true);
    }
    enlarge(key, text, form)
}

fn added(text: &[u8], element: Element<'_>) -> Added {
    Added { is_integer: matches!(element, Element::Integer(_)), bytes: text.len() }
}

fn add_to_integers(key: &mut KeyMut<'_, '_>, text: &[u8], limit: SetLimit) -> Result<bool, Fault> {
    let (all, element) = (Integers::new(key.bytes()), Element::of(text));
    let len = all.len();
    let is_added = added(text, element);
    let form = || limit.with(Encoding::Intset, len as u64, is_added, || all.longest_text());
    let Element::Integer(value) = element else {
        let form = form();
        convert(key, form, Some(element.cost()))?;
        if key.value_tag().is_tree() {
            return Ok(add_to_tree(key, std::iter::once(text))? > 0);
        }
        // The text is no integer, so it is not a member yet; `convert` has checked that it fits.
        key.insert_into_packed(len, &[element])?;
        return Ok(true);
    };
    let Err(at) = all.find(value) else { return Ok(false) };
    let form = form();
    let width = all.width().max(width_of(value));
    if form != Encoding::Intset || integers::byte_len(width, len + 1) > SMALL_BYTES_MAX {
        return enlarge(key, text, form);
    }
    if width == all.width() {
        key.resize(integers::byte_len(width, len + 1))?;
        integers::insert(key.bytes_mut(), at, value);
        return Ok(true);
    }
    // An integer that needs more bytes is below all others or above them.
    let (below, above) = if at == 0 { (Some(value), None) } else { (None, Some(value)) };
    let bytes = integers::encode(width, below.into_iter().chain(all.iter()).chain(above));
    key.replace(small_value_tag(Encoding::Intset), &bytes)?;
    Ok(true)
}

/// Converts a small set to a tree and adds a new member to it.
#[cold]
fn enlarge(key: &mut KeyMut<'_, '_>, text: &[u8], encoding: Encoding) -> Result<bool, Fault> {
    convert(key, encoding, None)?;
    Ok(add_to_tree(key, std::iter::once(text))? > 0)
}

/// Adds a member to a tree that clients know under a compact encoding.
#[cold]
fn add_to_named_tree(
    key: &mut KeyMut<'_, '_>,
    text: &[u8],
    limit: SetLimit,
) -> Result<bool, Fault> {
    let set = Set::of(key.value());
    if set.contains(text) {
        return Ok(false);
    }
    let longest = || set.members().map(Element::text_len).max().unwrap_or(0);
    let form = limit.with(set.encoding, set.len(), added(text, Element::of(text)), longest);
    if form != set.encoding {
        convert(key, form, None)?;
    }
    Ok(add_to_tree(key, std::iter::once(text))? > 0)
}

#[inline]
fn add_to_tree<'t>(
    key: &mut KeyMut<'_, '_>,
    texts: impl Iterator<Item = &'t [u8]>,
) -> Result<u64, Fault> {
    let hasher = key.hasher();
    key.change_tree::<Leaf, _>(0, |tree| {
        let mut added = 0;
        for text in texts {
            added += u64::from(add_row(tree, hasher, text)?);
        }
        Ok(added)
    })
}

#[inline]
fn add_row(
    tree: &mut SetTree<'_, '_, '_>,
    hasher: &KeyHasher,
    text: &[u8],
) -> Result<bool, NoRoom> {
    let tag = short_tag_by(hasher, text);
    let view = tree.view();
    let path = view.find_tag(tag);
    let found = find_row(view.nodes, Rows::new(view.leaf(&path)), tag, Element::of(text));
    let Err(row) = found else { return Ok(false) };
    let cell = tree.cell(text)?;
    if let Err(error) = tree.ensure_change() {
        if let Element::Far(far) = cell {
            tree.nodes.free(far.node);
        }
        return Err(error);
    }
    tree.insert_row(&path, row, tag, &[cell]);
    Ok(true)
}

/// Creates the set of a key from members.
fn create<'t>(
    key: &mut KeyMut<'_, '_>,
    mut texts: impl ExactSizeIterator<Item = &'t [u8]> + Clone,
    limit: SetLimit,
) -> Result<u64, Fault> {
    let all = texts.clone();
    let Some(first) = texts.next() else { return Ok(0) };
    let (first, hasher) = (added(first, Element::of(first)), key.hasher());
    let of_all = limit.of_new(first.is_integer, all.len() as u64);
    let encoding = limit.with(of_all, 0, first, || 0);
    let bytes: usize = all.clone().map(|text| text.len() + LONGEST_COST).sum();
    let begun = match encoding {
        Encoding::Intset if bytes <= SMALL_BYTES_MAX => create_integers(key, all.clone())?,
        Encoding::Listpack if bytes <= SMALL_BYTES_MAX => {
            create_packed(key, all.clone(), bytes, limit)?
        }
        _ => {
            let tagged = |text| (short_tag_by(hasher, text), Element::of(text));
            let count = if of_all == Encoding::Hashtable { all.len() } else { 1 };
            let mut members: Vec<Tagged<'_>> = all.clone().take(count).map(tagged).collect();
            distinct(&mut members);
            put_members(key, encoding, &mut members)?;
            Begun { passed: count, added: members.len() as u64 }
        }
    };
    if begun.passed == all.len() {
        return Ok(begun.added);
    }
    let rest = all.skip(begun.passed);
    Ok(begun.added + add_each(key, rest, limit)?)
}

/// Most bytes of a member in a small set besides its text.
const LONGEST_COST: usize = 9;

/// A new set with the first of its members.
struct Begun {
    /// Number of texts consumed.
    passed: usize,
    /// Number of members.
    added: u64,
}

/// Creates a set of the integers that come before the first text that is none.
fn create_integers<'t>(
    key: &mut KeyMut<'_, '_>,
    texts: impl Iterator<Item = &'t [u8]>,
) -> Result<Begun, NoSpace> {
    let integer = |text| match Element::of(text) {
        Element::Integer(value) => Some(value),
        _ => None,
    };
    let mut values: SmallVec<[i64; 32]> = texts.map_while(integer).collect();
    let passed = values.len();
    values.sort_unstable();
    values.dedup();
    let width = integers::width_of_all(values.iter().copied());
    let bytes = integers::encode(width, values.iter().copied());
    key.replace(small_value_tag(Encoding::Intset), &bytes)?;
    Ok(Begun { passed, added: values.len() as u64 })
}

/// Creates a packed list of the texts that come before the first one that the limit does not allow;
/// an empty list if that is the first of all. `bytes` is an upper bound of their size.
fn create_packed<'t>(
    key: &mut KeyMut<'_, '_>,
    texts: impl Iterator<Item = &'t [u8]>,
    bytes: usize,
    limit: SetLimit,
) -> Result<Begun, NoSpace> {
    let mut bytes: SmallVec<[u8; 256]> = smallvec![0; packed::EMPTY.len() + bytes];
    let mut packed = PackedListMut::empty_in(&mut bytes);
    let mut passed = 0;
    for text in texts {
        let (so_far, element) = (packed.as_list(), Element::of(text));
        if so_far.find(element, so_far.front(), 1).is_none() {
            let len = so_far.len() as u64;
            let form = limit.with(Encoding::Listpack, len, added(text, element), || 0);
            if form != Encoding::Listpack {
                break;
            }
            packed.push_back(element).expect("the packed list is as long as all need");
        }
        passed += 1;
    }
    let (len, count) = (packed.byte_len(), packed.as_list().len() as u64);
    key.replace(small_value_tag(Encoding::Listpack), &bytes[..len])?;
    Ok(Begun { passed, added: count })
}
