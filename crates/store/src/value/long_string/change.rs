//! Creation and change of long strings.

use super::{CHUNK_BYTES, LongView, ZEROS, is_zeros, len_of, node_of, set_len, value_of};
use crate::access::Access;
use crate::attributes::NextValue;
use crate::fault::{Fault, NoSpace};
use crate::key::{Key, Kind, ValueTag};
use crate::shard::{CollectionId, KeyMut, WriteNodes};
use base::Millis;
use heap::Attributes;
use smallvec::{SmallVec, smallvec};
use std::ops::Range;
use tree::{NoRoom, NodeId, NodesMut};

/// A long string opened for change, with certain ranges that may be written.
#[derive(Debug)]
pub struct LongMut<'v, 'a> {
    nodes: WriteNodes<'v, 'a>,
    len: usize,
}

impl LongMut<'_, '_> {
    /// Returns the string for reading.
    pub fn view(&self) -> LongView<'_> {
        LongView::new(self.nodes.read(), self.len)
    }

    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Always false: a long string has bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Overwrites the bytes from `at` on.
    pub fn write(&mut self, at: usize, bytes: &[u8]) {
        for (chunk, place) in places(at..at + bytes.len()) {
            let begin = chunk * CHUNK_BYTES + place.start - at;
            let from = &bytes[begin..begin + place.len()];
            self.nodes.move_if_pinned(node_of(chunk));
            self.nodes.bytes_mut(node_of(chunk))[place].copy_from_slice(from);
        }
    }

    /// Calls `change` with a copy of a few bytes and writes them back if they have changed. Ranges
    /// for which the string was not opened can be read only. Bytes beyond the end of the string are
    /// left out.
    pub fn with_bytes<T>(&mut self, range: Range<usize>, change: impl FnOnce(&mut [u8]) -> T) -> T {
        let end = range.end.min(self.len);
        let start = range.start.min(end);
        let mut bytes: SmallVec<[u8; 16]> = smallvec![0; end - start];
        self.view().copy_to(start, &mut bytes);
        let before = bytes.clone();
        let done = change(&mut bytes);
        if bytes != before {
            self.write(start, &bytes);
        }
        done
    }
}

/// Creates a collection with the chunks of a string, for a key.
///
/// # Errors
/// When there is no room for it; nothing has changed then.
pub(crate) fn chunks_of(key: &mut KeyMut<'_, '_>, bytes: &[u8]) -> Result<CollectionId, NoSpace> {
    let id = key.new_collection()?;
    for (number, chunk) in bytes.chunks(CHUNK_BYTES).enumerate() {
        put_chunk(key, id, number, chunk)?;
    }
    Ok(id)
}

/// Adds a chunk to a collection, which is given up if there is no room. A chunk of zeros stays a
/// hole.
fn put_chunk(
    key: &mut KeyMut<'_, '_>,
    id: CollectionId,
    number: usize,
    bytes: &[u8],
) -> Result<(), NoSpace> {
    if is_zeros(bytes) {
        return Ok(());
    }
    let put = key.nodes_of(id).put(node_of(number), bytes);
    if put.is_err() {
        key.give_up(id);
    }
    Ok(put?)
}

/// Makes a collection of chunks the value of a key, in place of any other value.
///
/// # Errors
/// When there is no room for it; nothing has changed then, and the collection is given up.
pub(crate) fn put_chunks(
    key: &mut KeyMut<'_, '_>,
    id: CollectionId,
    len: usize,
    deadline: Option<Millis>,
    attributes: Option<Attributes>,
) -> Result<(), NoSpace> {
    let value = value_of(id, len);
    let put = key.replace_with(ValueTag::OF_LONG_STRING, &value, deadline, attributes);
    if put.is_err() {
        key.give_up(id);
    }
    put
}

