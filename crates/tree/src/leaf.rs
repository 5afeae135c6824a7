//! Interface between a tree and its leaves.

use crate::node::Nodes;
use smallvec::SmallVec;

/// Separator of two children: bytes above all entries left of it, and not above those right of it.
pub type Separator = SmallVec<[u8; 24]>;

/// Contents of a few leaves.
pub type Parts = SmallVec<[Vec<u8>; 3]>;

/// Format of the leaves of a tree.
pub trait Leaf {
    /// Returns the count of a leaf; never zero, except for the only node of a tree.
    fn count(leaf: &[u8]) -> u64;

    /// Redistributes the contents of neighbouring leaves to `parts` leaves of about the same
    /// length. Returns fewer if there are too few entries.
    fn redistribute(leaves: &[&[u8]], parts: usize) -> Parts;

    /// Returns the shortest bytes that are above the last entry of `left`, and not above the first
    /// of `right`. Empty in an order that is not searched by separators.
    fn separator<'n>(nodes: impl Nodes<'n>, left: &[u8], right: &[u8]) -> Separator;

    /// Returns true if a leaf is sound, and its entries are not below `from` and are below `to`.
    fn is_sound<'n>(nodes: impl Nodes<'n>, leaf: &[u8], from: &[u8], to: Option<&[u8]>) -> bool;

    /// Returns the number of other nodes that a leaf refers to.
    fn far_nodes(leaf: &[u8]) -> usize;
}
