//! Up to which size a hash is one run.

/// The settings `hash-max-listpack-entries` and `hash-max-listpack-value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashLimit {
    /// Fields.
    pub fields: u64,
    /// Bytes of a field or of a value.
    pub text_bytes: u64,
}

/// A run holds no more, whatever the settings.
pub(super) const RUN_BYTES: usize = 60_000;

impl HashLimit {
    /// Whether a field with its value may be in a small hash.
    #[inline]
    pub(super) fn allows_texts(self, field: &[u8], value: &[u8]) -> bool {
        field.len().max(value.len()) as u64 <= self.text_bytes
    }

    /// Whether a small hash may have so many fields.
    #[inline]
    pub(super) fn allows_fields(self, fields: usize) -> bool {
        fields as u64 <= self.fields
    }
}
