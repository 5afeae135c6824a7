//! Copies of records, as a snapshot keeps them until they are written.

use super::super::collections::CollectionId;
use crate::attributes::Attributes;
use crate::key::ValueTag;
use base::Millis;
use heap::Record;
use index::Entry;

/// Bytes before each record: its entry, the number of its keyspace in the cut, its length.
const HEAD_BYTES: usize = 8 + 2 + 4;

/// Copies of records with their entries, one behind the other.
///
/// ```text
/// | entry 8 | keyspace in the cut 2 | length 4 | record | entry 8 | ...
/// ```
#[derive(Debug, Default)]
pub struct Copies {
    bytes: Vec<u8>,
}

/// Copy of one record.
#[derive(Clone, Copy, Debug)]
pub struct Copied<'c> {
    /// Number of the keyspace in the cut.
    pub(crate) number: u16,
    pub(in crate::shard) entry: Entry,
    pub(in crate::shard) record: Record<'c>,
}

impl Copies {
    /// Bytes of all copies.
    pub fn byte_len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns true if there is no copy.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Forgets all copies, and keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
    }

    /// Adds a copy of a record; returns its collection if the value is a tree.
    ///
    /// # Safety
    /// The lock of the record's shard is held.
    pub(in crate::shard) unsafe fn push(
        &mut self,
        number: u16,
        entry: Entry,
        record: &Record<'_>,
    ) -> Option<CollectionId> {
        // SAFETY: as the caller says.
        let (bytes, value_tag) = unsafe { (record.bytes(), ValueTag(record.value_tag())) };
        let mut head = [0; HEAD_BYTES];
        head[..8].copy_from_slice(&entry.bits().to_le_bytes());
        head[8..10].copy_from_slice(&number.to_le_bytes());
        head[10..].copy_from_slice(&narrow::to_u32(bytes.len()).to_le_bytes());
        self.bytes.reserve(HEAD_BYTES + bytes.len());
        self.bytes.extend_from_slice(&head);
        self.bytes.extend_from_slice(bytes);
        if !value_tag.is_tree() {
            return None;
        }
        // SAFETY: as the caller says.
        CollectionId::read(unsafe { record.value() })
    }

    /// Bytes of memory that the copies take.
    pub(crate) fn room_bytes(&self) -> usize {
        self.bytes.capacity()
    }

    /// Returns true if a copy of a record of so many bytes needs no more memory.
    fn has_room_for(&self, record_bytes: usize) -> bool {
        self.bytes.capacity() - self.bytes.len() >= HEAD_BYTES + record_bytes
    }

    /// Iterates over the copies.
    pub fn iter(&self) -> impl Iterator<Item = Copied<'_>> {
        let mut rest = &self.bytes[..];
        std::iter::from_fn(move || {
            let (entry, behind) = rest.split_first_chunk()?;
            let (number, behind) = behind.split_first_chunk()?;
            let (len, behind) = behind.split_first_chunk()?;
            let (record, behind) = behind.split_at(u32::from_le_bytes(*len) as usize);
            rest = behind;
            // SAFETY: `push` has written a whole record here.
            let record = unsafe { Record::of_copy(record) };
            let entry = Entry::from_bits(u64::from_le_bytes(*entry));
            Some(Copied { number: u16::from_le_bytes(*number), entry, record })
        })
    }
}

/// Bytes of a block of what is handed over, if no copy is larger. A few hundred shards may each
/// have one that is nearly empty.
pub(super) const BLOCK_BYTES: usize = 4 << 10;

/// Copies that were handed over in a shard, in blocks: they neither grow, nor outlive what is in
/// them.
#[derive(Debug, Default)]
pub(in crate::shard) struct Handed {
    blocks: Vec<Copies>,
    room_bytes: usize,
}

impl Handed {
    /// Bytes of memory that the copies take.
    pub fn room_bytes(&self) -> usize {
        self.room_bytes
    }

    /// Adds a copy of a record; returns its collection if the value is a tree.
    ///
    /// # Safety
    /// The lock of the record's shard is held.
    pub unsafe fn push(
        &mut self,
        number: u16,
        entry: Entry,
        record: &Record<'_>,
    ) -> Option<CollectionId> {
        let bytes = record.extent() as usize;
        if self.blocks.last().is_none_or(|block| !block.has_room_for(bytes)) {
            let room = BLOCK_BYTES.max(HEAD_BYTES + bytes);
            let block = Copies { bytes: Vec::with_capacity(room) };
            self.room_bytes += block.room_bytes();
            self.blocks.push(block);
        }
        let block = self.blocks.last_mut().expect("there is one with room");
        // SAFETY: as the caller says.
        unsafe { block.push(number, entry, record) }
    }

    /// Takes all copies.
    pub fn take(&mut self) -> Vec<Copies> {
        self.room_bytes = 0;
        std::mem::take(&mut self.blocks)
    }
}

impl<'c> Copied<'c> {
    /// The key.
    pub fn key(&self) -> &'c [u8] {
        self.record.key()
    }

    /// Deadline of the key.
    pub fn deadline(&self) -> Option<Millis> {
        // SAFETY: nobody writes to a copy.
        if self.entry.has_deadline() { unsafe { self.record.deadline() } } else { None }
    }

    /// Attributes of a string, as [`ValueRef::attributes`](crate::ValueRef::attributes). A drawn
    /// CAS may be younger than the cut.
    pub fn attributes(&self) -> Attributes {
        // SAFETY: nobody writes to a copy.
        Attributes::of_record(unsafe { self.record.attributes() })
    }

    /// Four bits of access history.
    pub fn access_bits(&self) -> u8 {
        self.entry.access()
    }

    /// The value if it is a string in one piece, as most are.
    #[inline]
    pub fn whole_string(&self) -> Option<&'c [u8]> {
        // SAFETY: nobody writes to a copy.
        let (value_tag, value) = unsafe { (self.record.value_tag(), self.record.value()) };
        ValueTag(value_tag).is_whole_string().then_some(value)
    }

    /// Returns true if the value has nodes, which are read under a lock.
    pub fn is_large(&self) -> bool {
        self.collection().is_some()
    }

    pub(crate) fn collection(&self) -> Option<CollectionId> {
        // SAFETY: nobody writes to a copy.
        let (value_tag, value) = unsafe { (self.record.value_tag(), self.record.value()) };
        if ValueTag(value_tag).is_tree() { CollectionId::read(value) } else { None }
    }
}
