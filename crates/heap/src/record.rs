//! One record: contiguous bytes in a segment.
//!
//! ```text
//! | form 1 | state 1 | keyspace 1-2 | key len 1-4 | shape 0-1 | room len 1-4 | attributes 0-13
//!                                                                | deadline 0-8 | key | room |
//!
//! attributes | flags 0-4 | CAS 0, 8 | marks 0-1 |
//! room       | value | slack |
//! ```
//! `form` says which of the widths are taken, and whether there is a shape, which says the same of
//! attributes. Form, shape, lengths and key never change after the append; `state`, attributes,
//! deadline and value change in place under the owner's lock. The room is fixed too: a value that
//! shrinks leaves slack, whose size stands in its own last bytes.

mod attributes;
mod draft;
mod layout;

pub use attributes::{Attributes, DraftAttributes, NoAttributes};
pub use draft::{Draft, Footprint};

use base::{KeyspaceId, Millis};
use layout::{
    DEADLINE_BYTES, EXTRAS_DEADLINE, FAR, FAR_DEADLINE_BYTES, FORM_DEADLINE, FORM_LARGE_NODE,
    FORM_NODE, FORM_RECORD, FORM_WIDE_KEYSPACE, Parts, STATE_SLACK, STATE_VALUE_TAG,
    deadline_width, get, large_node_parts, narrow_parts, read_slack, wide_parts, write_slack,
};
use std::marker::PhantomData;

/// Most bytes that a record takes besides its key and value.
pub const RECORD_OVERHEAD_MAX: usize = 36;

/// View of a record in its segment. Safe methods read what never changes; unsafe ones read and
/// write what changes in place, and their callers hold the owner's lock.
#[derive(Clone, Copy, Debug)]
pub struct Record<'h> {
    begin: *mut u8,
    parts: Parts,
    heap: PhantomData<&'h [u8]>,
}

