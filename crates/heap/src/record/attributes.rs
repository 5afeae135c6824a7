//! Attributes of a record: few bytes that belong to its value and are not part of it.

use super::Record;
use super::layout::{
    CAS_BYTES, EXTRAS_ATTRIBUTES, EXTRAS_SHAPE_SHIFT, SHAPE_CAS, SHAPE_FLAGS_SHIFT, SHAPE_MARKS,
    STATE_SLACK, STATE_VALUE_TAG, attribute_bytes, flags_code, flags_width, get, put,
};

/// Attributes of a record. What is zero takes no bytes when the record is appended, and keeps those
/// that it has when it changes in place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Number that clients keep with a value.
    pub flags: u32,
    /// Number of the value's version; `None` if the record has no place for one. Zero stands in a
    /// place that holds none at present.
    pub cas: Option<u64>,
    /// Eight bits of the store.
    pub marks: u8,
}

/// Attributes of most drafts: none.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoAttributes;

/// Attributes of a draft: none by its type, or some that it may have.
pub trait DraftAttributes: Copy {
    /// Returns the attributes.
    fn get(&self) -> Option<&Attributes>;
}

impl DraftAttributes for NoAttributes {
    #[inline(always)]
    fn get(&self) -> Option<&Attributes> {
        None
    }
}

impl DraftAttributes for Option<Attributes> {
    #[inline]
    fn get(&self) -> Option<&Attributes> {
        self.as_ref()
    }
}

impl Attributes {
    /// Bits of a shape byte for as many bytes as these attributes need.
    pub(super) fn shape(&self) -> u8 {
        let cas = if self.cas.is_some() { SHAPE_CAS } else { 0 };
        let marks = if self.marks != 0 { SHAPE_MARKS } else { 0 };
        flags_code(self.flags) << SHAPE_FLAGS_SHIFT | cas | marks
    }

    /// Writes the attributes in the widths of a shape.
    ///
    /// # Safety
    /// `attribute_bytes(shape)` bytes at `to` are the caller's to write.
    pub(super) unsafe fn write(&self, to: *mut u8, shape: u8) {
        // SAFETY: the widths written are those that were counted.
        unsafe {
            let mut end = put(to, self.flags, flags_width(shape));
            if shape & SHAPE_CAS != 0 {
                let cas = self.cas.unwrap_or(0).to_le_bytes();
                end.copy_from_nonoverlapping(cas.as_ptr(), CAS_BYTES);
                end = end.add(CAS_BYTES);
            }
            if shape & SHAPE_MARKS != 0 {
                end.write(self.marks);
            }
        }
    }
}

impl Record<'_> {
    /// Returns true if the record has attributes, though all of them may be zero.
    #[inline]
    pub fn has_attributes(&self) -> bool {
        self.parts.extras & EXTRAS_ATTRIBUTES != 0
    }

    /// The shape byte; zero without attributes.
    #[inline]
    fn shape(&self) -> u8 {
        narrow::low_u8(self.parts.extras >> EXTRAS_SHAPE_SHIFT)
    }

    /// The first byte of the attributes.
    #[inline]
    fn attributes_begin(&self) -> *mut u8 {
        self.deadline_begin().wrapping_sub(attribute_bytes(self.shape()))
    }

    /// Returns true if these attributes can be stored without moving the record.
    pub fn fits_attributes(&self, attributes: &Attributes) -> bool {
        let shape = self.shape();
        u64::from(attributes.flags) >> (8 * flags_width(shape)) == 0
            && (attributes.cas.is_none() || shape & SHAPE_CAS != 0)
            && (attributes.marks == 0 || shape & SHAPE_MARKS != 0)
    }

    /// The attributes; `None` if the record has none.
    ///
    /// # Safety
    /// The caller holds the owner's lock.
    #[inline]
    pub unsafe fn attributes(&self) -> Option<Attributes> {
        if !self.has_attributes() {
            return None;
        }
        let (shape, from) = (self.shape(), self.attributes_begin());
        let width = flags_width(shape);
        // SAFETY: the attributes' bytes belong to the record; the lock excludes writers.
        unsafe {
            let flags = if width == 0 { 0 } else { get(from, width) };
            let mut behind = from.add(width);
            let cas = (shape & SHAPE_CAS != 0).then(|| {
                let cas = u64::from_le_bytes(behind.cast::<[u8; CAS_BYTES]>().read());
                behind = behind.add(CAS_BYTES);
                cas
            });
            let marks = if shape & SHAPE_MARKS != 0 { behind.read() } else { 0 };
            Some(Attributes { flags, cas, marks })
        }
    }

    /// Changes the attributes in place. A place for a CAS value that they lack holds zero then.
    ///
    /// # Safety
    /// The caller holds the owner's lock, and the record has room for these attributes.
    pub unsafe fn set_attributes(&self, attributes: &Attributes) {
        debug_assert!(self.fits_attributes(attributes));
        // SAFETY: as the caller says; the bytes written are those of the record's own shape.
        unsafe { attributes.write(self.attributes_begin(), self.shape()) };
    }

    /// Changes the value tag in place, and nothing else.
    ///
    /// # Safety
    /// The caller holds the owner's lock.
    #[inline]
    pub unsafe fn set_value_tag(&self, value_tag: u8) {
        // SAFETY: as the caller says.
        unsafe {
            let state = self.begin.add(1);
            state.write(state.read() & STATE_SLACK | value_tag & STATE_VALUE_TAG);
        }
    }
}
