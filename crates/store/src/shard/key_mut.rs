//! A key, found or not, to be changed.

use super::append::{draft, fits, room_to_grow};
use super::change::Reason;
use super::collections::CollectionId;
use super::found::Found;
use super::guard::Guard;
use super::nodes::WriteNodes;
use super::read_nodes::ReadNodes;
use super::value_ref::ValueRef;
use crate::attributes::{NextValue, under_another_key};
use crate::fault::NoSpace;
use crate::key::{Key, ValueTag};
use base::{KeyHasher, KeyspaceId, Location, Millis, PositionHash};
use heap::Head;
use index::Entry;

/// A key that was looked up, and the guard through which it was. Its value is read and changed
/// through this alone, which knows where the value lies after each change.
///
/// Methods that read or change the value itself panic where the key holds none.
#[derive(Debug)]
pub(crate) struct KeyMut<'g, 'a> {
    pub(super) guard: &'g mut Guard<'a>,
    pub(super) key: Key<'g>,
    pub(super) found: Option<Found<'a>>,
    /// True if the next value has no deadline, whatever the present one has.
    drops_deadline: bool,
}

impl<'g, 'a> KeyMut<'g, 'a> {
    #[inline(always)]
    pub(super) fn new(
        guard: &'g mut Guard<'a>,
        key: Key<'g>,
        found: Option<Found<'a>>,
    ) -> KeyMut<'g, 'a> {
        KeyMut { guard, key, found, drops_deadline: false }
    }

    /// Returns true if the key holds a value.
    #[inline]
    pub fn exists(&self) -> bool {
        self.found.is_some()
    }

    /// Returns `self` if the key holds a value.
    #[inline(always)]
    pub fn existing(self) -> Option<KeyMut<'g, 'a>> {
        if self.found.is_some() { Some(self) } else { None }
    }

    /// Returns `self`, for a value of any kind in place of the present one: it will have no
    /// deadline.
    pub fn without_deadline(self) -> KeyMut<'g, 'a> {
        KeyMut { drops_deadline: true, ..self }
    }