impl<'h> Record<'h> {
    /// # Safety
    /// A whole record begins at `begin` and stays for `'h`.
    #[inline]
    pub(crate) unsafe fn at(begin: *mut u8) -> Record<'h> {
        // SAFETY: form and lengths belong to the record and never change.
        let parts = unsafe {
            let form = begin.read();
            let narrow = FORM_RECORD | FORM_DEADLINE;
            if form & !narrow == 0 {
                narrow_parts(begin, form)
            } else if form == FORM_LARGE_NODE {
                large_node_parts(begin)
            } else {
                wide_parts(begin, form)
            }
        };
        Record { begin, parts, heap: PhantomData }
    }

    /// The record in a copy of all its bytes, which is to be read only.
    ///
    /// # Safety
    /// `copy` is what [`Record::bytes`] has returned, or longer.
    pub unsafe fn of_copy(copy: &'h [u8]) -> Record<'h> {
        // SAFETY: as the caller says.
        unsafe { Record::at(copy.as_ptr().cast_mut()) }
    }

    /// All bytes of the record, to be copied.
    ///
    /// # Safety
    /// The caller holds the owner's lock for as long as the slice is used, and makes no
    /// `value_mut` meanwhile.
    #[inline]
    pub unsafe fn bytes(&self) -> &'h [u8] {
        // SAFETY: the extent belongs to the record; the lock excludes writers.
        unsafe { std::slice::from_raw_parts(self.begin, self.extent() as usize) }
    }

    /// The keyspace that the record belongs to.
    #[inline]
    pub fn keyspace(&self) -> KeyspaceId {
        // SAFETY: the keyspace's bytes belong to the record and never change.
        unsafe {
            let wide = self.begin.read() & FORM_WIDE_KEYSPACE != 0;
            KeyspaceId(narrow::low_u16(get(self.begin.add(2), 1 + usize::from(wide)).into()))
        }
    }

    /// Returns true if the record is a node of a collection.
    #[inline]
    pub fn is_node(&self) -> bool {
        // SAFETY: the form belongs to the record and never changes.
        unsafe { self.begin.read() & FORM_NODE != 0 }
    }

    /// The key.
    #[inline]
    pub fn key(&self) -> &'h [u8] {
        let Parts { key, value, .. } = self.parts;
        // SAFETY: the key's bytes belong to the record and never change.
        unsafe {
            std::slice::from_raw_parts(
                self.begin.add(narrow::to_usize(key)),
                narrow::to_usize(value - key),
            )
        }
    }

    /// Bytes that the record takes in its segment.
    #[inline]
    pub fn extent(&self) -> u32 {
        narrow::to_u32(narrow::to_usize(self.parts.value + self.parts.room))
    }

    /// Bytes kept for the value.
    #[inline]
    pub fn room(&self) -> usize {
        narrow::to_usize(self.parts.room)
    }

    /// Returns true if the record has room for a deadline, attributes, or both: what changes with
    /// the value.
    #[inline]
    pub fn has_extras(&self) -> bool {
        self.parts.extras != 0
    }

    /// Returns true if the record has room for a deadline.
    #[inline]
    pub fn has_deadline_room(&self) -> bool {
        self.deadline_room() != 0
    }

    /// Returns true if this deadline can be stored without moving the record.
    #[inline]
    pub fn fits_deadline(&self, deadline: Option<Millis>) -> bool {
        match deadline {
            None => true,
            Some(deadline) => self.has_room_for(deadline),
        }
    }

    #[inline(never)]
    fn has_room_for(&self, deadline: Millis) -> bool {
        deadline_width(deadline) <= self.deadline_room()
    }

    #[inline]
    fn deadline_room(&self) -> usize {
        narrow::to_usize(self.parts.extras & EXTRAS_DEADLINE)
    }

    /// The first byte of the deadline.
    #[inline]
    fn deadline_begin(&self) -> *mut u8 {
        self.begin.wrapping_add(narrow::to_usize(self.parts.key) - self.deadline_room())
    }

    /// The store's seven bits: kind and encoding of the value.
    ///
    /// # Safety
    /// The caller holds the owner's lock.
    #[inline]
    pub unsafe fn value_tag(&self) -> u8 {
        // SAFETY: as the caller says.
        unsafe { self.begin.add(1).read() & STATE_VALUE_TAG }
    }

    /// The deadline; `None` if the record has no room for one, or if it was removed.
    ///
    /// # Safety
    /// The caller holds the owner's lock.
    #[inline]
    pub unsafe fn deadline(&self) -> Option<Millis> {
        if !self.has_deadline_room() {
            return None;
        }
        let is_far = self.deadline_room() == FAR_DEADLINE_BYTES;
        let mut bytes = [0; 8];
        // SAFETY: the deadline's bytes belong to the record; the lock excludes writers.
        unsafe {
            let from = self.deadline_begin();
            if is_far {
                bytes.as_mut_ptr().copy_from_nonoverlapping(from, FAR_DEADLINE_BYTES);
            } else {
                bytes.as_mut_ptr().copy_from_nonoverlapping(from, DEADLINE_BYTES);
            }
        }
        let deadline = Millis(u64::from_le_bytes(bytes));
        (deadline != if is_far { Millis::MAX } else { FAR }).then_some(deadline)
    }

    /// Changes the deadline in place.
    ///
    /// # Safety
    /// The caller holds the owner's lock, and the record has room for this deadline.
    #[inline]
    pub unsafe fn set_deadline(&self, deadline: Option<Millis>) {
        debug_assert!(self.has_deadline_room() && self.fits_deadline(deadline));
        // In six bytes this is `FAR`.
        let bytes = deadline.unwrap_or(Millis::MAX).0.to_le_bytes();
        // SAFETY: as the caller says.
        unsafe {
            let to = self.deadline_begin();
            to.copy_from_nonoverlapping(bytes.as_ptr(), self.deadline_room());
        }
    }

    /// The value.
    ///
    /// # Safety
    /// The caller holds the owner's lock for as long as the slice is used, and makes no
    /// `value_mut` meanwhile.
    #[inline]
    pub unsafe fn value(&self) -> &'h [u8] {
        // SAFETY: the room belongs to the record; the lock excludes writers.
        unsafe {
            let from = self.begin.add(narrow::to_usize(self.parts.value));
            std::slice::from_raw_parts(from, self.room() - self.slack())
        }
    }

    /// The value, to be changed in place.
    ///
    /// # Safety
    /// The caller holds the owner's lock for as long as the slice is used, and uses no other
    /// slice of this value meanwhile.
    #[inline]
    pub unsafe fn value_mut(&self) -> &'h mut [u8] {
        // SAFETY: the room belongs to the record; the lock excludes everyone else.
        unsafe {
            let from = self.begin.add(narrow::to_usize(self.parts.value));
            std::slice::from_raw_parts_mut(from, self.room() - self.slack())
        }
    }

    /// Changes length and value tag in place. Bytes that a longer value gains are not cleared.
    ///
    /// # Safety
    /// The caller holds the owner's lock and no slice of the value; `value_len` is at most
    /// `room()`.
    #[inline]
    pub unsafe fn set_value_len(&self, value_len: usize, value_tag: u8) {
        debug_assert!(value_len <= self.room());
        let slack = self.room() - value_len;
        // SAFETY: the slack lies at the end of the room, whose bytes are the caller's.
        unsafe {
            self.begin
                .add(1)
                .write(value_tag & STATE_VALUE_TAG | if slack > 0 { STATE_SLACK } else { 0 });
            if slack > 0 {
                write_slack(self.begin.add(self.extent() as usize), slack);
            }
        }
    }

    /// Bytes at the end of the room that hold no value.
    ///
    /// # Safety
    /// The caller holds the owner's lock.
    #[inline]
    pub unsafe fn slack(&self) -> usize {
        // SAFETY: a set bit says that the room ends in the slack's size.
        unsafe {
            if self.begin.add(1).read() & STATE_SLACK == 0 {
                return 0;
            }
            read_slack(self.begin.add(self.extent() as usize))
        }
    }

    /// Footprint of the record; `grows` as in its draft.
    ///
    /// # Safety
    /// The caller holds the owner's lock.
    #[inline]
    pub unsafe fn footprint(&self, grows: bool) -> Footprint {
        // SAFETY: as the caller says.
        let slack = narrow::to_u32(unsafe { self.slack() });
        Footprint { live: self.extent() - slack, growth: if grows { slack } else { 0 } }
    }

    /// Bytes of the record that count as live: all but the slack.
    ///
    /// # Safety
    /// The caller holds the owner's lock.
    #[inline]
    pub unsafe fn live_bytes(&self) -> u32 {
        // SAFETY: as the caller says.
        self.extent() - narrow::to_u32(unsafe { self.slack() })
    }
}

#[cfg(test)]
mod tests;
