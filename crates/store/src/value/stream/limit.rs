//! Nodes as clients count them: where trimming with `~` may stop.

use super::Id;
use super::facts::{FULL, Facts};
use crate::value::list::element_bytes;
use packed::Element;

/// A listpack without elements.
const LISTPACK_BYTES: usize = 7;
/// A listpack's element for a small number.
const SMALL_BYTES: usize = 2;
/// A node takes no more, whatever the setting.
const NODE_BYTES_MAX: u64 = 1 << 30;

/// The settings `stream-node-max-entries` and `stream-node-max-bytes`; zero for no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeLimit {
    /// Entries in a node.
    pub entries: u64,
    /// Bytes in a node.
    pub bytes: u64,
}

impl NodeLimit {
    /// Whether an entry with texts of `len` bytes together starts another node.
    #[inline]
    pub(super) fn starts_node(self, facts: &Facts, len: usize) -> bool {
        let most = if self.bytes == 0 { NODE_BYTES_MAX } else { self.bytes.min(NODE_BYTES_MAX) };
        matches!(facts.tail_entries, 0 | FULL)
            || u64::from(facts.tail_bytes) + len as u64 >= most
            || self.entries > 0 && u64::from(facts.tail_entries) >= self.entries
    }
}

impl Facts {
    /// Counts an entry as one of the last node, or of another one that it starts. `bytes` are those
    /// of its names and values where nodes are listpacks.
    #[inline]
    pub(super) fn note_added(&mut self, id: Id, starts: bool, (names, values): (usize, usize)) {
        let diff = id.ms.wrapping_sub(self.last_id.ms).min(i64::MAX as u64) as i64;
        let mut bytes = 3 * SMALL_BYTES + element_bytes(Element::Integer(diff)) + values;
        if starts {
            (self.tail_entries, self.tail_bytes) = (0, 0);
            bytes += LISTPACK_BYTES + 4 * SMALL_BYTES + names;
            self.nodes += 1;
        }
        self.tail_entries = self.tail_entries.saturating_add(1).min(FULL - 1);
        self.tail_bytes = self.tail_bytes.saturating_add(u32::try_from(bytes).unwrap_or(FULL));
        self.last_id = id;
        self.added += 1;
    }
}
