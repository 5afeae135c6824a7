//! Description of a record to be appended, and how it is written.

use super::attributes::{Attributes, DraftAttributes, NoAttributes};
use super::layout::{
    FORM_NODE, FORM_RECORD, FORM_ROOM_SHIFT, FORM_SHAPED, FORM_WIDE_KEY, FORM_WIDE_KEYSPACE,
    STATE_VALUE_TAG, attribute_bytes, deadline_form, deadline_width, put, room_width,
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

/// Description of a record to be appended. Whether it has attributes is a matter of the type, so
/// that most records cost nothing for them.
#[derive(Clone, Copy, Debug)]
pub struct Draft<'a, A = NoAttributes> {
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
    /// Attributes of the value.
    pub attributes: A,
}

impl<'a> Draft<'a> {
    /// Returns the draft of the same record with attributes, if there are any.
    pub fn with_attributes(self, attributes: Option<Attributes>) -> Draft<'a, Option<Attributes>> {
        let Draft { is_node, grows, keyspace, value_tag, key, value_len, room, deadline, .. } =
            self;
        Draft { is_node, grows, keyspace, value_tag, key, value_len, room, deadline, attributes }
    }
}

impl<A: DraftAttributes> Draft<'_, A> {
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
        let attributes = self.shape().map_or(0, |shape| 1 + attribute_bytes(shape));
        2 + keyspace + key + (1 << room_width(self.room)) + attributes + deadline
    }

    /// The shape byte, if the record has attributes.
    #[inline]
    fn shape(&self) -> Option<u8> {
        self.attributes.get().map(|attributes| attributes.shape() | room_width(self.room))
    }

    #[inline]
    fn form(&self) -> u8 {
        FORM_RECORD
            | self.deadline.map_or(0, deadline_form)
            | if self.keyspace.0 > 0xff { FORM_WIDE_KEYSPACE } else { 0 }
            | if self.key.len() > 0xff { FORM_WIDE_KEY } else { 0 }
            | if self.is_node { FORM_NODE } else { 0 }
            | self.shape().map_or(room_width(self.room), |_| FORM_SHAPED) << FORM_ROOM_SHIFT
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
            if let Some(shape) = self.shape() {
                end.write(shape);
                end = end.add(1);
            }
            end = put(end, narrow::to_u32(self.room), 1 << room_width(self.room));
            if let Some(attributes) = self.attributes.get() {
                let shape = attributes.shape();
                attributes.write(end, shape);
                end = end.add(attribute_bytes(shape));
            }
            if let Some(deadline) = self.deadline {
                let width = deadline_width(deadline);
                end.copy_from_nonoverlapping(deadline.0.to_le_bytes().as_ptr(), width);
                end = end.add(width);
            }
            end.copy_from_nonoverlapping(self.key.as_ptr(), self.key.len());
        }
    }
}
