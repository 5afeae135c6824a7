//! Root of a tree, as it is stored in the value of its key.

use crate::node::{NODE_ROOM, NodeId};

/// Bytes of a root.
pub const ROOT_BYTES: usize = 16;

/// Most nodes that one change writes at each level, and above the root.
const NODES_PER_LEVEL: usize = 4;

/// Root of a tree.
///
/// ```text
/// | node 4 | height 1 | unused 3 | count 8 |
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Root {
    /// Top node of the tree.
    pub node: NodeId,
    /// Levels of inner nodes above the leaves.
    pub height: u8,
    /// Sum of the counts of all leaves.
    pub count: u64,
}

impl Root {
    /// Reads the root at the beginning of `bytes`; `None` if they are too few.
    #[inline]
    pub fn read(bytes: &[u8]) -> Option<Root> {
        let word = u128::from_le_bytes(*bytes.first_chunk()?);
        let place = narrow::low_u64(word);
        let (node, height) = (narrow::low_u32(place), narrow::low_u8(place >> 32));
        Some(Root { node, height, count: (word >> 64) as u64 })
    }

    /// Returns the bytes of nodes that one change of the tree may need.
    #[inline]
    pub fn change_bytes(self) -> usize {
        (usize::from(self.height) + 2) * NODES_PER_LEVEL * NODE_ROOM
    }

    /// Returns the bytes of the root.
    #[inline]
    pub fn to_bytes(self) -> [u8; ROOT_BYTES] {
        let Root { node, height, count } = self;
        (u128::from(node) | u128::from(height) << 32 | u128::from(count) << 64).to_le_bytes()
    }
}
