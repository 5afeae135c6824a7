//! Facts about a stream, besides its entries and groups, in the record of its key.
//!
//! ```text
//! | collection 4 | entries root 16 | groups root 16 | last id 16 | highest deleted id 16 |
//! | added 8 | nodes 4 | entries of the last node 4 | its bytes 4 | entries of the first node 4 |
//! | last block 4 | its uncounted entries 4 | first id of the last node 16 | hash of its names 4 |
//! ```
//! Clients count entries in nodes of `stream-node-max-entries`, and trimming with `~` removes whole
//! nodes. Blocks have other limits, so a mark on an entry says that such a node starts there.

use super::Id;
use super::edit::{Removed, Tail};
use super::id::ID_BYTES;
use crate::shard::CollectionId;
use tree::{NodeId, ROOT_BYTES, Root};

/// Index of the tree of entries.
pub(super) const ENTRIES: usize = 0;
/// Index of the tree of groups, which may be missing.
pub(super) const GROUPS: usize = 1;
/// Node number in the root of a missing tree.
const NO_TREE: NodeId = 0;

const FACTS_AT: usize = CollectionId::BYTES + 2 * ROOT_BYTES;
const FACTS_BYTES: usize = NODE_AT + ID_BYTES + 4;
const NODE_AT: usize = 2 * ID_BYTES + 8 + 6 * 4;
/// Length in bytes of the record value of a stream.
pub(super) const VALUE_BYTES: usize = FACTS_AT + FACTS_BYTES;

/// Value of `tail_entries` if the last node takes no more entries.
pub(super) const FULL: u32 = u32::MAX;

/// Facts about a stream, as the record of its key holds them behind the roots.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    pub last_id: Id,
    pub max_deleted: Id,
    /// Number of entries ever added.
    pub added: u64,
    pub nodes: u32,
    /// Number of entries ever added to the last node, removed ones included; zero if there is no
    /// node.
    pub tail_entries: u32,
    /// Bytes of the last node if it were a listpack.
    pub tail_bytes: u32,
    /// Number of entries of the first node, unless that is the last one; zero if not counted.
    pub head_entries: u32,
    pub tail: Tail,
    /// Id of the entry that started the last node.
    pub node_id: Id,
    /// Hash of the names of that entry.
    pub node_names: u32,
}

impl Facts {
    #[inline]
    pub fn read(value: &[u8]) -> Facts {
        let word = |at: usize| {
            let bytes = value.get(at..).and_then(<[u8]>::first_chunk);
            bytes.map_or(0, |bytes| u32::from_le_bytes(*bytes))
        };
        let added_at = FACTS_AT + 2 * ID_BYTES;
        let counts_at = added_at + 8;
        Facts {
            last_id: Id::read(&value[FACTS_AT..]),
            max_deleted: Id::read(&value[FACTS_AT + ID_BYTES..]),
            added: u64::from(word(added_at)) | u64::from(word(added_at + 4)) << 32,
            nodes: word(counts_at),
            tail_entries: word(counts_at + 4),
            tail_bytes: word(counts_at + 8),
            head_entries: word(counts_at + 12),
            tail: Tail { node: word(counts_at + 16), uncounted: word(counts_at + 20) },
            node_id: Id::read(&value[FACTS_AT + NODE_AT..]),
            node_names: word(FACTS_AT + NODE_AT + ID_BYTES),
        }
    }

    #[inline]
    pub fn write(&self, value: &mut [u8]) {
        let facts = &mut value[FACTS_AT..VALUE_BYTES];
        facts[..16].copy_from_slice(&self.last_id.to_bytes());
        facts[16..32].copy_from_slice(&self.max_deleted.to_bytes());
        facts[32..40].copy_from_slice(&self.added.to_le_bytes());
        let Facts { nodes, tail_entries, tail_bytes, head_entries, tail, .. } = *self;
        let counts = [nodes, tail_entries, tail_bytes, head_entries, tail.node, tail.uncounted];
        for (to, count) in facts[40..NODE_AT].chunks_exact_mut(4).zip(counts) {
            to.copy_from_slice(&count.to_le_bytes());
        }
        facts[NODE_AT..][..ID_BYTES].copy_from_slice(&self.node_id.to_bytes());
        facts[NODE_AT + ID_BYTES..].copy_from_slice(&self.node_names.to_le_bytes());
    }

    /// Updates the facts after a removal of entries that leaves `left`.
    pub fn note_removed(&mut self, removed: Removed, left: u64) {
        debug_assert!(self.tail.uncounted == 0);
        self.tail.node = 0;
        self.nodes -= removed.nodes;
        self.head_entries = 0;
        if left == 0 {
            (self.tail_entries, self.tail_bytes) = (0, 0);
        } else if removed.is_tail_gone {
            self.tail_entries = FULL;
        }
    }
}

/// Returns the record value of a new stream.
pub(super) fn value_of(id: CollectionId, entries: Root) -> [u8; VALUE_BYTES] {
    let mut value = [0; VALUE_BYTES];
    id.write(&mut value);
    value[CollectionId::BYTES..][..ROOT_BYTES].copy_from_slice(&entries.to_bytes());
    Facts::default().write(&mut value);
    value
}

/// Returns true if the tree exists.
pub(super) fn is_tree(root: Root) -> bool {
    root.node != NO_TREE
}

/// Root of a missing tree.
pub(super) const NO_ROOT: Root = Root { node: NO_TREE, height: 0, count: 0 };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_are_read_as_they_were_written() {
        let facts = Facts {
            last_id: Id { ms: 1 << 41, seq: 7 },
            max_deleted: Id { ms: 5, seq: 1 << 60 },
            added: 1 << 40,
            nodes: 1,
            tail_entries: FULL,
            tail_bytes: 3,
            head_entries: 4,
            tail: Tail { node: 9, uncounted: 10 },
            node_id: Id { ms: 11, seq: 12 },
            node_names: 13,
        };
        let mut value = [0; VALUE_BYTES];
        facts.write(&mut value);
        assert_eq!(Facts::read(&value), facts);
    }
}
