//! Largest size of a hash that is one packed list.

/// The settings `hash-max-listpack-entries` and `hash-max-listpack-value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashLimit {
    /// Most fields.
    pub fields: u64,
    /// Most bytes of a field or of a value.
    pub text_bytes: u64,
}

/// Longest packed list of a hash, in bytes, whatever the settings.
pub(super) const PACKED_BYTES: usize = 60_000;

/// Longest packed list of a hash, in bytes, if it holds texts that are longer than the settings
/// allow. One packed list is the smallest form for a few long values, and is read as a whole; in a
/// longer list each change of a length would move too many bytes.
pub(super) const LONG_PACKED_BYTES: usize = 4 * tree::NODE_BYTES;

impl HashLimit {
    /// Returns true if clients may know a hash with this field and value as a listpack.
    #[inline]
    pub(super) fn allows_texts(self, field: &[u8], value: &[u8]) -> bool {
        field.len().max(value.len()) as u64 <= self.text_bytes
    }

    /// Most bytes of a packed list that contains this field and value.
    #[inline]
    pub(super) fn packed_bytes_with(self, field: &[u8], value: &[u8]) -> usize {
        if self.allows_texts(field, value) { PACKED_BYTES } else { LONG_PACKED_BYTES }
    }

    /// Returns true if a small hash may have this number of fields.
    #[inline]
    pub(super) fn allows_fields(self, fields: usize) -> bool {
        fields as u64 <= self.fields
    }
}
