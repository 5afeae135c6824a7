//! Inner nodes: children, what they weigh, and what parts them.

use crate::leaf::Separator;
use crate::node::NodeId;

const COUNT_BYTES: usize = 2;
const CHILD_BYTES: usize = 4;
const WEIGHT_BYTES: usize = 8;
const END_BYTES: usize = 4;

/// ```text
/// | count 2 | weight 8 x count | child 4 x count | end 4 x count | separators |
/// ```
/// An end says where a child's separator ends, counted from the begin of all. The first child has
/// none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inner<'a> {
    bytes: &'a [u8],
    count: usize,
}

/// A child with its separator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Child {
    pub node: NodeId,
    pub weight: u64,
    pub separator: Separator,
}

/// The children of a node while they are changed.
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
        let count = usize::from(u16::from_le_bytes(word(bytes, 0)));
        Inner { bytes, count }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.count
    }

    #[inline]
    pub fn weight(&self, at: usize) -> u64 {
        u64::from_le_bytes(word(self.bytes, COUNT_BYTES + WEIGHT_BYTES * at))
    }

    #[inline]
    pub fn child(&self, at: usize) -> NodeId {
        let begin = COUNT_BYTES + WEIGHT_BYTES * self.count;
        NodeId::from_le_bytes(word(self.bytes, begin + CHILD_BYTES * at))
    }

    #[inline]
    fn end(&self, at: usize) -> usize {
        let begin = COUNT_BYTES + (WEIGHT_BYTES + CHILD_BYTES) * self.count;
        u32::from_le_bytes(word(self.bytes, begin + END_BYTES * at)) as usize
    }

    #[inline]
    pub fn separator(&self, at: usize) -> &'a [u8] {
        let begin = COUNT_BYTES + (WEIGHT_BYTES + CHILD_BYTES + END_BYTES) * self.count;
        let from = if at == 0 { 0 } else { self.end(at - 1) };
        &self.bytes[begin + from..begin + self.end(at)]
    }

    /// The last child whose separator is not above what is looked for, as `is_at_or_above` says.
    #[inline]
    pub fn find(&self, is_at_or_above: impl Fn(&[u8]) -> bool) -> usize {
        let (mut low, mut high) = (0, self.count);
        while high - low > 1 {
            let middle = low.midpoint(high);
            if is_at_or_above(self.separator(middle)) { low = middle } else { high = middle }
        }
        low
    }

    /// The last child whose separator is not above a tag, where every separator is one. Tags are
    /// spread evenly, so it is looked for where it should be.
    #[inline]
    pub fn find_tag(&self, tag: u32) -> usize {
        let begin = COUNT_BYTES + (WEIGHT_BYTES + CHILD_BYTES + END_BYTES) * self.count;
        // The first child has no separator.
        let (tags, _) = self.bytes[begin..].as_chunks();
        let tags = &tags[..self.count - 1];
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

    /// The child in which a position lies, of `total` that all weigh together, and the position
    /// within it; the last child for one that is beyond all. Looks from the nearer end.
    #[inline]
    pub fn find_position(&self, position: u64, total: u64) -> (usize, u64) {
        if position > total / 2 {
            return self.find_from_end(position, total);
        }
        let mut left = position;
        for at in 0..self.count - 1 {
            let weight = self.weight(at);
            if left < weight {
                return (at, left);
            }
            left -= weight;
        }
        (self.count - 1, left)
    }

    fn find_from_end(&self, position: u64, total: u64) -> (usize, u64) {
        let mut before = total;
        for at in (0..self.count).rev() {
            before -= self.weight(at);
            if position >= before {
                return (at, position - before);
            }
        }
        (0, position)
    }

    /// What the children before one weigh together.
    #[inline]
    pub fn weight_before(&self, at: usize) -> u64 {
        (0..at).map(|before| self.weight(before)).sum()
    }

    pub fn to_children(self) -> Children {
        (0..self.count)
            .map(|at| Child {
                node: self.child(at),
                weight: self.weight(at),
                separator: Separator::from_slice(self.separator(at)),
            })
            .collect()
    }

    /// The node with other children in place of `count` from `first` on, of which the first keeps
    /// the separator that stands there.
    pub fn spliced(&self, first: usize, count: usize, new: &[Child]) -> Vec<u8> {
        let (rest, added) = (first + count, new.get(1..).unwrap_or_default());
        let children = self.count - count + new.len();
        let added_bytes: usize = added.iter().map(|child| child.separator.len()).sum();
        let mut bytes = Vec::with_capacity(self.bytes.len() + 16 * new.len() + added_bytes);
        bytes.extend_from_slice(&narrow::to_u16(children).to_le_bytes());
        let mut column = |width: usize, begin: usize, write: &dyn Fn(&Child, &mut Vec<u8>)| {
            bytes.extend_from_slice(&self.bytes[begin..begin + width * first]);
            new.iter().for_each(|child| write(child, &mut bytes));
            bytes.extend_from_slice(&self.bytes[begin + width * rest..begin + width * self.count]);
        };
        let ids_begin = COUNT_BYTES + WEIGHT_BYTES * self.count;
        column(WEIGHT_BYTES, COUNT_BYTES, &|child, to| to.extend(child.weight.to_le_bytes()));
        column(CHILD_BYTES, ids_begin, &|child, to| to.extend(child.node.to_le_bytes()));
        let (kept_end, dropped_end) = (self.end(first), self.end(rest - 1));
        (0..=first)
            .for_each(|at| bytes.extend_from_slice(&narrow::to_u32(self.end(at)).to_le_bytes()));
        let mut end = kept_end;
        for child in added {
            end += child.separator.len();
            bytes.extend_from_slice(&narrow::to_u32(end).to_le_bytes());
        }
        for at in rest..self.count {
            let moved = self.end(at) - dropped_end + end;
            bytes.extend_from_slice(&narrow::to_u32(moved).to_le_bytes());
        }
        let separators = COUNT_BYTES + (WEIGHT_BYTES + CHILD_BYTES + END_BYTES) * self.count;
        bytes.extend_from_slice(&self.bytes[separators..separators + kept_end]);
        added.iter().for_each(|child| bytes.extend_from_slice(&child.separator));
        bytes.extend_from_slice(&self.bytes[separators + dropped_end..]);
        bytes
    }

    /// Whether counts and ends agree with the length of the node.
    pub fn is_sound(&self) -> bool {
        let begin = COUNT_BYTES + (WEIGHT_BYTES + CHILD_BYTES + END_BYTES) * self.count;
        self.count > 0
            && (1..self.count).all(|at| self.end(at - 1) <= self.end(at))
            && begin + self.end(self.count - 1) == self.bytes.len()
            && self.separator(0).is_empty()
    }
}

