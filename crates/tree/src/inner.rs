//! Inner nodes: children, their counts, and the separators between them.

use crate::leaf::Separator;
use crate::node::NodeId;

const LEN_BYTES: usize = 2;
const CHILD_BYTES: usize = 4;
const COUNT_BYTES: usize = 8;
const END_BYTES: usize = 4;

/// View of an inner node.
///
/// ```text
/// | len 2 | count 8 x len | child 4 x len | end 4 x len | separators |
/// ```
/// An end is the offset at which a child's separator ends, from the beginning of the separators.
/// The first child has no separator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inner<'a> {
    bytes: &'a [u8],
    len: usize,
}

/// Child of an inner node, with its count and separator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Child {
    pub node: NodeId,
    pub count: u64,
    pub separator: Separator,
}

/// Children of a node while they are changed.
pub(crate) type Children = Vec<Child>;

#[inline]
fn word<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut word = [0; N];
    word.copy_from_slice(&bytes[at..at + N]);
    word
}

impl<'a> Inner<'a> {
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Inner<'a> {
        let len = usize::from(u16::from_le_bytes(word(bytes, 0)));
        Inner { bytes, len }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub fn count(&self, at: usize) -> u64 {
        u64::from_le_bytes(word(self.bytes, LEN_BYTES + COUNT_BYTES * at))
    }

    #[inline]
    pub fn child(&self, at: usize) -> NodeId {
        let begin = LEN_BYTES + COUNT_BYTES * self.len;
        NodeId::from_le_bytes(word(self.bytes, begin + CHILD_BYTES * at))
    }

    #[inline]
    fn end(&self, at: usize) -> usize {
        let begin = LEN_BYTES + (COUNT_BYTES + CHILD_BYTES) * self.len;
        u32::from_le_bytes(word(self.bytes, begin + END_BYTES * at)) as usize
    }

