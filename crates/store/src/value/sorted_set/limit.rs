//! Up to which size a sorted set is one packed list.

use packed::PackedList;

/// A packed list holds no more, whatever the settings.
const PACKED_BYTES: usize = 60_000;

/// The settings `zset-max-listpack-entries` and `zset-max-listpack-value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortedSetLimit {
    /// Members.
    pub members_max: u64,
    /// Bytes of a member.
    pub member_bytes_max: u64,
}

impl SortedSetLimit {
    /// Whether a set of so many members, of which the longest has so many bytes, is called small.
    #[inline]
    pub fn allows(self, members: u64, member_bytes: usize) -> bool {
        members <= self.members_max && member_bytes as u64 <= self.member_bytes_max
    }
}

/// Whether a packed list has room for elements of `cost` bytes.
#[inline]
pub(super) fn has_room(packed: PackedList<'_>, cost: usize) -> bool {
    packed.full_len() + cost <= PACKED_BYTES
}
