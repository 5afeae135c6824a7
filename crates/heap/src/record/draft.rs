//! Description of a record to be appended, and how it is written.

use super::layout::{
    FORM_NODE, FORM_RECORD, FORM_ROOM_SHIFT, FORM_WIDE_KEY, FORM_WIDE_KEYSPACE, STATE_VALUE_TAG,
    deadline_form, deadline_width, put, room_width,
};
use base::{KeyspaceId, Millis};

/// Bytes that a record counts for in its segment; the rest of its extent counts as dead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Bytes in use.
    pub live: u32,
    /// Bytes of its slack that it may still grow into.
    pub growth: u32,
}

/// Description of a record to be appended.
#[derive(Clone, Copy, Debug)]
pub struct Draft<'a> {
    /// True for a node of a collection: a part of a value, whose key is not a user's.
    pub is_node: bool,
    /// True if the value grows bit by bit, so that its slack is growth room.
    pub grows: bool,
    /// The keyspace to which the key belongs.
    pub keyspace: KeyspaceId,
    /// The store's seven bits: kind and encoding of the value.
    pub value_tag: u8,
    /// The key.
    pub key: &'a [u8],
    /// Bytes of the value.
    pub value_len: usize,
    /// Bytes kept for the value; at least `value_len`.
    pub room: usize,
    /// Moment from which the record's key is gone.
    pub deadline: Option<Millis>,
}

impl Draft<'_> {
    /// Footprint that the record will have.
    #[inline]
    pub fn footprint(&self) -> Footprint {
        let slack = self.room - self.value_len;
        let growth = if self.grows { narrow::to_u32(slack) } else { 0 };
        Footprint { live: narrow::to_u32(self.extent() - slack), growth }
    }

    /// Bytes that the record will take in its segment.
    #[inline]
    pub fn extent(&self) -> usize {
        self.header_bytes() + self.key.len() + self.room
    }

    #[inline]
    fn header_bytes(&self) -> usize {
        let keyspace = 1 + usize::from(self.keyspace.0 > 0xff);
        let key = if self.key.len() > 0xff { 4 } else { 1 };
        let deadline = self.deadline.map_or(0, deadline_width);
        2 + keyspace + key + (1 << room_width(self.room)) + deadline
    }

    #[inline]
    fn form(&self) -> u8 {
        FORM_RECORD
            | self.deadline.map_or(0, deadline_form)
            | if self.keyspace.0 > 0xff { FORM_WIDE_KEYSPACE } else { 0 }
            | if self.key.len() > 0xff { FORM_WIDE_KEY } else { 0 }
            | if self.is_node { FORM_NODE } else { 0 }
            | room_width(self.room) << FORM_ROOM_SHIFT
    }

    /// Writes everything but the value to `to`.
    ///
    /// # Safety
    /// `extent()` bytes at `to` are this thread's to write; lengths fit 32 bits.
    #[inline]
    pub(crate) unsafe fn write(&self, to: *mut u8) {
        // SAFETY: every write lies within `extent()`, counted by the same widths.
        unsafe {
            to.write(self.form());
            to.add(1).write(self.value_tag & STATE_VALUE_TAG);
            let mut end = to.add(2);
            end = put(end, u32::from(self.keyspace.0), 1 + usize::from(self.keyspace.0 > 0xff));
            end =
                put(end, narrow::to_u32(self.key.len()), if self.key.len() > 0xff { 4 } else { 1 });
            end = put(end, narrow::to_u32(self.room), 1 << room_width(self.room));
            if let Some(deadline) = self.deadline {
                let width = deadline_width(deadline);
                end.copy_from_nonoverlapping(deadline.0.to_le_bytes().as_ptr(), width);
                end = end.add(width);
            }
            end.copy_from_nonoverlapping(self.key.as_ptr(), self.key.len());
        }
    }
}
