//! Nodes on the general heap, for tests and measurements.

use crate::node::{NoRoom, NodeId, Nodes, NodesMut};

/// Nodes kept in vectors.
#[derive(Debug, Default)]
pub struct MemoryNodes {
    nodes: Vec<Option<Vec<u8>>>,
    free: Vec<NodeId>,
    /// Bytes that may still be ensured; `None` for any.
    pub budget: Option<usize>,
}

impl MemoryNodes {
    /// Returns the number of nodes in use.
    pub fn len(&self) -> usize {
        self.nodes.len() - self.free.len()
    }

    /// Returns true if no node is in use.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the bytes of all nodes.
    pub fn byte_len(&self) -> usize {
        self.nodes.iter().flatten().map(Vec::len).sum()
    }
}

impl<'n> Nodes<'n> for &'n MemoryNodes {
    fn bytes(self, node: NodeId) -> &'n [u8] {
        self.nodes[node as usize].as_deref().expect("a node in use")
    }
}

impl NodesMut for MemoryNodes {
    type Read<'r> = &'r MemoryNodes;

    fn read(&self) -> &MemoryNodes {
        self
    }

    fn bytes_mut(&mut self, node: NodeId) -> &mut [u8] {
        self.nodes[node as usize].as_deref_mut().expect("a node in use")
    }

    fn ensure(&mut self, bytes: usize) -> Result<(), NoRoom> {
        match self.budget {
            Some(budget) if bytes > budget => Err(NoRoom),
            _ => Ok(()),
        }
    }

    fn allocate(&mut self, len: usize, room: usize) -> NodeId {
        let mut bytes = Vec::with_capacity(room.max(len));
        bytes.resize(len, 0xAA);
        if let Some(node) = self.free.pop() {
            self.nodes[node as usize] = Some(bytes);
            return node;
        }
        self.nodes.push(Some(bytes));
        narrow::to_u32(self.nodes.len() - 1)
    }

    fn allocate_long(&mut self, len: usize) -> Result<NodeId, NoRoom> {
        self.ensure(len)?;
        Ok(self.allocate(len, len))
    }

    fn resize(&mut self, node: NodeId, len: usize) -> &mut [u8] {
        let bytes = self.nodes[node as usize].as_mut().expect("a node in use");
        bytes.resize(len, 0xAA);
        bytes
    }

    fn free(&mut self, node: NodeId) {
        self.nodes[node as usize].take().expect("a node in use");
        self.free.push(node);
    }
}