impl<'a> Access<'a> {
    /// Sets a key to a string of `len` bytes without a deadline, in place of any other value.
    /// `chunk` appends the bytes of the given range to its buffer.
    ///
    /// # Errors
    /// When there is no room for it; nothing has changed then.
    pub(crate) fn write_chunks(
        &mut self,
        key: &Key<'_>,
        len: usize,
        mut chunk: impl FnMut(&Access<'a>, Range<usize>, &mut Vec<u8>),
    ) -> Result<(), NoSpace> {
        let id = self.guard().key_mut(key).new_collection()?;
        let mut made = Vec::new();
        for number in 0..len.div_ceil(CHUNK_BYTES) {
            let begin = number * CHUNK_BYTES;
            made.clear();
            chunk(self, begin..len.min(begin + CHUNK_BYTES), &mut made);
            put_chunk(&mut self.guard().key_mut(key), id, number, &made)?;
        }
        put_chunks(&mut self.guard().key_mut(key), id, len, None, None)
    }

    /// Opens the string of a key for change as a long string, lengthened or created if it has fewer
    /// than `len` bytes. The ranges of `written`, which lie inside it, may then be written.
    ///
    /// # Errors
    /// When the key holds something else, or there is no room; the string is unchanged then.
    pub(crate) fn open_long<'g>(
        &'g mut self,
        key: &Key<'g>,
        len: usize,
        written: impl Iterator<Item = Range<usize>>,
    ) -> Result<LongMut<'g, 'a>, Fault> {
        let mut key = self.open_without_touch(key, Kind::String)?;
        if let Some(id) = key.collection() {
            let len = len.max(len_of(key.bytes()));
            make_ready(&mut key.nodes_mut(), written)?;
            if len != len_of(key.bytes()) {
                set_len(key.bytes_mut(), len);
            }
            key.void_cas();
            return Ok(LongMut { nodes: key.into_nodes_mut(id), len });
        }
        let (id, old_len) = if key.exists() {
            let bytes = key.bytes().to_vec();
            (chunks_of(&mut key, &bytes)?, bytes.len())
        } else {
            (key.new_collection()?, 0)
        };
        let len = len.max(old_len);
        if let Err(no_room) = make_ready(&mut key.nodes_of(id), written) {
            key.give_up(id);
            return Err(no_room.into());
        }
        let (deadline, is_fetched) = (key.deadline(), key.exists() && key.value().is_fetched());
        let attributes = NextValue::Changed.attributes(key.kept_attributes());
        put_chunks(&mut key, id, len, deadline, attributes)?;
        if is_fetched {
            key.note_fetched();
        }
        Ok(LongMut { nodes: key.into_nodes_mut(id), len })
    }
}

/// Ensures that the chunks under these ranges exist and are long enough.
fn make_ready(
    nodes: &mut WriteNodes<'_, '_>,
    written: impl Iterator<Item = Range<usize>>,
) -> Result<(), NoRoom> {
    let mut made = Vec::new();
    for (chunk, place) in written.flat_map(places) {
        if let Err(no_room) = make_chunk(nodes, node_of(chunk), place.end, &mut made) {
            made.into_iter().for_each(|node| nodes.remove(node));
            return Err(no_room);
        }
    }
    Ok(())
}

fn make_chunk(
    nodes: &mut WriteNodes<'_, '_>,
    node: NodeId,
    end: usize,
    made: &mut Vec<NodeId>,
) -> Result<(), NoRoom> {
    match nodes.read().find(node) {
        Some(bytes) if bytes.len() >= end => Ok(()),
        Some(_) => nodes.lengthen(node, CHUNK_BYTES),
        None => {
            nodes.put(node, &ZEROS)?;
            made.push(node);
            Ok(())
        }
    }
}

/// Splits a range by chunks: the number of each chunk, and the range of bytes within it.
fn places(range: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
    let chunks = range.start / CHUNK_BYTES..range.end.div_ceil(CHUNK_BYTES);
    let chunks = if range.is_empty() { 0..0 } else { chunks };
    chunks.map(move |chunk| {
        let begin = chunk * CHUNK_BYTES;
        let from = range.start.saturating_sub(begin);
        (chunk, from..CHUNK_BYTES.min(range.end - begin))
    })
}
