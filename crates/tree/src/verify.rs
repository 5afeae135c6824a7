//! Check of a tree: for tests, and for DEBUG commands.

use crate::inner::Inner;
use crate::leaf::Leaf;
use crate::node::{NODE_BYTES, NodeId, Nodes};
use crate::view::View;
use thiserror::Error;

/// Defect of a tree.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("node {node}: {what}")]
pub struct Unsound {
    /// Node with the defect.
    pub node: NodeId,
    /// Description of the defect.
    pub what: &'static str,
}

/// Separators between which the entries below a node must lie.
#[derive(Clone, Copy)]
struct Bounds<'a> {
    from: &'a [u8],
    to: Option<&'a [u8]>,
}

impl<'n, N: Nodes<'n>, L: Leaf> View<'n, N, L> {
    /// Checks every node: counts, order, lengths. Returns the number of nodes.
    ///
    /// # Errors
    /// The first defect found.
    pub fn verify(&self) -> Result<usize, Unsound> {
        let bounds = Bounds { from: &[], to: None };
        let (count, nodes) = self.verify_below(self.root.node, self.root.height, bounds)?;
        check(self.root.node, count == self.root.count, "the root's count is not the sum")?;
        Ok(nodes)
    }

    fn verify_below(
        &self,
        node: NodeId,
        height: u8,
        bounds: Bounds<'_>,
    ) -> Result<(u64, usize), Unsound> {
        let bytes = self.nodes.bytes(node);
        if height == 0 {
            check(
                node,
                L::is_sound(self.nodes, bytes, bounds.from, bounds.to),
                "the leaf is not sound",
            )?;
            let count = L::count(bytes);
            check(node, count > 0 || self.root.height == 0, "the leaf is empty")?;
            return Ok((count, 1 + L::far_nodes(bytes)));
        }
        let inner = Inner::new(bytes);
        check(node, inner.is_sound(), "the inner node is not sound")?;
        check(node, bytes.len() <= NODE_BYTES || inner.len() < 4, "the inner node is too long")?;
        let (mut sum, mut nodes) = (0, 1);
        for at in 0..inner.len() {
            let from = if at == 0 { bounds.from } else { inner.separator(at) };
            let to = if at + 1 < inner.len() { Some(inner.separator(at + 1)) } else { bounds.to };
            let below = self.verify_below(inner.child(at), height - 1, Bounds { from, to })?;
            check(node, below.0 == inner.count(at), "a count is not the sum of what is below")?;
            sum += below.0;
            nodes += below.1;
        }
        Ok((sum, nodes))
    }
}

fn check(node: NodeId, is_sound: bool, what: &'static str) -> Result<(), Unsound> {
    if is_sound { Ok(()) } else { Err(Unsound { node, what }) }
}
