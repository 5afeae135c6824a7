//! Blocks: the leaves that hold the entries of a stream, in the order of their ids.
//!
//! ```text
//! | first id 16 | names 2 | bytes of names 2 | name | name | ... | packed list of entries |
//! ```
//! The id and the names are those of the entry for which the block was created. They stay when that
//! entry is removed.

use super::Id;
use super::entry::{Bytes, Names, Packed};
use super::id::ID_BYTES;
use packed::{Element, PackedList, PackedListMut, Place};
use smallvec::SmallVec;
use tree::{Leaf, Nodes, Parts, Separator, shortest_between};

const COUNT_AT: usize = ID_BYTES;
const SIZE_AT: usize = COUNT_AT + 2;
const NAMES_AT: usize = SIZE_AT + 2;
/// Most bytes of names that a block keeps. Entries with longer names store names of their own.
pub(super) const NAMES_BYTES_MAX: usize = 256;

/// A block, for reading.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block<'a> {
    pub base: Id,
    pub names: Names<'a>,
    pub packed: PackedList<'a>,
}

impl<'a> Block<'a> {
    #[inline]
    pub fn new(leaf: &'a [u8]) -> Block<'a> {
        let packed_at = packed_at(leaf);
        let count = usize::from(half(leaf, COUNT_AT));
        let names = Names { count, bytes: &leaf[NAMES_AT..packed_at] };
        Block { base: Id::read(leaf), names, packed: PackedList::new(&leaf[packed_at..]) }
    }

    /// Returns a block without entries.
    pub fn empty(base: Id, names: Names<'_>) -> Vec<u8> {
        let names = if names.bytes.len() > NAMES_BYTES_MAX {
            Names { count: 0, bytes: &[] }
        } else {
            names
        };
        let mut leaf = base.to_bytes().to_vec();
        leaf.extend_from_slice(&narrow::to_u16(names.count).to_le_bytes());
        leaf.extend_from_slice(&narrow::to_u16(names.bytes.len()).to_le_bytes());
        leaf.extend_from_slice(names.bytes);
        leaf.extend_from_slice(&packed::EMPTY);
        leaf
    }

    /// Returns the entry at a place; `None` at the end.
    #[inline]
    pub fn at(&self, place: Place) -> Option<Packed<'a>> {
        Some(self.packed(self.packed.at(place)?))
    }

    #[inline]
    pub fn packed(&self, element: Element<'a>) -> Packed<'a> {
        let bytes = match element {
            Element::Bytes(bytes) => bytes,
            _ => &[],
        };
        Packed::read(bytes, self.base)
    }

    /// Iterates over the entries, from the front or from the end.
    pub fn iter(self) -> impl DoubleEndedIterator<Item = Packed<'a>> {
        self.packed.iter().map(move |element| self.packed(element))
    }

    /// Returns the first place whose entry is not below an id.
    #[inline]
    pub fn seek(&self, id: Id) -> Place {
        let (mut low, mut high) = (self.packed.front(), self.packed.len());
        while low.index() < high {
            let middle = self.packed.forward(low, low.index().midpoint(high));
            if self.at(middle).is_some_and(|entry| entry.id < id) {
                low = self.packed.after(middle);
            } else {
                high = middle.index();
            }
        }
        low
    }

    /// Length of the leaf in bytes without gaps.
    #[inline]
    pub fn dense_len(&self) -> usize {
        NAMES_AT + self.names.bytes.len() + self.packed.dense_len()
    }

    /// Upper bound of the leaf's length in bytes with one more entry and without gaps.
    #[inline]
    pub fn len_with(&self, entry: Element<'_>) -> usize {
        NAMES_AT + self.names.bytes.len() + self.packed.len_with(&[entry])
    }
}

#[inline]
fn half(leaf: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([leaf[at], leaf[at + 1]])
}

/// Offset of the packed list in a leaf.
#[inline]
fn packed_at(leaf: &[u8]) -> usize {
    NAMES_AT + usize::from(half(leaf, SIZE_AT))
}

/// Opens the packed list of a leaf for change.
#[inline]
pub(super) fn packed_mut(leaf: &mut [u8]) -> PackedListMut<'_> {
    let at = packed_at(leaf);
    PackedListMut::new(&mut leaf[at..])
}

/// Leaf type of the tree of entries.
#[derive(Debug)]
pub(super) enum BlockLeaf {}

impl Leaf for BlockLeaf {
    #[inline]
    fn count(leaf: &[u8]) -> u64 {
        Block::new(leaf).packed.len() as u64
    }

    /// Cuts leaves into `parts` parts, or more: blocks whose names differ are not merged, as the
    /// entries of one of them would need names of their own then.
    fn redistribute(leaves: &[&[u8]], parts: usize) -> Parts {
        let blocks: SmallVec<[Block<'_>; 3]> = leaves.iter().map(|leaf| Block::new(leaf)).collect();
        let part_bytes = blocks.iter().map(Block::dense_len).sum::<usize>() / parts;
        let mut made = Parts::new();
        let mut part: Option<(Names<'_>, Id)> = None;
        for block in blocks {
            for entry in block.iter() {
                let len = made.last().map_or(0, Vec::len);
                let is_full = made.len() < parts && len >= part_bytes;
                let base = match part {
                    Some((names, base)) if names == block.names && !is_full => base,
                    _ => {
                        part = Some((block.names, entry.id));
                        made.push(Block::empty(entry.id, block.names));
                        entry.id
                    }
                };
                if let Some(leaf) = made.last_mut() {
                    append(leaf, &entry.rebased(base));
                }
            }
        }
        made
    }

    fn separator<'n>(_: impl Nodes<'n>, left: &[u8], right: &[u8]) -> Separator {
        let id = |entry: Option<Packed<'_>>| entry.map_or(Id::MIN, |entry| entry.id).to_bytes();
        let (left, right) = (Block::new(left).iter().next_back(), Block::new(right).iter().next());
        shortest_between(&id(left), &id(right))
    }

    fn is_sound<'n>(nodes: impl Nodes<'n>, leaf: &[u8], from: &[u8], to: Option<&[u8]>) -> bool {
        let block = Block::new(leaf);
        let ids = || block.iter().map(|entry| entry.id.to_bytes());
        PackedList::readable(&leaf[packed_at(leaf)..]).is_ok()
            && ids().zip(ids().skip(1)).all(|(id, next)| id < next)
            && ids().all(|id| &id[..] >= from && to.is_none_or(|to| &id[..] < to))
            && block.iter().all(|entry| entry.entry(nodes, block.names).pairs.are_whole())
    }

    fn far_nodes(leaf: &[u8]) -> usize {
        Block::new(leaf).iter().filter(|entry| entry.far().is_some()).count()
    }
}

/// Adds an entry to a leaf and adjusts the leaf's length.
fn append(leaf: &mut Vec<u8>, entry: &Bytes) {
    let element = Element::Bytes(entry);
    let len = Block::new(leaf).len_with(element);
    leaf.resize(len.max(leaf.len()), 0);
    packed_mut(leaf).push_back(element).expect("the leaf has grown");
    leaf.truncate(Block::new(leaf).dense_len());
}
