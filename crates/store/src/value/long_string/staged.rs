//! Long strings that are received before a key gets them.
//!
//! ```text
//! stage ──▶ add, add, ... ──▶ set_staged   the value of its key, without a copy
//!                        └──▶ dropped      lazy free
//! ```
//! A staged string is a collection of chunks in a keyspace that no database points to, in the shard
//! of the key that is to get it. So cleaners move its chunks as any others, and no client, no
//! snapshot and no flush reaches it.

use super::change::put_chunks;
use super::read::LongView;
use super::{CHUNK_BYTES, WHOLE_BYTES_MAX, is_zeros, node_of};
use crate::access::Access;
use crate::fault::NoSpace;
use crate::key::{Expiry, Key};
use crate::shard::{CollectionId, GivenUp};
use base::PositionHash;
use heap::Attributes;
use std::sync::Arc;

/// A long string that is being received.
#[derive(Debug)]
pub struct Staged {
    /// The chunks; `None` once a key has them.
    id: Option<CollectionId>,
    hash: PositionHash,
    /// Bytes in the chunks.
    len: usize,
    /// The last bytes, which fill no chunk.
    tail: Vec<u8>,
    given_up: Arc<GivenUp>,
}

impl Staged {
    /// Position hash of the key for which it was begun.
    pub fn hash(&self) -> PositionHash {
        self.hash
    }

    /// Number of bytes that were added.
    pub fn len(&self) -> usize {
        self.len + self.tail.len()
    }

    /// Returns true if no bytes were added.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory that an addition of `bytes` appends at most.
    pub fn room_for(&self, bytes: usize) -> usize {
        (bytes + CHUNK_BYTES) / CHUNK_BYTES * (CHUNK_BYTES + CHUNK_OVERHEAD)
    }

    fn key(&self, access: &Access<'_>) -> Key<'static> {
        key(access, self.hash)
    }
}

/// Most bytes of a chunk's record besides the chunk.
const CHUNK_OVERHEAD: usize = 64;

/// A key of the keyspace of staged strings, which has none.
fn key(access: &Access<'_>, hash: PositionHash) -> Key<'static> {
    Key { bytes: b"", hash, keyspace: access.shared_guard().staging() }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some(id) = self.id.take() {
            self.given_up.lock().push((self.hash, id));
        }
    }
}

impl<'a> Access<'a> {
    /// Begins a string that a key of the locked shard of `hash` may get.
    ///
    /// # Errors
    /// When there are too many collections.
    pub fn stage(&mut self, hash: PositionHash) -> Result<Staged, NoSpace> {
        let key = key(self, hash);
        let id = self.guard().key_mut(&key).new_collection()?;
        let given_up = Arc::clone(self.shared_guard().given_up());
        Ok(Staged { id: Some(id), hash, len: 0, tail: Vec::new(), given_up })
    }

    /// Adds bytes at the end of a staged string, whose shard is locked.
    ///
    /// # Errors
    /// When there is no room for all of them; its length tells how many were added.
    pub fn add_staged(&mut self, staged: &mut Staged, mut bytes: &[u8]) -> Result<(), NoSpace> {
        if !staged.tail.is_empty() {
            let (first, rest) = bytes.split_at(bytes.len().min(CHUNK_BYTES - staged.tail.len()));
            staged.tail.extend_from_slice(first);
            bytes = rest;
            if staged.tail.len() < CHUNK_BYTES {
                return Ok(());
            }
            let chunk = std::mem::take(&mut staged.tail);
            let put = self.put_staged(staged, &chunk);
            if put.is_err() {
                staged.tail = chunk;
                return put;
            }
        }
        let (chunks, tail) = bytes.as_chunks::<CHUNK_BYTES>();
        chunks.iter().try_for_each(|chunk| self.put_staged(staged, chunk))?;
        staged.tail.extend_from_slice(tail);
        Ok(())
    }

    fn put_staged(&mut self, staged: &mut Staged, chunk: &[u8]) -> Result<(), NoSpace> {
        let (key, Some(id)) = (staged.key(self), staged.id) else { return Err(NoSpace) };
        let node = node_of(staged.len / CHUNK_BYTES);
        if !is_zeros(chunk) {
            self.guard().key_mut(&key).nodes_of(id).put(node, chunk)?;
        }
        staged.len += chunk.len();
        Ok(())
    }

    /// Appends a copy of a staged string, whose shard is locked, to `bytes`.
    pub fn copy_staged(&self, staged: &Staged, bytes: &mut Vec<u8>) {
        let nodes = staged.id.and_then(|id| self.shared_guard().nodes_of(id));
        if let Some(nodes) = nodes {
            let parts = LongView::new(nodes, staged.len).parts(0..staged.len);
            parts.for_each(|part| bytes.extend_from_slice(part.bytes()));
        }
        bytes.extend_from_slice(&staged.tail);
    }

    /// Makes a staged string of more than [`WHOLE_BYTES_MAX`] bytes the value of a key, in
    /// place of any other value. The key is in the shard for which it was staged.
    ///
    /// # Errors
    /// When there is no room for it; nothing has changed then.
    pub fn set_staged(
        &mut self,
        key: &Key<'_>,
        staged: Staged,
        expiry: Expiry,
    ) -> Result<(), NoSpace> {
        self.set_staged_keeping(key, staged, expiry, None)
    }

    /// Does the same with what its record keeps of attributes.
    pub(crate) fn set_staged_keeping(
        &mut self,
        key: &Key<'_>,
        mut staged: Staged,
        expiry: Expiry,
        attributes: Option<Attributes>,
    ) -> Result<(), NoSpace> {
        let tail = std::mem::take(&mut staged.tail);
        let len = staged.len + tail.len();
        debug_assert!(len > WHOLE_BYTES_MAX && staged.hash.shard() == key.hash.shard());
        if !tail.is_empty() {
            self.put_staged(&mut staged, &tail)?;
        }
        let from = staged.key(self);
        let id = staged.id.take().ok_or(NoSpace)?;
        self.guard().hand_over(id, &from, key);
        let mut key = self.guard().key_mut(key);
        let deadline = expiry.after(|| key.deadline());
        put_chunks(&mut key, id, len, deadline, attributes)
    }
}
