//! Up to which size a hash is one packed list.

/// The settings `hash-max-listpack-entries` and `hash-max-listpack-value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashLimit {
    /// Fields.
    pub fields: u64,
    /// Bytes of a field or of a value.
    pub text_bytes: u64,
}

/// A packed list holds no more, whatever the settings.
pub(super) const PACKED_BYTES: usize = 60_000;

/// Nor more than this with texts that are longer than the settings want. A record of some long
/// values takes the least memory as one packed list, and is read as a whole; in a longer packed
/// list each change of a length would move too many bytes.
pub(super) const LONG_PACKED_BYTES: usize = 4 * tree::NODE_BYTES;

impl HashLimit {
    /// Whether a field with its value may be in a hash that clients know as a listpack.
    #[inline]
    pub(super) fn allows_texts(self, field: &[u8], value: &[u8]) -> bool {
        field.len().max(value.len()) as u64 <= self.text_bytes
    }

    /// Bytes that a packed list may have with a field and its value in it.
    #[inline]
    pub(super) fn packed_bytes_with(self, field: &[u8], value: &[u8]) -> usize {
        if self.allows_texts(field, value) { PACKED_BYTES } else { LONG_PACKED_BYTES }
    }

    /// Whether a small hash may have so many fields.
    #[inline]
    pub(super) fn allows_fields(self, fields: usize) -> bool {
        fields as u64 <= self.fields
    }
}
