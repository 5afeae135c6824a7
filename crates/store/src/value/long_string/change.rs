//! Making long strings, and changing them.

use super::{CHUNK_BYTES, LongView, ZEROS, is_zeros, len_of, node_of, set_len, value_of};
use crate::access::{Access, Fault, NoSpace};
use crate::shard::{WriteNodes};
use crate::shard::CollectionId;
use crate::key::{Key, Kind, Label};
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

impl<'a> Access<'a> {
    /// A collection of the chunks of a string, which belongs to a key.
    ///
    /// # Errors
    /// When there is no room for it; nothing has changed then.
    pub(crate) fn chunks_of(
        &mut self,
        key: &Key<'_>,
        bytes: &[u8],
    ) -> Result<CollectionId, NoSpace> {
        self.build_chunks(key, bytes.len(), |_, place, _| Some(&bytes[place]))
    }

    /// A collection of the chunks of a string of `len` bytes: `chunk` makes them of their places,
    /// or writes them into what it is given.
    ///
    /// # Errors
    /// When there is no room for it; nothing has changed then.
    pub(crate) fn build_chunks<'b>(
        &mut self,
        key: &Key<'_>,
        len: usize,
        mut chunk: impl FnMut(&Access<'a>, Range<usize>, &mut Vec<u8>) -> Option<&'b [u8]>,
    ) -> Result<CollectionId, NoSpace> {
        let id = self.new_collection(key)?;
        let mut made = Vec::new();
        for number in 0..len.div_ceil(CHUNK_BYTES) {
            let begin = number * CHUNK_BYTES;
            let given = chunk(self, begin..len.min(begin + CHUNK_BYTES), &mut made);
            let bytes = given.unwrap_or(&made);
            if is_zeros(bytes) {
                continue;
            }
            if self.nodes_of(key, id).put(node_of(number), bytes).is_err() {
                self.retire(key, id);
                return Err(NoSpace);
            }
        }
        Ok(id)
    }

    /// The string of a key as a long one for change: made `len` bytes long if it is shorter or not
    /// there, and ready to be written to in the ranges of `written`, which lie inside.
    ///
    /// # Errors
    /// When the key holds something else, or there is no room; the string is as it was then.
    pub(crate) fn open_long(
        &mut self,
        key: &Key<'_>,
        len: usize,
        written: impl Iterator<Item = Range<usize>>,
    ) -> Result<LongMut<'_, 'a>, Fault> {
        let found = self.open_unseen(key, Kind::String)?;
        let kept = found.filter(|found| self.label(found).is_tree());
        let (id, old_len) = match (kept, found) {
            (Some(kept), _) => (self.tree_of(&kept), len_of(self.bytes(&kept))),
            (None, Some(whole)) => {
                let bytes = self.bytes(&whole).to_vec();
                (self.chunks_of(key, &bytes)?, bytes.len())
            }
            (None, None) => (self.new_collection(key)?, 0),
        };
        let len = len.max(old_len);
        let mut ready = make_ready(&mut self.nodes_of(key, id), written).map_err(NoSpace::from);
        match kept {
            Some(kept) if ready.is_ok() => set_len(self.bytes_mut(&kept), len),
            Some(_) => {}
            None => {
                let put = |()| self.put(key, found, Label::OF_LONG_STRING, &value_of(id, len));
                ready = ready.and_then(put).map(|_| ());
                if ready.is_err() {
                    self.retire(key, id);
                }
            }
        }
        ready?;
        Ok(LongMut { nodes: self.nodes_of(key, id), len })
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
            made.into_iter().for_each(|node| nodes.take_out(node));
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