    /// The key.
    #[inline]
    pub fn key(&self) -> &Key<'g> {
        &self.key
    }

    /// The guard through which the key was found.
    #[inline]
    pub fn guard(&mut self) -> &mut Guard<'a> {
        self.guard
    }

    /// Time of the command.
    #[inline]
    pub fn now(&self) -> Millis {
        self.guard.now
    }

    /// Time by which parts of values have expired.
    #[inline]
    pub fn as_of(&self) -> Millis {
        self.guard.as_of()
    }

    /// Hash function that places elements.
    #[inline]
    pub fn hasher(&self) -> &'a KeyHasher {
        self.guard.hasher()
    }

    #[inline(always)]
    pub(super) fn found(&self) -> &Found<'a> {
        self.found.as_ref().expect("the key holds a value")
    }

    /// The value, to be read.
    #[inline(always)]
    pub fn value(&self) -> ValueRef<'_> {
        ValueRef::new(self.guard, *self.found())
    }

    /// Kind and form of the value.
    #[inline(always)]
    pub fn value_tag(&self) -> ValueTag {
        self.found().value_tag()
    }

    /// The bytes of the value.
    #[inline(always)]
    pub fn bytes(&self) -> &[u8] {
        self.found().bytes()
    }

    /// The bytes of the value, for change.
    #[inline]
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let found = *self.found();
        self.guard.before_writing(&self.key, Some(&found));
        found.bytes_mut()
    }

    /// The bytes of the value, for change, for as long as the guard is borrowed.
    pub fn into_bytes_mut(self) -> &'g mut [u8] {
        let found = *self.found();
        self.guard.before_writing(&self.key, Some(&found));
        found.bytes_mut()
    }

    /// Deadline of the key.
    #[inline]
    pub fn deadline(&self) -> Option<Millis> {
        self.found.and_then(|found| found.deadline())
    }

    /// The nodes of a value that is a tree.
    #[inline]
    pub fn nodes(&self) -> ReadNodes<'_> {
        self.value().nodes()
    }

    /// The collection that keeps the value, if it is a tree.
    #[inline]
    pub fn collection(&self) -> Option<CollectionId> {
        self.found.and_then(|found| found.collection())
    }

    /// The nodes of a value that is a tree, for change.
    #[inline]
    pub fn nodes_mut(&mut self) -> WriteNodes<'_, 'a> {
        let found = *self.found();
        self.guard.before_writing(&self.key, Some(&found));
        let id = CollectionId::read(found.bytes()).expect("a tree names its collection");
        self.guard.write_nodes(&self.key, id)
    }

    /// The nodes of the collection that keeps the value, for change, for as long as the guard is
    /// borrowed.
    pub fn into_nodes_mut(self, id: CollectionId) -> WriteNodes<'g, 'a> {
        self.guard.before_writing(&self.key, self.found.as_ref());
        self.guard.write_nodes(&self.key, id)
    }

    /// Opens a collection without nodes, of which the next value may be made.
    ///
    /// # Errors
    /// When there are too many.
    pub fn new_collection(&mut self) -> Result<CollectionId, NoSpace> {
        self.guard.new_collection(&self.key)
    }

    /// The nodes of a collection of the key from which its next value will be made, for change.
    pub fn nodes_of(&mut self, id: CollectionId) -> WriteNodes<'_, 'a> {
        self.guard.write_nodes(&self.key, id)
    }

    /// Gives up a collection that did not become the key's value.
    pub fn give_up(&mut self, id: CollectionId) {
        self.guard.give_up(&self.key, id);
    }

    /// Notes a use of the key.
    #[inline(always)]
    pub fn touch(&mut self) {
        if let Some(found) = self.found {
            self.guard.touch(&self.key, &found);
        }
    }

    /// Makes `value` the value of the key and keeps its deadline. The nodes of the old value are
    /// removed with it, unless the new one is made of them.
    ///
    /// # Errors
    /// When there is no room for it; nothing has changed then.
    pub fn replace(&mut self, value_tag: ValueTag, value: &[u8]) -> Result<(), NoSpace> {
        let deadline = if self.drops_deadline { None } else { self.deadline() };
        self.replace_until(value_tag, value, deadline)
    }

    /// As `replace`, with another deadline.
    ///
    /// # Errors
    /// Those of `replace`.
    pub fn replace_until(
        &mut self,
        value_tag: ValueTag,
        value: &[u8],
        deadline: Option<Millis>,
    ) -> Result<(), NoSpace> {
        let placed = self.guard.replace(&self.key, self.found, value_tag, value, deadline)?;
        self.found = Some(self.guard.at(placed));
        Ok(())
    }

    /// Makes the value `len` bytes long. New bytes are zeros; a value that grows gets room for
    /// more.
    ///
    /// # Errors
    /// When there is no room for it; nothing has changed then.
    #[inline]
    pub fn resize(&mut self, len: usize) -> Result<(), NoSpace> {
        let value_tag = self.value_tag();
        self.resize_as(value_tag, len)
    }

    /// As `resize`, for a value that may not exist yet and is in one piece before and after.
    ///
    /// # Errors
    /// Those of `resize`.
    pub fn resize_as(&mut self, value_tag: ValueTag, len: usize) -> Result<(), NoSpace> {
        self.guard.before_writing(&self.key, self.found.as_ref());
        let deadline = self.deadline();
        let old = self.found.map_or(&[][..], |found| found.bytes());
        match self.found {
            Some(found) if fits(&found.record, len, deadline, value_tag) => {
                let (old_len, len) = (old.len(), (len, NextValue::Changed));
                let entry = self.guard.update_in_place(&self.key, found, len, value_tag, deadline);
                self.found = Some(Found { entry, ..found });
                if let Some(new) = found.bytes_mut().get_mut(old_len..) {
                    new.fill(0);
                }
            }
            found => {
                let keep = old.len().min(len);
                let room = if found.is_some() { room_to_grow(len, value_tag) } else { len };
                let attributes = found.and_then(|found| found.attributes());
                let attributes = NextValue::Changed.attributes(attributes);
                let draft = draft(&self.key, value_tag, len, room, deadline);
                // The old record stays as it is until the new one is filled.
                let fill = |to: &mut [u8]| {
                    to[..keep].copy_from_slice(&old[..keep]);
                    to[keep..].fill(0);
                };
                let appended =
                    self.guard.append_keeping(&self.key, found, &draft, attributes, fill)?;
                self.found = Some(self.guard.at(appended));
            }
        }
        Ok(())
    }

    /// Makes the value shorter, in place if there is no room to write it anew.
    pub fn shrink(&mut self, len: usize) {
        if self.resize(len).is_err() {
            self.guard.forget_refusal();
            let found = *self.found();
            let (value_tag, deadline) = (found.value_tag(), found.deadline());
            let len = (len, NextValue::Changed);
            let entry = self.guard.update_in_place(&self.key, found, len, value_tag, deadline);
            self.found = Some(Found { entry, ..found });
        }
    }

    /// Changes the value tag, and leaves the value as it is.
    #[inline]
    pub fn set_value_tag(&mut self, value_tag: ValueTag) {
        let found = *self.found();
        if found.value_tag() != value_tag {
            self.guard.before_writing(&self.key, Some(&found));
            let (len, deadline) = ((found.bytes().len(), NextValue::Same), found.deadline());
            let entry = self.guard.update_in_place(&self.key, found, len, value_tag, deadline);
            self.found = Some(Found { entry, ..found });
        }
    }

    /// Prepares a string in one piece for a change of its bytes where they lie: sets its value tag,
    /// and makes its CAS void. It keeps its length, so nothing else changes.
    pub fn begin_change(&mut self, value_tag: ValueTag) {
        let found = *self.found();
        debug_assert!(found.value_tag().is_whole_string() && value_tag.is_whole_string());
        self.guard.before_writing(&self.key, Some(&found));
        // SAFETY: the shard is locked.
        unsafe { found.record.set_value_tag(value_tag.fetched_as(found.value_tag()).0) };
        self.void_cas();
    }

    /// Sets or removes the deadline of the key.
    ///
    /// # Errors
    /// When the record must be written anew and there is no room for it; nothing has changed then.
    pub fn set_deadline(&mut self, deadline: Option<Millis>) -> Result<(), NoSpace> {
        let found = *self.found();
        if deadline.is_none() && !found.entry.has_deadline() {
            return Ok(());
        }
        self.guard.before_writing(&self.key, Some(&found));
        let (value_tag, value) = (found.value_tag(), found.bytes());
        if fits(&found.record, value.len(), deadline, value_tag) {
            let len = (value.len(), NextValue::Same);
            let entry = self.guard.update_in_place(&self.key, found, len, value_tag, deadline);
            self.found = Some(Found { entry, ..found });
        } else {
            let attributes = NextValue::Same.attributes(found.attributes());
            let draft = draft(&self.key, value_tag, value.len(), value.len(), deadline);
            let fill = |to: &mut [u8]| to.copy_from_slice(value);
            let appended =
                self.guard.append_keeping(&self.key, Some(found), &draft, attributes, fill)?;
            self.found = Some(self.guard.at(appended));
        }
        Ok(())
    }

    /// Notes the deadline of a part of the value, so that the sweep visits the key then.
    pub fn note_part_deadline(&self, deadline: Millis) {
        let tick = self.guard.note_deadline(&self.key, deadline);
        let index = self.guard.index(&self.key);
        index.note_tick(&self.guard.shards.blocks, self.found().slot, tick);
    }

    /// Notifies key listeners now that the key is about to change, although another key changes
    /// first: they are notified of keys in the order in which the command names them.
    pub fn notify_key_listeners_early(&mut self) {
        let found = *self.found();
        self.guard.notify_key_listeners_early(&self.key, &found);
    }

    /// Makes a change that WATCH and client-side caching are not notified of, since clients that
    /// read the key see the same value.
    pub fn unseen<T>(&mut self, change: impl FnOnce(&mut KeyMut<'g, 'a>) -> T) -> T {
        let hidden = self.guard.hide_from_key_listeners();
        let done = change(self);
        self.guard.show_to_key_listeners(hidden);
        done
    }

    /// Removes the key, with all nodes of its value unless they move elsewhere; it may then get
    /// another value. Returns the live bytes that were removed.
    pub fn remove(&mut self, reason: Reason) -> u64 {
        let found = self.found.take().expect("only a key with a value is removed");
        self.guard.remove_found(&self.key, found, reason)
    }

    /// Moves the record to another head; returns false if there is no room for it. The caller
    /// recycles the segment that the record leaves.
    pub fn relocate(&mut self, survivors: &mut Head, trims: bool) -> bool {
        let mut found = *self.found();
        let is_moved = self.guard.relocate_found(&self.key, &mut found, survivors, trims);
        self.found = Some(found);
        is_moved
    }
}

