//! Path from the root to a leaf.

use crate::node::NodeId;
use smallvec::SmallVec;

/// Inner node on a path, and the index of the child taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub node: NodeId,
    pub at: usize,
}

/// Path to a leaf; valid until the shape of the tree changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    pub(crate) steps: SmallVec<[Step; 6]>,
    /// Leaf at its end.
    pub leaf: NodeId,
}
