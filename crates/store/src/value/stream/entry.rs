//! Format of one entry in a block.
//!
//! ```text
//! | marks 1 | milliseconds 0..8 | sequence 0..8 | body |
//!
//! marks   starts a node 1 | has names 1 | is far 1 | size of milliseconds 3 | size of sequence 2
//! body    values, one for each of the block's names
//!         has names:  | pairs 1.. | name | value | name | value | ...
//!         is far:     | node 4 | of which the bytes are such a body with names
//! ```
//! Milliseconds are stored as the difference to the block's first id; the sequence too, if that
//! difference is zero.

use super::Id;
use packed::Element;
use smallvec::SmallVec;
use tree::{NodeId, Nodes};

/// Mark of an entry that is the first of a node, as clients count nodes of streams.
pub(super) const STARTS: u8 = 1;
const HAS_NAMES: u8 = 1 << 1;
const IS_FAR: u8 = 1 << 2;
const MS_SHIFT: u8 = 3;
const SEQ_SHIFT: u8 = 6;
/// Sizes in bytes of stored milliseconds and sequences.
const MS_SIZES: [u8; 8] = [0, 1, 2, 3, 4, 5, 6, 8];
const SEQ_SIZES: [u8; 4] = [0, 1, 2, 8];
const WORD_BYTES: usize = size_of::<u64>();
const NODE_ID_BYTES: usize = size_of::<NodeId>();

/// Bytes of an entry.
pub(super) type Bytes = SmallVec<[u8; 256]>;

/// An entry in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Packed<'a> {
    pub id: Id,
    marks: u8,
    body: &'a [u8],
}

/// Writes the part of an entry before its body, for a block with first id `base`.
#[inline]
pub(super) fn write_head(id: Id, base: Id, starts: bool, has_names: bool, to: &mut Bytes) {
    let ms = id.ms.wrapping_sub(base.ms);
    let seq = if ms == 0 { id.seq.wrapping_sub(base.seq) } else { id.seq };
    let (ms_class, seq_class) = (class(ms, &MS_SIZES), class(seq, &SEQ_SIZES));
    let starts = if starts { STARTS } else { 0 };
    let has_names = if has_names { HAS_NAMES } else { 0 };
    to.push(starts | has_names | (ms_class << MS_SHIFT) | (seq_class << SEQ_SHIFT));
    to.extend_from_slice(&ms.to_le_bytes()[..usize::from(MS_SIZES[usize::from(ms_class)])]);
    to.extend_from_slice(&seq.to_le_bytes()[..usize::from(SEQ_SIZES[usize::from(seq_class)])]);
}

/// Returns an entry whose body is in a node of its own.
pub(super) fn write_far(id: Id, base: Id, starts: bool, node: NodeId) -> Bytes {
    let mut bytes = Bytes::new();
    write_head(id, base, starts, true, &mut bytes);
    bytes[0] |= IS_FAR;
    bytes.extend_from_slice(&node.to_le_bytes());
    bytes
}

/// Index of the first size that is enough for a number.
#[inline]
fn class(value: u64, sizes: &[u8]) -> u8 {
    let needed = narrow::to_u8(WORD_BYTES - value.leading_zeros() as usize / 8);
    narrow::to_u8(sizes.iter().position(|size| *size >= needed).unwrap_or(0))
}

/// Writes the number of pairs that precedes a body with names.
pub(super) fn write_pairs(pairs: usize, to: &mut Bytes) {
    let mut left = pairs;
    while left >= 0x80 {
        to.push(narrow::low_u8(left as u64) | 0x80);
        left >>= 7;
    }
    to.push(narrow::to_u8(left));
}

#[inline]
fn read_pairs(from: &[u8]) -> (usize, &[u8]) {
    let (mut pairs, mut rest) = (0, from);
    for shift in (0..63).step_by(7) {
        let Some((byte, behind)) = rest.split_first() else { break };
        pairs |= usize::from(byte & 0x7f) << shift;
        rest = behind;
        if byte & 0x80 == 0 {
            break;
        }
    }
    (pairs, rest)
}

/// Appends an element to names, values or both.
#[inline]
pub(super) fn push(to: &mut Bytes, text: &[u8]) {
    let (element, begin) = (Element::of(text), to.len());
    to.resize(begin + element.cost(), 0);
    element.write_inline(&mut to[begin..]);
}

