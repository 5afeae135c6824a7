//! The way from the root to a leaf.

use crate::node::NodeId;
use smallvec::SmallVec;

/// One inner node on the way, and which of its children was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub node: NodeId,
    pub at: usize,
}

/// The way to a leaf; good until the tree's shape changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    pub(crate) steps: SmallVec<[Step; 6]>,
    /// The leaf at its end.
    pub leaf: NodeId,
}
