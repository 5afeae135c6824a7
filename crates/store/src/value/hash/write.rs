//! Changes of hashes, field by field.

use super::deadline::{Deadline, Was, kept};
use super::limit::{HashLimit, LONG_PACKED_BYTES, PACKED_BYTES};
use super::read::{Hash, Pair};
use super::{PLAIN, SMALL, TIMED, large, small, value_tag_of_packed};
use crate::access::Access;
use crate::fault::{NoSpace, WrongKind};
use crate::key::{Key, Kind};
use crate::shard::{Event, KeyMut, Reason};
use base::Millis;

/// Event for fields past their deadlines that a command overwrites: they have expired before.
const HEXPIRED: Event = Event::hash("hexpired");

/// A hash opened for change, or a key that may become one.
#[derive(Debug)]
pub struct HashMut<'g, 'a> {
    key: KeyMut<'g, 'a>,
    limit: HashLimit,
    /// True once a field past its deadline was overwritten.
    overwrote_expired: bool,
}

impl<'g, 'a> HashMut<'g, 'a> {
    /// Opens the hash of a key, which may be missing.
    ///
    /// # Errors
    /// When the key does not hold a hash.
    #[inline]
    pub fn open(
        access: &'g mut Access<'a>,
        key: &Key<'g>,
        limit: HashLimit,
    ) -> Result<HashMut<'g, 'a>, WrongKind> {
        Ok(HashMut { key: access.open(key, Kind::Hash)?, limit, overwrote_expired: false })
    }

    /// Opens the hash of a key for a command that also reads; counts a hit or a miss.
    ///
    /// # Errors
    /// When the key does not hold a hash.
    pub fn open_to_read(
        access: &'g mut Access<'a>,
        key: &Key<'g>,
        limit: HashLimit,
    ) -> Result<HashMut<'g, 'a>, WrongKind> {
        let key = access.open_to_read(key, Kind::Hash)?;
        Ok(HashMut { key, limit, overwrote_expired: false })
    }

    /// Returns true if the hash exists.
    #[inline]
    pub fn exists(&self) -> bool {
        self.key.exists()
    }

    /// Returns true if a field has a deadline, which may have passed.
    pub fn has_deadlines(&self) -> bool {
        self.exists() && self.key.value_tag().has_timed_parts()
    }