    #[inline]
    pub fn separator(&self, at: usize) -> &'a [u8] {
        let begin = LEN_BYTES + (COUNT_BYTES + CHILD_BYTES + END_BYTES) * self.len;
        let from = if at == 0 { 0 } else { self.end(at - 1) };
        &self.bytes[begin + from..begin + self.end(at)]
    }

    /// Returns the last child whose separator is not above the wanted entry, by `is_at_or_above`.
    #[inline]
    pub fn find(&self, is_at_or_above: impl Fn(&[u8]) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len);
        while high - low > 1 {
            let middle = low.midpoint(high);
            if is_at_or_above(self.separator(middle)) { low = middle } else { high = middle }
        }
        low
    }

    /// Returns the last child whose separator is not above a tag, where every separator is a tag.
    /// Uses interpolation search, as tags are spread evenly.
    #[inline]
    pub fn find_tag(&self, tag: u32) -> usize {
        let begin = LEN_BYTES + (COUNT_BYTES + CHILD_BYTES + END_BYTES) * self.len;
        // The first child has no separator.
        let (tags, _) = self.bytes[begin..].as_chunks();
        let tags = &tags[..self.len - 1];
        let at = |number: usize| u32::from_be_bytes(tags[number]);
        let (Some(first), Some(last)) = (tags.first(), tags.last()) else { return 0 };
        let (first, last) = (u32::from_be_bytes(*first), u32::from_be_bytes(*last));
        if tag < first || tag >= last {
            return if tag < first { 0 } else { tags.len() };
        }
        let part = u64::from(tag - first) * (tags.len() - 1) as u64 / u64::from(last - first);
        let mut number = narrow::to_usize(part);
        while at(number) > tag {
            number -= 1;
        }
        while at(number + 1) <= tag {
            number += 1;
        }
        number + 1
    }

    /// Returns the child in which a position lies, and the position within it; the last child for a
    /// position beyond all. `total` is the sum of all counts. Searches from the nearer end.
    #[inline]
    pub fn find_position(&self, position: u64, total: u64) -> (usize, u64) {
        if position > total / 2 {
            return self.find_from_end(position, total);
        }
        let mut left = position;
        for at in 0..self.len - 1 {
            let count = self.count(at);
            if left < count {
                return (at, left);
            }
            left -= count;
        }
        (self.len - 1, left)
    }

    fn find_from_end(&self, position: u64, total: u64) -> (usize, u64) {
        let mut before = total;
        for at in (0..self.len).rev() {
            before -= self.count(at);
            if position >= before {
                return (at, position - before);
            }
        }
        (0, position)
    }

    /// Returns the sum of the counts of the children before one.
    #[inline]
    pub fn count_before(&self, at: usize) -> u64 {
        (0..at).map(|before| self.count(before)).sum()
    }

    pub fn to_children(self) -> Children {
        (0..self.len)
            .map(|at| Child {
                node: self.child(at),
                count: self.count(at),
                separator: Separator::from_slice(self.separator(at)),
            })
            .collect()
    }

    /// Returns the bytes of the node with other children in place of `count` from `first` on. The
    /// first of them keeps the separator at that place.
    pub fn spliced(&self, first: usize, count: usize, new: &[Child]) -> Vec<u8> {
        let (rest, added) = (first + count, new.get(1..).unwrap_or_default());
        let children = self.len - count + new.len();
        let added_bytes: usize = added.iter().map(|child| child.separator.len()).sum();
        let mut bytes = Vec::with_capacity(self.bytes.len() + 16 * new.len() + added_bytes);
        bytes.extend_from_slice(&narrow::to_u16(children).to_le_bytes());
        let mut column = |width: usize, begin: usize, write: &dyn Fn(&Child, &mut Vec<u8>)| {
            bytes.extend_from_slice(&self.bytes[begin..begin + width * first]);
            new.iter().for_each(|child| write(child, &mut bytes));
            bytes.extend_from_slice(&self.bytes[begin + width * rest..begin + width * self.len]);
        };
        let ids_begin = LEN_BYTES + COUNT_BYTES * self.len;
        column(COUNT_BYTES, LEN_BYTES, &|child, to| to.extend(child.count.to_le_bytes()));
        column(CHILD_BYTES, ids_begin, &|child, to| to.extend(child.node.to_le_bytes()));
        let (kept_end, dropped_end) = (self.end(first), self.end(rest - 1));
        (0..=first)
            .for_each(|at| bytes.extend_from_slice(&narrow::to_u32(self.end(at)).to_le_bytes()));
        let mut end = kept_end;
        for child in added {
            end += child.separator.len();
            bytes.extend_from_slice(&narrow::to_u32(end).to_le_bytes());
        }
        for at in rest..self.len {
            let moved = self.end(at) - dropped_end + end;
            bytes.extend_from_slice(&narrow::to_u32(moved).to_le_bytes());
        }
        let separators = LEN_BYTES + (COUNT_BYTES + CHILD_BYTES + END_BYTES) * self.len;
        bytes.extend_from_slice(&self.bytes[separators..separators + kept_end]);
        added.iter().for_each(|child| bytes.extend_from_slice(&child.separator));
        bytes.extend_from_slice(&self.bytes[separators + dropped_end..]);
        bytes
    }

    /// Returns true if the number of children and the ends agree with the length of the node.
    pub fn is_sound(&self) -> bool {
        let begin = LEN_BYTES + (COUNT_BYTES + CHILD_BYTES + END_BYTES) * self.len;
        self.len > 0
            && (1..self.len).all(|at| self.end(at - 1) <= self.end(at))
            && begin + self.end(self.len - 1) == self.bytes.len()
            && self.separator(0).is_empty()
    }
}

/// Adds `gained` to the count of a child.
#[inline]
pub(crate) fn add_count(bytes: &mut [u8], at: usize, gained: i64) {
    let begin = LEN_BYTES + COUNT_BYTES * at;
    let count = u64::from_le_bytes(word(bytes, begin)).wrapping_add_signed(gained);
    bytes[begin..begin + COUNT_BYTES].copy_from_slice(&count.to_le_bytes());
}

/// Returns the bytes of a node with these children. The first one's separator is left out.
pub(crate) fn encode(children: &[Child]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(byte_len(children));
    bytes.extend_from_slice(&narrow::to_u16(children.len()).to_le_bytes());
    children.iter().for_each(|child| bytes.extend_from_slice(&child.count.to_le_bytes()));
    children.iter().for_each(|child| bytes.extend_from_slice(&child.node.to_le_bytes()));
    let mut end = 0_u32;
    for (at, child) in children.iter().enumerate() {
        end += if at == 0 { 0 } else { narrow::to_u32(child.separator.len()) };
        bytes.extend_from_slice(&end.to_le_bytes());
    }
    children.iter().skip(1).for_each(|child| bytes.extend_from_slice(&child.separator));
    bytes
}

/// Returns the length of the node with these children.
pub(crate) fn byte_len(children: &[Child]) -> usize {
    let separators: usize = children.iter().skip(1).map(|child| child.separator.len()).sum();
    LEN_BYTES + (COUNT_BYTES + CHILD_BYTES + END_BYTES) * children.len() + separators
}