impl<'a> Guard<'a> {
    /// Looks a key up for change: no hit, no miss, no use.
    #[inline(always)]
    pub fn key_mut<'g>(&'g mut self, key: &Key<'g>) -> KeyMut<'g, 'a> {
        let found = self.find_to_change(key);
        KeyMut::new(self, *key, found)
    }

    /// Looks a key up for a command that reads and changes it: a hit or a miss, and a use of the
    /// key.
    #[inline]
    pub fn read_mut<'g>(&'g mut self, key: &Key<'g>) -> KeyMut<'g, 'a> {
        let found = self.unexpired(key, true);
        self.note_read(key, found.as_ref());
        KeyMut::new(self, *key, found)
    }

    /// Finds the key with this position hash whose record lies at `at`, if the index still names
    /// it.
    pub fn key_at<'g>(
        &'g mut self,
        keyspace: KeyspaceId,
        hash: PositionHash,
        at: Location,
    ) -> Option<KeyMut<'g, 'a>> {
        self.assert_held(hash.shard());
        let shards = self.shards;
        let index = shards.indexes.get(keyspace, hash.shard());
        let same = |entry: Entry| entry.location() == at;
        let (slot, entry) = index.find(&shards.blocks, hash, same)?;
        // SAFETY: the location stands in the index of a locked shard.
        let record = unsafe { shards.heap.record(at) };
        let key = Key { bytes: record.key(), hash, keyspace };
        Some(KeyMut::new(self, key, Some(Found { slot, entry, record })))
    }

    /// Finds the key that owns a collection, if it still exists.
    ///
    /// # Panics
    /// If the owner's shard is not locked.
    pub fn owner_of<'g>(&'g mut self, id: CollectionId) -> Option<KeyMut<'g, 'a>> {
        let shards = self.shards;
        let (hash, keyspace) = (shards.collections.owner(id), shards.collections.keyspace(id));
        self.assert_held(hash.shard());
        let index = shards.indexes.get(keyspace, hash.shard());
        let look = |entry: Entry| {
            // SAFETY: the location stands in the index of a locked shard.
            let record = unsafe { shards.heap.record(entry.location()) };
            // SAFETY: as above.
            let (value_tag, value) = unsafe { (ValueTag(record.value_tag()), record.value()) };
            let is_owner = value_tag.is_tree() && CollectionId::read(value) == Some(id);
            is_owner.then_some(record)
        };
        let (slot, entry, record) = index.find_map(&shards.blocks, hash, |entry| {
            if entry.kind() == 0 { None } else { look(entry) }
        })?;
        let key = Key { bytes: record.key(), hash, keyspace };
        Some(KeyMut::new(self, key, Some(Found { slot, entry, record })))
    }

    /// Gives up a collection of a key that did not become its value.
    pub fn give_up(&mut self, key: &Key<'_>, id: CollectionId) {
        self.hand_to_lazy_free(key, id);
    }

    /// Gives a key the value of another one, with its deadline. If that is a tree, the copy names
    /// `collection` instead of the other's. The old value of the key is removed.
    ///
    /// # Errors
    /// When there is no room for it; nothing has changed then.
    pub fn copy_value(
        &mut self,
        from: &Key<'_>,
        to: &Key<'_>,
        collection: Option<CollectionId>,
    ) -> Result<(), NoSpace> {
        debug_assert!(from.keyspace != to.keyspace || from.bytes != to.bytes);
        let source = self.find(from).expect("there is something to copy");
        let (value, value_tag, deadline) = (source.bytes(), source.value_tag(), source.deadline());
        let target = self.find(to);
        self.before_writing(to, target.as_ref());
        let replaced = target.and_then(|target| target.collection());
        let attributes = under_another_key(source.attributes(), from.bytes == to.bytes);
        let draft = draft(to, value_tag, value.len(), value.len(), deadline);
        // Appending elsewhere leaves the source alone: `to` is another key.
        let fill = |bytes: &mut [u8]| {
            bytes.copy_from_slice(value);
            if let Some(id) = collection {
                id.write(bytes);
            }
        };
        let appended = self.append_keeping(to, target, &draft, attributes, fill)?;
        if target.is_some() {
            // To clients it is another key, as if the old one had been removed before.
            self.after_creation(to);
        }
        if let Some(id) = replaced {
            self.hand_to_lazy_free(to, id);
        }
        if value_tag.has_timed_parts() {
            // The next sweep will learn when the first of them ends.
            let (found, now) = (self.at(appended), self.now);
            KeyMut::new(self, *to, Some(found)).note_part_deadline(now);
        }
        Ok(())
    }
}