    /// Looks up a field by its name.
    #[inline]
    pub fn get(&self, field: &[u8]) -> Option<Pair<'_>> {
        if self.exists() { Hash::of(self.key.value()).get(field) } else { None }
    }

    /// Sets a field; the hash is created if need be. A field past its deadline counts as expired,
    /// which listeners are notified of.
    ///
    /// # Errors
    /// When there is no room.
    pub fn set(&mut self, field: &[u8], value: &[u8], deadline: Deadline) -> Result<Was, NoSpace> {
        let is_new = !self.exists();
        if is_new {
            self.key.replace(value_tag_of_packed(PLAIN), &packed::EMPTY)?;
        }
        let was = self.set_in_hash(field, value, deadline);
        if is_new && was.is_err() {
            self.key.remove(Reason::Deleted);
        }
        let was = was?;
        if was == Was::Expired {
            self.note_overwritten();
        }
        Ok(was)
    }

    #[inline]
    fn set_in_hash(
        &mut self,
        field: &[u8],
        value: &[u8],
        deadline: Deadline,
    ) -> Result<Was, NoSpace> {
        let (key, limit) = (&mut self.key, self.limit);
        if !key.value_tag().is_tree() {
            if let Some(was) = small::set(key, limit, field, value, deadline)? {
                return Ok(was);
            }
            large::enlarge(key)?;
        }
        large::set(key, limit, field, value, deadline)
    }

    /// Sets fields, which lose their deadlines. Returns the number of new fields.
    ///
    /// # Errors
    /// When there is no room; some of the fields may be set then.
    #[inline]
    pub fn set_all<'t>(
        &mut self,
        pairs: impl ExactSizeIterator<Item = (&'t [u8], &'t [u8])> + Clone,
    ) -> Result<u64, NoSpace> {
        if (pairs.len() > 1 || !self.exists())
            && let Some(created) = self.prepare(pairs.clone())?
        {
            return Ok(created);
        }
        let mut created = 0;
        for (field, value) in pairs {
            created += u64::from(self.set(field, value, Deadline::Never)? != Was::Present);
        }
        Ok(created)
    }

    /// Creates a new hash of all fields at once, if they are not too many bytes, and returns their
    /// number. An existing small hash that would not stay small becomes one that clients know as a
    /// hashtable before any field is set.
    fn prepare<'t>(
        &mut self,
        pairs: impl ExactSizeIterator<Item = (&'t [u8], &'t [u8])> + Clone,
    ) -> Result<Option<u64>, NoSpace> {
        let limit = self.limit;
        let are_few = limit.allows_fields(pairs.len());
        let is_small =
            are_few && pairs.clone().all(|(field, value)| limit.allows_texts(field, value));
        if !self.exists() {
            return self.make(pairs, are_few, is_small);
        }
        if !is_small && self.key.value_tag().encoding() == SMALL {
            self.make_hashtable(are_few)?;
        }
        Ok(None)
    }

    fn make<'t>(
        &mut self,
        pairs: impl ExactSizeIterator<Item = (&'t [u8], &'t [u8])> + Clone,
        are_few: bool,
        is_small: bool,
    ) -> Result<Option<u64>, NoSpace> {
        let (stride, bytes_max) =
            if is_small { (PLAIN, PACKED_BYTES) } else { (TIMED, LONG_PACKED_BYTES) };
        let packed =
            if are_few { small::packed_of(pairs.clone(), stride, bytes_max) } else { None };
        let is_made = match packed {
            Some(packed) => {
                self.key.replace(value_tag_of_packed(stride), &packed).map(|()| true)?
            }
            None if is_small => false,
            None => large::create(&mut self.key, pairs)?,
        };
        Ok(is_made.then(|| Hash::of(self.key.value()).len()))
    }

    /// Converts the hash to one that clients know as a hashtable, still as a packed list if
    /// possible.
    fn make_hashtable(&mut self, may_be_packed: bool) -> Result<(), NoSpace> {
        let may_be_packed = may_be_packed && !self.key.value_tag().is_tree();
        if may_be_packed && small::widen(&mut self.key)? {
            return Ok(());
        }
        large::make_large(&mut self.key)
    }

    /// Removes a field, and the key with its last field; false if there is no such field.
    #[inline]
    pub fn remove(&mut self, field: &[u8]) -> bool {
        if !self.exists() {
            return false;
        }
        let remove = if self.key.value_tag().is_tree() { large::remove } else { small::remove };
        remove(&mut self.key, field) == Was::Present
    }

    /// Removes a field because its new deadline has already passed; false if there is no such
    /// field.
    pub fn expire(&mut self, field: &[u8]) -> bool {
        let is_removed = self.remove(field);
        if is_removed {
            self.count_expired();
        }
        is_removed
    }

    /// Handles the write of a field whose deadline has already passed: an existing field is
    /// removed, a missing one is not created. True if a field was removed.
    pub fn set_expired(&mut self, field: &[u8]) -> bool {
        self.count_expired();
        self.remove(field)
    }

    /// Sets or removes the deadline of a field; false if there is no such field.
    ///
    /// # Errors
    /// When there is no room.
    pub fn set_deadline(
        &mut self,
        field: &[u8],
        deadline: Option<Millis>,
    ) -> Result<bool, NoSpace> {
        let Some(pair) = self.get(field) else { return Ok(false) };
        let deadline = deadline.map(kept);
        if pair.deadline == deadline {
            return Ok(true);
        }
        let key = &mut self.key;
        if !key.value_tag().is_tree() {
            if small::set_deadline(key, field, deadline)? {
                return Ok(true);
            }
            large::enlarge(key)?;
        }
        large::change(key, &large::Change { field, value: None, deadline })?;
        Ok(true)
    }

    /// Counts an overwritten field that was past its deadline. One event stands for all of them,
    /// ahead of the command's own.
    #[cold]
    fn note_overwritten(&mut self) {
        self.count_expired();
        if !std::mem::replace(&mut self.overwrote_expired, true) {
            let key = *self.key.key();
            self.key.guard().record_event(HEXPIRED, &key);
        }
    }

    fn count_expired(&mut self) {
        self.key.guard().count_expired_parts(1);
    }
}