impl<'a> Packed<'a> {
    /// Reads an entry from its bytes, for a block with first id `base`.
    #[inline]
    pub fn read(bytes: &'a [u8], base: Id) -> Packed<'a> {
        let Some((marks, rest)) = bytes.split_first() else {
            return Packed { id: base, marks: 0, body: &[] };
        };
        let (ms, rest) = word(rest, MS_SIZES[usize::from(marks >> MS_SHIFT & 7)]);
        let (seq, body) = word(rest, SEQ_SIZES[usize::from(marks >> SEQ_SHIFT)]);
        let seq = if ms == 0 { base.seq.wrapping_add(seq) } else { seq };
        Packed { id: Id { ms: base.ms.wrapping_add(ms), seq }, marks: *marks, body }
    }

    #[inline]
    pub fn starts(&self) -> bool {
        self.marks & STARTS != 0
    }

    /// Returns true if the names of its block belong to its values.
    pub fn is_named_by_block(&self) -> bool {
        self.marks & HAS_NAMES == 0
    }

    /// Returns the node of its body if that is a node of its own.
    #[inline]
    pub fn far(&self) -> Option<NodeId> {
        let is_far = self.marks & IS_FAR != 0;
        let node = self.body.first_chunk::<NODE_ID_BYTES>().filter(|_| is_far)?;
        Some(NodeId::from_le_bytes(*node))
    }

    /// Returns the same entry for a block with the same names and another first id.
    pub fn rebased(&self, base: Id) -> Bytes {
        let mut bytes = Bytes::new();
        write_head(self.id, base, self.starts(), false, &mut bytes);
        bytes[0] |= self.marks & (HAS_NAMES | IS_FAR);
        bytes.extend_from_slice(self.body);
        bytes
    }

    /// Returns the entry as clients see it. `names` are those of its block.
    #[inline]
    pub fn entry<'n>(&self, nodes: impl Nodes<'n>, names: Names<'a>) -> Entry<'a>
    where
        'n: 'a,
    {
        let body = match self.far() {
            Some(node) => nodes.bytes(node),
            None => self.body,
        };
        let pairs = if self.is_named_by_block() {
            Pairs { left: names.count, names: names.bytes, rest: body, is_named: false }
        } else {
            let (left, rest) = read_pairs(body);
            Pairs { left, names: &[], rest, is_named: true }
        };
        Entry { id: self.id, starts_node: self.starts(), pairs }
    }
}

/// Reads a number of `size` bytes; returns it and the bytes behind.
#[inline]
fn word(from: &[u8], size: u8) -> (u64, &[u8]) {
    let size = usize::from(size);
    if size == 0 {
        return (0, from);
    }
    if let Some(bytes) = from.first_chunk() {
        let unused = 8 * narrow::to_u32(WORD_BYTES - size);
        return (u64::from_le_bytes(*bytes) << unused >> unused, &from[size..]);
    }
    let (size, mut bytes) = (size.min(from.len()), [0; WORD_BYTES]);
    bytes[..size].copy_from_slice(&from[..size]);
    (u64::from_le_bytes(bytes), &from[size..])
}

/// Names of a block, one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Names<'a> {
    pub count: usize,
    pub bytes: &'a [u8],
}

/// An entry of a stream.
#[derive(Clone, Copy, Debug)]
pub struct Entry<'a> {
    /// Id of the entry.
    pub id: Id,
    /// True if a node as clients count them begins with the entry.
    pub starts_node: bool,
    /// Fields of the entry.
    pub pairs: Pairs<'a>,
}

/// Pairs of name and value, in the order in which they were given.
#[derive(Clone, Copy, Debug)]
pub struct Pairs<'a> {
    left: usize,
    names: &'a [u8],
    rest: &'a [u8],
    is_named: bool,
}

impl<'a> Pairs<'a> {
    /// Takes the next element from the front of `from`.
    #[inline]
    fn take(from: &mut &'a [u8]) -> Option<Element<'a>> {
        let (element, rest) = Element::read_inline(from)?;
        *from = rest;
        Some(element)
    }

    /// Returns true if every pair can be read, and no bytes are left behind them.
    pub(super) fn are_whole(mut self) -> bool {
        let count = self.left;
        self.by_ref().count() == count && self.rest.is_empty()
    }
}

impl<'a> Iterator for Pairs<'a> {
    type Item = (Element<'a>, Element<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        self.left = self.left.checked_sub(1)?;
        let name = Pairs::take(if self.is_named { &mut self.rest } else { &mut self.names })?;
        Some((name, Pairs::take(&mut self.rest)?))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl ExactSizeIterator for Pairs<'_> {}
