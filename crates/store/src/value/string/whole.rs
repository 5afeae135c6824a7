//! Strings of any length, read and written as a whole.

use super::view::{Form, StringView};
use crate::access::Access;
use crate::fault::{NoSpace, WrongKind};
use crate::key::{Encoding, Expiry, Key, Kind, ValueTag};
use crate::shard::{KeyMut, ValueRef};
use crate::value::long_string::{self, LongView, WHOLE_BYTES_MAX};
use heap::Attributes as Kept;

impl<'g> ValueRef<'g> {
    /// Returns the value as a string.
    ///
    /// # Errors
    /// When it is something else.
    #[inline(always)]
    pub fn string(self) -> Result<StringView<'g>, WrongKind> {
        let (value_tag, deadline) = (self.value_tag(), self.deadline());
        if value_tag.is_whole_string() {
            return Ok(StringView { deadline, form: Form::Whole(self.bytes()) });
        }
        let long = self.long_string()?;
        Ok(StringView { deadline, form: Form::Long(long) })
    }

    #[cold]
    #[inline(never)]
    fn long_string(self) -> Result<LongView<'g>, WrongKind> {
        if self.kind() != Kind::String {
            return Err(WrongKind);
        }
        Ok(LongView::new(self.nodes(), long_string::len_of(self.bytes())))
    }
}

impl Access<'_> {
    /// Reads the string of a key, as [`Access::read`] does.
    ///
    /// # Errors
    /// When the key does not hold a string.
    #[inline(always)]
    pub fn read_string(&mut self, key: &Key<'_>) -> Result<Option<StringView<'_>>, WrongKind> {
        self.guard().read(key).map(ValueRef::string).transpose()
    }

    /// Reads the string of a key before a change, as [`Access::lookup_for_write`] does.
    ///
    /// # Errors
    /// When the key does not hold a string.
    #[inline]
    pub fn lookup_string_for_write(
        &mut self,
        key: &Key<'_>,
    ) -> Result<Option<StringView<'_>>, WrongKind> {
        self.guard().lookup_for_write(key).map(ValueRef::string).transpose()
    }

    /// Reads the string of a key without any trace, as [`Access::lookup_without_touch`] does.
    ///
    /// # Errors
    /// When the key does not hold a string.
    pub fn lookup_string_without_touch(
        &self,
        key: &Key<'_>,
    ) -> Result<Option<StringView<'_>>, WrongKind> {
        self.shared_guard().lookup_without_touch(key).map(ValueRef::string).transpose()
    }

    /// Sets a key to a string, in place of any other value.
    ///
    /// # Errors
    /// When there is no room for it; nothing has changed then.
    #[inline]
    pub fn set_string(
        &mut self,
        key: &Key<'_>,
        value: &[u8],
        encoding: Encoding,
        expiry: Expiry,
    ) -> Result<(), NoSpace> {
        if value.len() > WHOLE_BYTES_MAX {
            return write_long(self.guard().key_mut(key), value, expiry, None);
        }
        self.guard().set_string(key, ValueTag::new(Kind::String, encoding), value, expiry)
    }

    /// Opens the string of a key for change in place, at its present length; `None` for a string in
    /// chunks or a missing key.
    pub fn edit<'g>(&'g mut self, key: &Key<'g>) -> Option<&'g mut [u8]> {
        let mut key = self.guard().key_mut(key).existing()?;
        if !key.value_tag().is_whole_string() {
            return None;
        }
        key.touch();
        key.begin_change(RAW);
        Some(key.into_bytes_mut())
    }

    /// Resizes the string of a key to `len` bytes, creating it if need be, and opens it for change.
    /// New bytes are zeros; the deadline stays. A growing string gets an eighth of slack.
    ///
    /// # Errors
    /// When there is no room for it; nothing has changed then.
    ///
    /// # Panics
    /// If the string is in chunks.
    pub fn resize<'g>(&'g mut self, key: &Key<'g>, len: usize) -> Result<&'g mut [u8], NoSpace> {
        let mut key = self.guard().key_mut(key);
        assert!(!key.exists() || !key.value_tag().is_tree(), "it is in one piece");
        key.resize_as(key.tag_of_change(RAW), len)?;
        Ok(key.into_bytes_mut())
    }
}

/// The value tag of a string that was changed in place.
const RAW: ValueTag = ValueTag::new(Kind::String, Encoding::Raw);

#[cold]
#[inline(never)]
pub(super) fn write_long(
    mut key: KeyMut<'_, '_>,
    value: &[u8],
    expiry: Expiry,
    attributes: Option<Kept>,
) -> Result<(), NoSpace> {
    let deadline = expiry.after(|| key.deadline());
    let id = long_string::chunks_of(&mut key, value)?;
    long_string::put_chunks(&mut key, id, value.len(), deadline, attributes)
}
