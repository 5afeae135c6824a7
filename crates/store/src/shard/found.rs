//! Result of a look-up: a key's entry and its record.

use super::collections::CollectionId;
use crate::key::ValueTag;
use base::Millis;
use heap::{Attributes, Footprint, Record};
use index::{Entry, EntrySlot};

/// Entry and record of a key. Outside this folder they are kept in a value that borrows the guard;
/// inside, they are not used after a change of the shard.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found<'a> {
    pub slot: EntrySlot,
    pub entry: Entry,
    pub record: Record<'a>,
}

impl<'a> Found<'a> {
    #[inline(always)]
    pub fn value_tag(&self) -> ValueTag {
        // SAFETY: the shard is locked, and the record is the one that the index names.
        ValueTag(unsafe { self.record.value_tag() })
    }

    #[inline(always)]
    pub fn bytes(&self) -> &'a [u8] {
        // SAFETY: as above; the slice is handed on as one that borrows the guard.
        unsafe { self.record.value() }
    }

    /// Bytes of the value, for change: no other slice of the value is in use.
    #[inline]
    pub fn bytes_mut(self) -> &'a mut [u8] {
        // SAFETY: as above; the guard is borrowed exclusively.
        unsafe { self.record.value_mut() }
    }

    #[inline]
    pub fn deadline(&self) -> Option<Millis> {
        // SAFETY: as above.
        unsafe { self.record.deadline() }
    }

    /// Attributes that the record keeps, if it has room for any.
    #[inline]
    pub fn attributes(&self) -> Option<Attributes> {
        // SAFETY: as above.
        unsafe { self.record.attributes() }
    }

    /// Changes attributes in place; the record has room for them.
    pub fn set_attributes(&self, attributes: Option<Attributes>) {
        // SAFETY: as above; the guard is borrowed exclusively.
        unsafe { self.record.set_attributes(&attributes.unwrap_or_default()) };
    }

    #[inline]
    pub fn collection(&self) -> Option<CollectionId> {
        if self.value_tag().is_tree() { CollectionId::read(self.bytes()) } else { None }
    }
}

/// Footprint of the record of a key. A value that grows bit by bit keeps its slack as growth room;
/// the slack of a string is what an older value left.
#[inline]
pub(super) fn footprint_of(found: &Found<'_>) -> Footprint {
    // SAFETY: the shard is locked, and the record is the one that the index names.
    unsafe { found.record.footprint(found.value_tag().grows()) }
}
