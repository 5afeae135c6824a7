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
    /// Counts an entry with these texts, of `len` bytes together, as one of the last node. Returns
    /// whether it starts another one.
    pub(super) fn note_added<'t>(
        self,
        facts: &mut Facts,
        id: Id,
        len: usize,
        texts: impl Iterator<Item = &'t [u8]> + Clone,
    ) -> bool {
        let most = if self.bytes == 0 { NODE_BYTES_MAX } else { self.bytes.min(NODE_BYTES_MAX) };
        let is_full = u64::from(facts.tail_bytes) + len as u64 >= most
            || self.entries > 0 && u64::from(facts.tail_entries) >= self.entries;
        let starts = matches!(facts.tail_entries, 0 | FULL) || is_full;
        let names = || texts.clone().step_by(2).map(bytes_of);
        let values: usize = texts.clone().skip(1).step_by(2).map(bytes_of).sum();
        let diff = id.ms.wrapping_sub(facts.last_id.ms).min(i64::MAX as u64) as i64;
        let mut bytes = 3 * SMALL_BYTES + element_bytes(Element::Integer(diff)) + values;
        if starts {
            (facts.tail_entries, facts.tail_bytes) = (0, 0);
            bytes += LISTPACK_BYTES + 4 * SMALL_BYTES + names().sum::<usize>();
        }
        facts.tail_entries = facts.tail_entries.saturating_add(1).min(FULL - 1);
        facts.tail_bytes = facts.tail_bytes.saturating_add(u32::try_from(bytes).unwrap_or(FULL));
        starts
    }
}

#[inline]
fn bytes_of(text: &[u8]) -> usize {
    element_bytes(Element::of(text))
}
