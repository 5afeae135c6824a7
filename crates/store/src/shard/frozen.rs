//! Nodes of a collection as they were when a snapshot froze it.

use super::node_table::NodeTable;
use base::Location;
use tree::NodeId;

/// Locations of the nodes of a collection for a snapshot. Guarded by the lock of the shard in which
/// the collection's owner stands, as the collection's own table is.
///
/// ```text
/// own table      | a | b' | c | - |        b was changed, d was freed
/// frozen table   | a | b  | c | d |        a and c are shared
/// ```
#[derive(Debug)]
pub(super) struct Frozen {
    table: NodeTable,
    /// Nodes with lower numbers were let go of.
    rest: NodeId,
    /// True if the key is gone and its bytes count already as waiting for lazy free.
    pub is_counted: bool,
}

impl Frozen {
    /// Freezes the nodes of a table.
    pub fn of(table: &NodeTable) -> Frozen {
        Frozen { table: table.clone(), rest: 0, is_counted: false }
    }

    /// The locations. Nodes that were let go of must not be read.
    pub fn table(&self) -> &NodeTable {
        &self.table
    }

    /// Location of a node; `None` if there is none, or it was let go of.
    #[inline]
    pub fn find(&self, node: NodeId) -> Option<Location> {
        if node < self.rest { None } else { self.table.find(node) }
    }

    /// Returns true if a node lies at this location for the snapshot.
    #[inline]
    pub fn names(&self, node: NodeId, at: Location) -> bool {
        self.find(node) == Some(at)
    }

    /// Sets the new location of a node that was moved.
    pub fn set(&mut self, node: NodeId, at: Location) {
        self.table.set(node, at);
    }

    /// Lets go of a node, and of all before it.
    pub fn let_go(&mut self, node: NodeId) {
        self.rest = node + 1;
    }

    /// One more than the highest number of a node.
    pub fn end(&self) -> NodeId {
        self.table.end()
    }
}
