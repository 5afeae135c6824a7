//! The nodes of values that are trees, to be read.

use super::collections::CollectionId;
use super::node_table::NodeTable;
use super::shards::Shards;
use heap::{Heap, Pinned, Record};
use index::prefetch;
use std::ops::Range;
use tree::{NodeId, Nodes};

/// The nodes of one collection, to be read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadNodes<'x> {
    pub(super) heap: &'x Heap,
    pub(super) table: &'x NodeTable,
}

impl ReadNodes<'_> {
    /// Bytes that the nodes and their table take.
    pub fn memory(&self) -> usize {
        narrow::to_usize(self.table.live_bytes) + self.table.heap_bytes()
    }

    /// Bytes of the records of all nodes.
    pub fn live_bytes(&self) -> u64 {
        self.table.live_bytes
    }
}

impl<'x> ReadNodes<'x> {
    /// The nodes of a collection; `None` if there is no such collection.
    ///
    /// # Safety
    /// The caller holds the lock of the owner's shard for 'x, and nobody changes them meanwhile.
    #[inline]
    pub(super) unsafe fn of(shards: &'x Shards, id: CollectionId) -> Option<ReadNodes<'x>> {
        // SAFETY: as the caller says.
        let table = unsafe { shards.collections.table(id) };
        table.map(|table| ReadNodes { heap: &shards.heap, table })
    }

    /// The nodes of a collection as they were when a snapshot froze it.
    ///
    /// # Safety
    /// That of `of`.
    pub(super) unsafe fn frozen(shards: &'x Shards, id: CollectionId) -> Option<ReadNodes<'x>> {
        // SAFETY: as the caller says.
        let frozen = unsafe { shards.collections.frozen(id) };
        frozen.map(|frozen| ReadNodes { heap: &shards.heap, table: frozen.table() })
    }

    /// The bytes of a node; `None` if there is none with that number.
    #[inline]
    pub fn find(self, node: NodeId) -> Option<&'x [u8]> {
        // SAFETY: the maker of this view holds the lock of the owner's shard for 'x.
        self.table.find(node).map(|at| unsafe { self.heap.record(at).value() })
    }

    /// Returns no bytes, to which those of nodes can be added; `None` if none can be pinned.
    pub fn pinned(self) -> Option<Pinned> {
        self.heap.pinned()
    }

    /// Pins the bytes of a node in `range`, as far as it has them; returns how many that are. The
    /// node must be one that is not changed in place while it is pinned: a chunk of a long string.
    pub fn pin(self, node: NodeId, range: Range<usize>, pinned: &mut Pinned) -> usize {
        let Some(at) = self.table.find(node) else { return 0 };
        // SAFETY: the maker of this view holds the lock of the owner's shard for 'x. Who changes a
        // chunk, under the same lock, moves it before if it is pinned.
        unsafe {
            let bytes = self.heap.record(at).value();
            let bytes = bytes.get(range.start..range.end.min(bytes.len())).unwrap_or_default();
            pinned.push(at, bytes);
            bytes.len()
        }
    }
}

impl<'x> Nodes<'x> for ReadNodes<'x> {
    #[inline]
    fn bytes(self, node: NodeId) -> &'x [u8] {
        // SAFETY: the maker of this view holds the lock of the owner's shard for 'x.
        unsafe { record(self.heap, self.table, node).value() }
    }

    #[inline]
    fn prefetch(self, node: NodeId) {
        if let Some(at) = self.table.find(node) {
            prefetch(self.heap.address(at));
        }
    }

    #[inline]
    fn prefetch_bytes(self, bytes: &[u8]) {
        bytes.chunks(LINE_BYTES).for_each(|line| prefetch(line.as_ptr()));
    }
}

/// Bytes of a cache line.
const LINE_BYTES: usize = 64;

/// # Safety
/// The caller holds the lock of the owner's shard.
///
/// # Panics
/// If there is no such node.
#[inline]
pub(super) unsafe fn record<'x>(heap: &'x Heap, table: &NodeTable, node: NodeId) -> Record<'x> {
    let at = table.find(node).expect("a tree names nodes that it has");
    // SAFETY: the location stands in the table, whose lock is held.
    unsafe { heap.record(at) }
}
