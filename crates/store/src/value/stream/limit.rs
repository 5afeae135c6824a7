//! Nodes as clients count them: trimming with `~` stops at their borders only.

use super::Id;
use super::edit::Listpack;
use super::facts::{FULL, Facts};
use crate::value::list::element_bytes;
use packed::Element;

/// Bytes of a listpack without elements.
const LISTPACK_BYTES: usize = 7;
/// Bytes of a small number in a listpack.
const SMALL_BYTES: usize = 2;
/// Most bytes of a node, whatever the setting.
const NODE_BYTES_MAX: u64 = 1 << 30;

/// The settings `stream-node-max-entries` and `stream-node-max-bytes`; zero for no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeLimit {
    /// Most entries in a node.
    pub entries: u64,
    /// Most bytes in a node.
    pub bytes: u64,
}

impl NodeLimit {
    /// Returns true if an entry with texts of `len` bytes in total starts a new node.
    #[inline]
    pub(super) fn starts_node(self, facts: &Facts, len: usize) -> bool {
        let most = if self.bytes == 0 { NODE_BYTES_MAX } else { self.bytes.min(NODE_BYTES_MAX) };
        matches!(facts.tail_entries, 0 | FULL)
            || u64::from(facts.tail_bytes) + len as u64 >= most
            || self.entries > 0 && u64::from(facts.tail_entries) >= self.entries
    }
}

/// Bytes of an integer in a listpack.
#[inline]
fn integer_bytes(value: i64) -> usize {
    element_bytes(Element::Integer(value))
}

impl Facts {
    /// Adds an entry to the counts of the last node, or of a new one that it starts. Bytes are
    /// those of a listpack, which stores the id and names of its first entry only once.
    #[inline]
    pub(super) fn note_added(&mut self, id: Id, starts: bool, new: Listpack) {
        let mut bytes = 0;
        if starts {
            (self.tail_entries, self.tail_bytes) = (0, 0);
            (self.node_id, self.node_names) = (id, new.names_hash);
            bytes += LISTPACK_BYTES + 3 * SMALL_BYTES + integer_bytes(new.pairs) + new.names;
            self.nodes += 1;
        }
        let mut elements = 3 + new.pairs;
        if self.node_names != new.names_hash {
            elements += new.pairs + 1;
            bytes += integer_bytes(new.pairs) + new.names;
        }
        let ms = id.ms.wrapping_sub(self.node_id.ms).cast_signed();
        let seq = id.seq.wrapping_sub(self.node_id.seq).cast_signed();
        bytes += SMALL_BYTES + integer_bytes(ms) + integer_bytes(seq);
        bytes += new.values + integer_bytes(elements);
        let before = self.tail_entries.max(1);
        self.tail_entries = self.tail_entries.saturating_add(1).min(FULL - 1);
        bytes += integer_bytes(self.tail_entries.into()) - integer_bytes(before.into());
        self.tail_bytes = self.tail_bytes.saturating_add(u32::try_from(bytes).unwrap_or(FULL));
        self.last_id = id;
        self.added += 1;
    }
}
