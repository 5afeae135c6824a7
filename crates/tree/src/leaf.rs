//! What a tree needs to know about leaves.

use crate::node::Nodes;
use smallvec::SmallVec;

/// Bytes that part two children: above all that is left of them, not above what is right.
pub type Separator = SmallVec<[u8; 24]>;

/// Contents of a few leaves.
pub type Parts = SmallVec<[Vec<u8>; 3]>;

/// How the leaves of a tree are made.
pub trait Leaf {
    /// What a leaf counts for; never zero, except in a tree whose only node it is.
    fn count(leaf: &[u8]) -> u64;

    /// The contents of neighbouring leaves, as `parts` leaves of about the same length. Returns
    /// fewer where entries do not suffice.
    fn cut(leaves: &[&[u8]], parts: usize) -> Parts;

    /// The shortest bytes that are above the last entry of `left`, and not above the first of
    /// `right`. Empty in an order that is not searched by them.
    fn separator<'n>(nodes: impl Nodes<'n>, left: &[u8], right: &[u8]) -> Separator;

    /// Whether a leaf is sound, and its entries lie between two separators: not below the one,
    /// and below the other.
    fn is_sound<'n>(nodes: impl Nodes<'n>, leaf: &[u8], from: &[u8], to: Option<&[u8]>) -> bool;

    /// Nodes that a leaf names besides its own.
    fn far_nodes(leaf: &[u8]) -> usize;
}
