//! One record: contiguous bytes in a segment.
//!
//! ```text
//! | form 1 | state 1 | keyspace 1-2 | key len 1-4 | room len 1-4 | deadline 0-8 | key | room |
//!
//! room   | value | slack |
//! ```
//! `form` says which of the widths are taken. Form, lengths and key never change after the append;
//! `state`, deadline and value change in place under the owner's lock. The room is fixed too: a
//! value that shrinks leaves slack, whose size stands in its own last bytes.

mod draft;
mod layout;

pub use draft::{Draft, Footprint};

use base::{KeyspaceId, Millis};
use layout::{
    DEADLINE_BYTES, FAR, FAR_DEADLINE_BYTES, FORM_DEADLINE, FORM_LARGE_NODE, FORM_NODE,
    FORM_RECORD, FORM_WIDE_KEYSPACE, Parts, STATE_SLACK, STATE_VALUE_TAG, deadline_width, get,
    large_node_parts, narrow_parts, read_slack, wide_parts, write_slack,
};
use std::marker::PhantomData;

/// Most bytes that a record takes besides its key and value.
pub const RECORD_OVERHEAD_MAX: usize = 32;

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
        narrow::to_usize(self.parts.key - self.parts.deadline)
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
            let from = self.begin.add(narrow::to_usize(self.parts.deadline));
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
            let to = self.begin.add(narrow::to_usize(self.parts.deadline));
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
mod tests {
    use super::*;

    fn round_trip(draft: Draft<'_>, value: &[u8]) {
        let mut bytes = vec![0xAA; draft.extent() + 8];
        // SAFETY: the buffer is as large as the record and nobody else knows of it.
        unsafe {
            draft.write(bytes.as_mut_ptr());
            let record = Record::at(bytes.as_mut_ptr());
            record.set_value_len(value.len(), draft.value_tag);
            record.value_mut().copy_from_slice(value);
            assert_eq!(record.is_node(), draft.is_node);
            assert_eq!(record.keyspace(), draft.keyspace);
            assert_eq!(record.key(), draft.key);
            assert_eq!(record.value(), value);
            assert_eq!(record.value_tag(), draft.value_tag);
            assert_eq!(record.deadline(), draft.deadline);
            assert_eq!(record.extent() as usize, draft.extent());
            assert_eq!(record.slack(), draft.room - value.len());
        }
        assert_eq!(bytes[draft.extent()..], [0xAA; 8]);
    }

    #[test]
    fn every_width_of_header_reads_back_what_was_written() {
        let lengths = [0, 1, 16, 255, 256, 300, 65_535, 65_536];
        for keyspace in [0, 255, 256, u16::MAX].map(KeyspaceId) {
            for key_len in [0, 1, 255, 256, 70_000] {
                for value_len in lengths {
                    for slack in [0, 1, 254, 255, 256, 70_000] {
                        let deadlines = [1_700_000_000_000, FAR.0 - 1, FAR.0, 1 << 62];
                        for deadline in [None].into_iter().chain(deadlines.map(Some)) {
                            let deadline = deadline.map(Millis);
                            let (key, value) = (vec![b'k'; key_len], vec![b'v'; value_len]);
                            let draft = Draft {
                                is_node: key_len == 1,
                                grows: false,
                                keyspace,
                                value_tag: 0x55,
                                key: &key,
                                value_len,
                                room: value_len + slack,
                                deadline,
                            };
                            round_trip(draft, &value);
                        }
                    }
                }
                if cfg!(miri) {
                    break;
                }
            }
        }
    }

    #[test]
    fn sixteen_and_sixteen_bytes_take_five_more() {
        let draft = Draft {
            is_node: false,
            grows: false,
            keyspace: KeyspaceId(0),
            value_tag: 0,
            key: &[b'k'; 16],
            value_len: 16,
            room: 16,
            deadline: None,
        };
        assert_eq!(draft.extent(), 37);
        assert_eq!(Draft { deadline: Some(Millis(1)), ..draft }.extent(), 43);
        assert_eq!(Draft { deadline: Some(FAR), ..draft }.extent(), 45);
    }

    #[test]
    fn a_deadline_is_changed_in_place_where_it_fits() {
        let (near, far) = (Some(Millis(FAR.0 - 1)), Some(Millis(i64::MAX as u64)));
        for (first, fitting) in [(near, [near, None, near]), (far, [near, None, far])] {
            let draft = Draft {
                is_node: false,
                grows: false,
                keyspace: KeyspaceId(0),
                value_tag: 0,
                key: b"k",
                value_len: 0,
                room: 0,
                deadline: first,
            };
            let mut bytes = vec![0; draft.extent()];
            // SAFETY: the buffer is as large as the record and nobody else knows of it.
            unsafe {
                draft.write(bytes.as_mut_ptr());
                let record = Record::at(bytes.as_mut_ptr());
                assert_eq!(record.fits_deadline(far), first == far);
                for deadline in fitting {
                    assert!(record.fits_deadline(deadline));
                    record.set_deadline(deadline);
                    assert_eq!((record.deadline(), record.key()), (deadline, &b"k"[..]));
                }
            }
        }
    }
}
