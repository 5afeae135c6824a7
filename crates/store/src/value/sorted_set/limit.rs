//! Largest size of a sorted set that is one packed list.

use packed::PackedList;

/// Longest packed list of a sorted set, in bytes, whatever the settings.
const PACKED_BYTES: usize = 60_000;

/// The settings `zset-max-listpack-entries` and `zset-max-listpack-value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortedSetLimit {
    /// Most members.
    pub members_max: u64,
    /// Most bytes of a member.
    pub member_bytes_max: u64,
}

impl SortedSetLimit {
    /// Returns true if a set of `members` members, the longest of `member_bytes`, may be a small
    /// one.
    #[inline]
    pub fn allows(self, members: u64, member_bytes: usize) -> bool {
        members <= self.members_max && member_bytes as u64 <= self.member_bytes_max
    }
}

/// Returns true if a packed list may grow by elements of `cost` bytes.
#[inline]
pub(super) fn has_room(packed: PackedList<'_>, cost: usize) -> bool {
    packed.full_len() + cost <= PACKED_BYTES
}