/// Adds to what a child weighs.
#[inline]
pub(crate) fn add_weight(bytes: &mut [u8], at: usize, gained: i64) {
    let begin = COUNT_BYTES + WEIGHT_BYTES * at;
    let weight = u64::from_le_bytes(word(bytes, begin)).wrapping_add_signed(gained);
    bytes[begin..begin + WEIGHT_BYTES].copy_from_slice(&weight.to_le_bytes());
}

/// The node with these children. The first one's separator is left out.
pub(crate) fn encode(children: &[Child]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(byte_len(children));
    bytes.extend_from_slice(&narrow::to_u16(children.len()).to_le_bytes());
    children.iter().for_each(|child| bytes.extend_from_slice(&child.weight.to_le_bytes()));
    children.iter().for_each(|child| bytes.extend_from_slice(&child.node.to_le_bytes()));
    let mut end = 0_u32;
    for (at, child) in children.iter().enumerate() {
        end += if at == 0 { 0 } else { narrow::to_u32(child.separator.len()) };
        bytes.extend_from_slice(&end.to_le_bytes());
    }
    children.iter().skip(1).for_each(|child| bytes.extend_from_slice(&child.separator));
    bytes
}

/// Bytes of the node with these children.
pub(crate) fn byte_len(children: &[Child]) -> usize {
    let separators: usize = children.iter().skip(1).map(|child| child.separator.len()).sum();
    COUNT_BYTES + (WEIGHT_BYTES + CHILD_BYTES + END_BYTES) * children.len() + separators
}
