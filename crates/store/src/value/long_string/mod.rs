//! Long strings: strings of more than 512 KiB, kept as chunks.
//!
//! ```text
//! value of the key   | collection 4 | length 8 |
//!                          │
//! node table         | - | chunk 0 | chunk 1 | hole | chunk 3 | ...       chunk i is node i + 1
//!                          │
//! record of a chunk  | key: collection 4, node 4 | value: up to 16 KiB of the string |
//! ```
//! Nothing is ever inserted into the middle of a string, so a chunk's number follows from its
//! offset, and the node table finds it in one step. Reads and changes touch only the chunks that
//! they need, the cleaner moves chunks one by one, and lazy free frees the chunks of a removed
//! string in slices.
//!
//! Invariants:
//! * A long string has more than [`WHOLE_BYTES_MAX`] bytes. A string becomes long when it is set to
//!   so many bytes or grows beyond them, and stays in chunks until its key gets another value.
//! * A chunk holds at most [`CHUNK_BYTES`], and none of them lies wholly beyond the string's end.
//! * The bytes of its place that a chunk does not store are zeros, like all of a hole. Bytes that
//!   it stores beyond the end of the string are zeros too.
//! * Only the last chunk may be shorter than its place: that of a string that was set or copied
//!   ends where the string does. The first change that needs more of it extends it to the full
//!   [`CHUNK_BYTES`], so later changes find room. A chunk's record never has growth room.
//! * Bytes of a chunk that are pinned, as a reply is sent from them, are not changed in place: the
//!   chunk is moved before.
//!
//! A change creates all chunks that it will write to before it updates the length of the string; if
//! there is no room for one of them, it removes those that it created.

mod change;
mod read;
mod staged;
#[cfg(test)]
mod tests;

pub use change::LongMut;
pub(crate) use change::{chunks_of, put_chunks};
pub use read::{LongView, Part};
pub use staged::Staged;

use crate::shard::CollectionId;
use tree::NodeId;

/// Longest string, in bytes, that is kept in one piece.
pub const WHOLE_BYTES_MAX: usize = heap::DEDICATED_BYTES;

/// Bytes of a string covered by one chunk.
pub const CHUNK_BYTES: usize = 16 << 10;

/// Content of holes.
static ZEROS: [u8; CHUNK_BYTES] = [0; CHUNK_BYTES];

/// Length in bytes of the record value of a key with a long string.
const VALUE_BYTES: usize = CollectionId::BYTES + size_of::<u64>();

/// Returns the record value of a key with a long string.
pub(crate) fn value_of(id: CollectionId, len: usize) -> [u8; VALUE_BYTES] {
    let mut value = [0; VALUE_BYTES];
    id.write(&mut value);
    set_len(&mut value, len);
    value
}

fn set_len(value: &mut [u8], len: usize) {
    value[CollectionId::BYTES..].copy_from_slice(&(len as u64).to_le_bytes());
}

/// Reads the length of a long string from the record value of its key.
pub(crate) fn len_of(value: &[u8]) -> usize {
    let len = value.get(CollectionId::BYTES..).and_then(|bytes| bytes.first_chunk());
    narrow::to_usize(u64::from_le_bytes(*len.expect("the value of a long string has its length")))
}

/// Returns the number of a chunk's node.
fn node_of(chunk: usize) -> NodeId {
    narrow::to_u32(chunk) + 1
}

fn is_zeros(bytes: &[u8]) -> bool {
    bytes.chunks(CHUNK_BYTES).all(|part| *part == ZEROS[..part.len()])
}
