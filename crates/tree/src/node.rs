//! Nodes: byte strings with numbers, kept by the user of the tree.

use packed::Element;
use thiserror::Error;

/// Number of a node within its collection.
pub type NodeId = u32;

/// Bytes above which a node is split.
pub const NODE_BYTES: usize = 2048;

/// Room of a node that may become full: the row that makes it too long is inserted before it is
/// split.
pub const NODE_ROOM: usize = NODE_BYTES + 64;

/// Refusal of a change for lack of room; nothing has changed.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("no room for the nodes of a tree")]
pub struct NoRoom;

/// Read access to the nodes of one collection.
pub trait Nodes<'n>: Copy {
    /// Returns the bytes of a node.
    fn bytes(self, node: NodeId) -> &'n [u8];

    /// Prefetches the beginning of a node, which will be read soon; does nothing by default.
    #[inline]
    fn prefetch(self, node: NodeId) {
        let _ = node;
    }

    /// Prefetches these bytes of a node, which will be read soon; does nothing by default.
    #[inline]
    fn prefetch_bytes(self, bytes: &[u8]) {
        let _ = bytes;
    }
}

/// Returns an element of a leaf, with the bytes of its node if it is far.
#[inline]
pub fn resolve<'n>(nodes: impl Nodes<'n>, element: Element<'n>) -> Element<'n> {
    match element {
        Element::Far(far) => Element::Bytes(nodes.bytes(far.node)),
        near => near,
    }
}

/// Write access to the nodes of one collection.
pub trait NodesMut {
    /// Type for read access.
    type Read<'r>: Nodes<'r>
    where
        Self: 'r;

    /// Returns read access to the nodes.
    fn read(&self) -> Self::Read<'_>;

    /// Returns the bytes of a node.
    #[inline]
    fn bytes(&self, node: NodeId) -> &[u8] {
        self.read().bytes(node)
    }

    /// Returns the bytes of a node for change.
    fn bytes_mut(&mut self, node: NodeId) -> &mut [u8];

    /// Ensures that nodes of `bytes` bytes together can be allocated until the next call of
    /// `ensure`.
    ///
    /// # Errors
    /// When there is no room for them.
    fn ensure(&mut self, bytes: usize) -> Result<(), NoRoom>;

    /// Allocates a node of `len` bytes of any content, with room for `room` bytes.
    fn allocate(&mut self, len: usize, room: usize) -> NodeId;

    /// Allocates a node of `len` bytes of any content, without `ensure` and at any length.
    ///
    /// # Errors
    /// When there is no room for them.
    fn allocate_long(&mut self, len: usize) -> Result<NodeId, NoRoom>;

    /// Changes the length of a node to `len` bytes. It keeps its content; new bytes hold anything.
    fn resize(&mut self, node: NodeId, len: usize) -> &mut [u8];

    /// Frees a node.
    fn free(&mut self, node: NodeId);
}

/// Replaces the content of a node.
pub(crate) fn write(nodes: &mut impl NodesMut, node: NodeId, content: &[u8]) {
    nodes.resize(node, content.len()).copy_from_slice(content);
}
