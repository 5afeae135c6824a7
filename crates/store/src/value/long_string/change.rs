//! Making long strings, and changing them.

use super::{CHUNK_BYTES, LongView, ZEROS, is_zeros, len_of, node_of, set_len, value_of};
use crate::access::Access;
use crate::fault::{Fault, NoSpace};
use crate::key::{Key, Kind, ValueTag};
use crate::shard::{CollectionId, KeyMut, WriteNodes};
use base::Millis;
use smallvec::{SmallVec, smallvec};
use std::ops::Range;
use tree::{NoRoom, NodeId, NodesMut};

/// A long string, in which the ranges can be written that it was opened for.
#[derive(Debug)]
pub struct LongMut<'v, 'a> {
    nodes: WriteNodes<'v, 'a>,
    len: usize,
}

impl LongMut<'_, '_> {
    /// The same, to be read.
    pub fn view(&self) -> LongView<'_> {
        LongView::new(self.nodes.read(), self.len)
    }

    /// Its length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Never: it is long.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Writes bytes over those from `at` on.
    pub fn write(&mut self, at: usize, bytes: &[u8]) {
        for (chunk, place) in places(at..at + bytes.len()) {
            let begin = chunk * CHUNK_BYTES + place.start - at;
            let from = &bytes[begin..begin + place.len()];
            self.nodes.bytes_mut(node_of(chunk))[place].copy_from_slice(from);
        }
    }

    /// Lets `change` change a few bytes, or read those for which the string was not opened. Beyond
    /// its end there are none.
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

/// A collection of the chunks of a string, which belongs to a key.
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

/// Makes bytes a chunk of a collection, which is given up if there is no room for it.
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

/// Makes the chunks of a collection the value of a key, in place of any other.
///
/// # Errors
/// When there is no room for it; nothing has changed then, and the collection is given up.
pub(crate) fn put_chunks(
    key: &mut KeyMut<'_, '_>,
    id: CollectionId,
    len: usize,
    deadline: Option<Millis>,
) -> Result<(), NoSpace> {
    let put = key.replace_until(ValueTag::OF_LONG_STRING, &value_of(id, len), deadline);
    if put.is_err() {
        key.give_up(id);
    }
    put
}

impl<'a> Access<'a> {
    /// Makes a string of `len` bytes, which has no deadline, the value of a key, in place of any
    /// other: `chunk` appends the bytes of each place to what it is given.
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
        put_chunks(&mut self.guard().key_mut(key), id, len, None)
    }

    /// The string of a key as a long one for change: made `len` bytes long if it is shorter or not
    /// there, and ready to be written to in the ranges of `written`, which lie inside.
    ///
    /// # Errors
    /// When the key holds something else, or there is no room; the string is as it was then.
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
        let deadline = key.deadline();
        put_chunks(&mut key, id, len, deadline)?;
        Ok(LongMut { nodes: key.into_nodes_mut(id), len })
    }
}

/// Makes chunks where some of these ranges lie and there are none, or none so long.
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

/// The chunks that a range touches, and which bytes of each.
fn places(range: Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> {
    let chunks = range.start / CHUNK_BYTES..range.end.div_ceil(CHUNK_BYTES);
    let chunks = if range.is_empty() { 0..0 } else { chunks };
    chunks.map(move |chunk| {
        let begin = chunk * CHUNK_BYTES;
        let from = range.start.saturating_sub(begin);
        (chunk, from..CHUNK_BYTES.min(range.end - begin))
    })
}
