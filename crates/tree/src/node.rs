//! Nodes: byte strings with numbers, kept by somebody else.

use packed::Element;
use thiserror::Error;

/// The number of a node within its collection.
pub type NodeId = u32;

/// A node is split when it is longer than this.
pub const NODE_BYTES: usize = 2048;

/// Room of a node that may become a full one: the row for which it is split comes in first.
pub const NODE_ROOM: usize = NODE_BYTES + 64;

/// There is no room for what a change needs; nothing has changed.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("no room for the nodes of a tree")]
pub struct NoRoom;

/// Reads the nodes of one collection.
pub trait Nodes<'n>: Copy {
    /// The bytes of a node.
    fn bytes(self, node: NodeId) -> &'n [u8];

    /// Hears that the begin of a node will be read soon.
    #[inline]
    fn prefetch(self, node: NodeId) {
        let _ = node;
    }

    /// Hears that these bytes of a node will be read soon.
    #[inline]
    fn prefetch_bytes(self, bytes: &[u8]) {
        let _ = bytes;
    }
}

/// The element that one from a leaf stands for: a long one is looked up.
#[inline]
pub fn resolve<'n>(nodes: impl Nodes<'n>, element: Element<'n>) -> Element<'n> {
    match element {
        Element::Far(far) => Element::Bytes(nodes.bytes(far.node)),
        near => near,
    }
}

/// Keeps the nodes of one collection.
pub trait NodesMut {
    /// How they are read.
    type Read<'r>: Nodes<'r>
    where
        Self: 'r;

    /// The same, for reading.
    fn read(&self) -> Self::Read<'_>;

    /// The bytes of a node.
    #[inline]
    fn bytes(&self, node: NodeId) -> &[u8] {
        self.read().bytes(node)
    }

    /// The bytes of a node, for change.
    fn bytes_mut(&mut self, node: NodeId) -> &mut [u8];

    /// Makes sure that nodes of so many bytes together can be had until `ensure` is called again.
    ///
    /// # Errors
    /// When they can not.
    fn ensure(&mut self, bytes: usize) -> Result<(), NoRoom>;

    /// A new node of `len` bytes, which hold anything, and with room for `room`.
    fn allocate(&mut self, len: usize, room: usize) -> NodeId;

    /// A new node of `len` bytes, which hold anything, however many those are.
    ///
    /// # Errors
    /// When there is no room for them.
    fn allocate_long(&mut self, len: usize) -> Result<NodeId, NoRoom>;

    /// Makes a node `len` bytes long. It keeps what it holds, and new bytes hold anything.
    fn resize(&mut self, node: NodeId, len: usize) -> &mut [u8];

    /// Gives a node up.
    fn free(&mut self, node: NodeId);
}

/// Makes `content` all that a node holds.
pub(crate) fn write(nodes: &mut impl NodesMut, node: NodeId, content: &[u8]) {
    nodes.resize(node, content.len()).copy_from_slice(content);
}
