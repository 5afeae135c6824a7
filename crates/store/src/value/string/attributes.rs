//! Strings with their attributes, as commands of Memcached read and write them. What becomes of
//! attributes in other writes stands in the crate's `attributes.rs`.

use super::whole::write_long;
use crate::access::Access;
use crate::attributes::{Attributes, Cas, NextValue};
use crate::fault::{Fault, NoSpace, WrongKind};
use crate::key::{Encoding, Expiry, Key, Kind, ValueTag};
use crate::shard::{KeyMut, ValueRef};
use crate::value::long_string::{Staged, WHOLE_BYTES_MAX};
use std::num::NonZeroU64;

impl<'a> Access<'a> {
    /// Reads a key as [`Access::read`] does, with all that is known of its value: its string, its
    /// attributes, its deadline and its history.
    #[inline]
    pub fn read_value(&mut self, key: &Key<'_>) -> Option<ValueRef<'_>> {
        self.guard().read(key)
    }

    /// Reads a key as [`Access::lookup_for_write`] does, with all that is known of its value.
    #[inline]
    pub fn lookup_value_for_write(&mut self, key: &Key<'_>) -> Option<ValueRef<'_>> {
        self.guard().lookup_for_write(key)
    }

    /// Reads a key without any trace, with all that is known of its value.
    pub fn lookup_value_without_touch(&self, key: &Key<'_>) -> Option<ValueRef<'_>> {
        self.shared_guard().lookup_without_touch(key)
    }

    /// Attributes of a key's string; the default ones if it holds none.
    pub fn attributes_of(&self, key: &Key<'_>) -> Attributes {
        let value = self.shared_guard().value_of(key);
        value.map_or_else(Attributes::default, |value| value.attributes())
    }

    /// Sets a key to a string with attributes, in place of any other value. It is not fetched.
    ///
    /// # Errors
    /// When there is no room for it; nothing has changed then.
    pub fn set_string_with(
        &mut self,
        key: &Key<'_>,
        value: &[u8],
        encoding: Encoding,
        expiry: Expiry,
        attributes: Attributes,
    ) -> Result<(), NoSpace> {
        let mut key = self.guard().key_mut(key);
        let attributes = attributes.in_place_of(key.kept_attributes());
        if value.len() > WHOLE_BYTES_MAX {
            return write_long(key, value, expiry, attributes);
        }
        let deadline = expiry.after(|| key.deadline());
        key.replace_with(ValueTag::new(Kind::String, encoding), value, deadline, attributes)
    }

    /// Does what [`Access::set_staged`] does, with attributes.
    ///
    /// # Errors
    /// When there is no room for it; nothing has changed then.
    pub fn set_staged_with(
        &mut self,
        key: &Key<'_>,
        staged: Staged,
        expiry: Expiry,
        attributes: Attributes,
    ) -> Result<(), NoSpace> {
        let before = self.guard().key_mut(key).kept_attributes();
        self.set_staged_keeping(key, staged, expiry, attributes.in_place_of(before))
    }

    /// Gives the string of a key other bytes, as a change of its value: the deadline and all
    /// attributes stay, but for its CAS, which is void. A missing key is created.
    ///
    /// # Errors
    /// When there is no room for it; nothing has changed then.
    ///
    /// # Panics
    /// If there are more than [`WHOLE_BYTES_MAX`] bytes.
    #[inline]
    pub fn change_string(
        &mut self,
        key: &Key<'_>,
        value: &[u8],
        encoding: Encoding,
    ) -> Result<(), NoSpace> {
        assert!(value.len() <= WHOLE_BYTES_MAX, "it is in one piece");
        let (mut key, value_tag) =
            (self.guard().key_mut(key), ValueTag::new(Kind::String, encoding));
        let (value_tag, deadline) = (key.tag_of_change(value_tag), key.deadline());
        match NextValue::Changed.attributes(key.kept_attributes()) {
            None => key.replace_until(value_tag, value, deadline),
            kept => key.replace_with(value_tag, value, deadline, kept),
        }
    }

    /// Changes the attributes of a key's string, and nothing else. Returns what they are then;
    /// `None` if there is no such key. With [`Cas::None`] its CAS is void.
    ///
    /// It is a change that the command reports. If clients of RESP cannot see it, as when a value
    /// becomes stale, it should be made inside [`Access::unseen_if`].
    ///
    /// # Errors
    /// When the key holds no string, or its record must be written anew and there is no room for
    /// it; nothing has changed then.
    pub fn change_attributes(
        &mut self,
        key: &Key<'_>,
        change: impl FnOnce(&mut Attributes),
    ) -> Result<Option<Attributes>, Fault> {
        let Some(mut key) = self.existing_string(key)? else { return Ok(None) };
        let (mut attributes, before) = (key.attributes(), key.attributes());
        change(&mut attributes);
        if attributes != before {
            key.set_attributes(attributes)?;
        }
        Ok(Some(attributes))
    }

    /// Changes the attributes of a key's string as [`Access::change_attributes`] does, but as a CAS
    /// is drawn: it has no effect and no event, WATCH and client-side caching do not see it, and
    /// the command does not report it. Does nothing if it holds no string.
    ///
    /// # Errors
    /// When its record must be written anew and there is no room for it; nothing has changed then.
    pub fn mark(
        &mut self,
        key: &Key<'_>,
        change: impl FnOnce(&mut Attributes),
    ) -> Result<(), NoSpace> {
        let Ok(Some(mut key)) = self.existing_string(key) else { return Ok(()) };
        let (mut attributes, before) = (key.attributes(), key.attributes());
        change(&mut attributes);
        if attributes == before { Ok(()) } else { key.mark(attributes) }
    }

    /// Returns the CAS of a key's string, which is drawn if there is none; `None` if there is no
    /// such key.
    ///
    /// Drawing is a change of which others are told nothing: it has no effect and no event, WATCH
    /// and client-side caching do not see it, and a snapshot has the value as it was. But it may
    /// need room: [`Access::bytes_to_draw`] tells how much.
    ///
    /// # Errors
    /// When the key holds no string, or its record must be written anew and there is no room for
    /// it; nothing has changed then.
    pub fn draw_cas(&mut self, key: &Key<'_>) -> Result<Option<NonZeroU64>, Fault> {
        let key = self.existing_string(key)?;
        Ok(key.map(|mut key| key.draw_cas()).transpose()?)
    }

    /// Bytes that [`Access::draw_cas`] appends at most: none if there is a CAS, or a place for one.
    /// Room for them is made before.
    pub fn bytes_to_draw(&self, key: &Key<'_>) -> usize {
        let value = self.shared_guard().lookup_without_touch(key);
        let value = value.filter(|it| it.kind() == Kind::String && !it.has_place_for_cas());
        value.map_or(0, |value| value.bytes_with_attributes())
    }

    /// Draws a CAS for a string that is about to be set.
    pub fn new_cas(&self) -> Cas {
        Cas::Drawn(self.shared_guard().draw_cas_number())
    }

    /// Notes that a client of Memcached has fetched the string of a key, which
    /// [`ValueRef::is_fetched`] tells from then on, until the key is set. Others are told nothing,
    /// as of a use of the key. Does nothing if it holds no string.
    pub fn note_fetched(&mut self, key: &Key<'_>) {
        if let Ok(Some(mut key)) = self.existing_string(key) {
            key.note_fetched();
        }
    }

    /// Has the string of a key be one that nobody has fetched. Does nothing if it holds no string.
    pub fn forget_fetched(&mut self, key: &Key<'_>) {
        if let Ok(Some(mut key)) = self.existing_string(key) {
            key.forget_fetched();
        }
    }

    fn existing_string<'g>(
        &'g mut self,
        key: &Key<'g>,
    ) -> Result<Option<KeyMut<'g, 'a>>, WrongKind> {
        Ok(self.open_without_touch(key, Kind::String)?.existing())
    }
}
