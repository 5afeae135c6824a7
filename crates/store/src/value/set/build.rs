//! Sets built as a whole: new ones, ones that change their form, and results.

use super::integers::{self, Integers};
use super::{Leaf, SMALL_BYTES_MAX, Tagged, small_value_tag, tree_value_tag};
use crate::fault::NoSpace;
use crate::key::Encoding;
use crate::shard::KeyMut;
use crate::value::collection::short_tag_by;
use packed::{Element, PackedList, PackedListMut};
use smallvec::{SmallVec, smallvec};
use tree::Tree;

/// Placeholder for the tag of a member that is not computed yet. A tag that really is zero is
/// computed once more.
pub(super) const UNKNOWN: u32 = 0;

/// Replaces the value of a key by a set of these distinct members, in the form for `encoding`.
pub(super) fn put_members(
    key: &mut KeyMut<'_, '_>,
    encoding: Encoding,
    members: &mut [Tagged<'_>],
) -> Result<(), NoSpace> {
    match encoding {
        Encoding::Intset => put_integers(key, members),
        Encoding::Listpack => put_packed(key, members),
        _ => put_tree(key, encoding, members),
    }
}

fn put_integers(key: &mut KeyMut<'_, '_>, members: &mut [Tagged<'_>]) -> Result<(), NoSpace> {
    let value = |(_, element): &Tagged<'_>| match element {
        Element::Integer(value) => *value,
        _ => unreachable!("a set of integers has no other members"),
    };
    members.sort_unstable_by_key(value);
    let width = integers::width_of_all(members.iter().map(value));
    if integers::byte_len(width, members.len()) > SMALL_BYTES_MAX {
        return put_tree(key, Encoding::Intset, members);
    }
    let bytes = integers::encode(width, members.iter().map(value));
    key.replace(small_value_tag(Encoding::Intset), &bytes)
}

fn put_packed(key: &mut KeyMut<'_, '_>, members: &mut [Tagged<'_>]) -> Result<(), NoSpace> {
    let bytes: usize = members.iter().map(|(_, element)| element.cost()).sum();
    let len = packed::EMPTY.len() + bytes;
    if len > SMALL_BYTES_MAX {
        return put_tree(key, Encoding::Listpack, members);
    }
    let mut bytes: SmallVec<[u8; 512]> = smallvec![0; len];
    let mut packed = PackedListMut::empty_in(&mut bytes);
    for (_, element) in members.iter() {
        packed.push_back(*element).expect("the packed list is as long as all need");
    }
    let len = packed.byte_len();
    key.replace(small_value_tag(Encoding::Listpack), &bytes[..len])
}

fn put_tree(
    key: &mut KeyMut<'_, '_>,
    encoding: Encoding,
    members: &mut [Tagged<'_>],
) -> Result<(), NoSpace> {
    let hasher = key.hasher();
    for (tag, element) in members.iter_mut().filter(|(tag, _)| *tag == UNKNOWN) {
        *tag = element.with_text(|text| short_tag_by(hasher, text));
    }
    if !members.is_sorted_by_key(|(tag, _)| *tag) {
        members.sort_by_key(|(tag, _)| *tag);
    }
    key.put_trees(tree_value_tag(encoding), |nodes| {
        Ok([Tree::<_, Leaf>::of_tagged(nodes, members.iter().copied())?])
    })
}

/// Removes duplicates, and sorts the members by their tags.
pub(super) fn distinct(members: &mut Vec<Tagged<'_>>) {
    members.sort_by_key(|(tag, _)| *tag);
    let mut kept = 0;
    for at in 0..members.len() {
        let (tag, element) = members[at];
        let before = members[..kept].iter().rev().take_while(|(other, _)| *other == tag);
        if before.into_iter().all(|(_, other)| *other != element) {
            members[kept] = (tag, element);
            kept += 1;
        }
    }
    members.truncate(kept);
}

/// Changes the encoding under which clients know a set. It becomes a tree, unless the encoding is
/// listpack and a packed list can hold the members and `packed_room` bytes more.
pub(super) fn convert(
    key: &mut KeyMut<'_, '_>,
    encoding: Encoding,
    packed_room: Option<usize>,
) -> Result<(), NoSpace> {
    let value_tag = key.value_tag();
    if value_tag.is_tree() {
        key.set_value_tag(tree_value_tag(encoding));
        return Ok(());
    }
    // Copied, as the record with the elements is about to be overwritten.
    let bytes: SmallVec<[u8; 1024]> = SmallVec::from_slice(key.bytes());
    let mut members: Vec<Tagged<'_>> = if value_tag.encoding() == Encoding::Intset {
        Integers::new(&bytes).iter().map(|value| (UNKNOWN, Element::Integer(value))).collect()
    } else {
        PackedList::new(&bytes).iter().map(|element| (UNKNOWN, element)).collect()
    };
    if let Some(room) = packed_room.filter(|_| encoding == Encoding::Listpack) {
        let cost: usize = members.iter().map(|(_, element)| element.cost()).sum();
        if packed::EMPTY.len() + cost + room <= SMALL_BYTES_MAX {
            return put_packed(key, &mut members);
        }
    }
    put_tree(key, encoding, &mut members)
}

/// Copies of members, valid while the sets that they come from change.
#[derive(Debug, Default)]
pub(super) struct Kept {
    bytes: Vec<u8>,
    members: Vec<KeptMember>,
}

#[derive(Clone, Copy, Debug)]
struct KeptMember {
    tag: u32,
    /// Length of the text in bytes, or `INTEGER`.
    len: u32,
    /// Offset of the text, or the integer.
    word: i64,
}

const INTEGER: u32 = u32::MAX;

impl Kept {
    pub fn push(&mut self, tag: u32, element: Element<'_>) {
        let member = match element {
            Element::Integer(word) => KeptMember { tag, len: INTEGER, word },
            other => other.with_text(|text| {
                let word = self.bytes.len() as i64;
                self.bytes.extend_from_slice(text);
                KeptMember { tag, len: narrow::to_u32(text.len()), word }
            }),
        };
        self.members.push(member);
    }

    pub fn len(&self) -> usize {
        self.members.len()
    }

    pub fn members(&self) -> Vec<Tagged<'_>> {
        let element = |member: &KeptMember| match member.len {
            INTEGER => Element::Integer(member.word),
            len => {
                let at = narrow::to_usize(member.word.cast_unsigned());
                Element::Bytes(&self.bytes[at..at + len as usize])
            }
        };
        self.members.iter().map(|member| (member.tag, element(member))).collect()
    }
}
