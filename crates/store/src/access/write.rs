//! Giving a key another value, or the same one more room.

use crate::access::{Access, Expiry, Found, NoSpace};
use crate::collections::CollectionId;
use crate::collections::Noted;
use crate::key::{Encoding, Key, Kind, Label};
use crate::value::long_string::{self, WHOLE_BYTES_MAX};
use crate::weight::weight_of;
use base::{Location, Millis, Tick};
use heap::{Draft, Purpose, Record, SPARE_PART, Weight};
use index::Entry;

impl<'a> Access<'a> {
    /// Sets a key to a string.
    ///
    /// # Errors
    /// When there is no room for it; nothing has changed then.
    #[inline]
    pub fn write(
        &mut self,
        key: &Key<'_>,
        value: &[u8],
        encoding: Encoding,
        expiry: Expiry,
    ) -> Result<(), NoSpace> {
        let found = self.live(key);
        let deadline = self.deadline_after(found, expiry);
        let label = Label::new(Kind::String, encoding);
        if let Some(found) = found {
            if found.entry.kind() != Kind::String as u8 {
                return self.write_over(key, value, label, expiry);
            }
            if fits(&found.record, value.len(), deadline, label) {
                self.overwrite(key, found, value.len(), label, deadline);
                // SAFETY: the shard is locked, and no other slice of the value exists.
                unsafe { found.record.value_mut() }.copy_from_slice(value);
                return Ok(());
            }
        }
        if value.len() > WHOLE_BYTES_MAX {
            return self.write_over(key, value, label, expiry);
        }
        let draft = draft(key, label, value.len(), value.len(), deadline);
        self.append(key, found, &draft, |to| to.copy_from_slice(value))
    }

    #[inline(always)]
    fn deadline_after(&self, found: Option<Found<'_>>, expiry: Expiry) -> Option<Millis> {
        match expiry {
            Expiry::Keep => found.and_then(|found| self.deadline(found)),
            Expiry::Never => None,
            Expiry::At(at) => Some(at),
        }
    }

    /// Sets a key to a string that holds something else, or to a long string. Looks the key up
    /// once more, so that nothing has to be kept for it where strings are short.
    #[cold]
    #[inline(never)]
    fn write_over(
        &mut self,
        key: &Key<'_>,
        value: &[u8],
        label: Label,
        expiry: Expiry,
    ) -> Result<(), NoSpace> {
        let found = self.live(key);
        let deadline = self.deadline_after(found, expiry);
        if value.len() > WHOLE_BYTES_MAX {
            let id = self.chunks_of(key, value)?;
            return self.put_chunks(key, found, (id, value.len()), deadline);
        }
        let tree = found.and_then(|found| self.collection_of(&found));
        self.put_until(key, found, label, value, deadline)?;
        if let Some(id) = tree {
            self.retire(key, id);
        }
        Ok(())
    }

    /// Sets a key to a string whose chunks are those of a collection, which is given up otherwise.
    ///
    /// # Errors
    /// When there is no room for it; nothing has changed then.
    pub(crate) fn write_chunks(
        &mut self,
        key: &Key<'_>,
        id: CollectionId,
        len: usize,
    ) -> Result<(), NoSpace> {
        let found = self.live(key);
        self.put_chunks(key, found, (id, len), None)
    }

    fn put_chunks(
        &mut self,
        key: &Key<'_>,
        found: Option<Found<'a>>,
        (id, len): (CollectionId, usize),
        deadline: Option<Millis>,
    ) -> Result<(), NoSpace> {
        let replaced = found.and_then(|found| self.collection_of(&found));
        let value = long_string::value_of(id, len);
        let put = self.put_until(key, found, Label::OF_LONG_STRING, &value, deadline);
        let given_up = if put.is_ok() { replaced } else { Some(id) };
        given_up.into_iter().for_each(|id| self.retire(key, id));
        put
    }

    /// Makes `value` the value of a key. Nodes of the old value are the caller's to keep or retire.
    fn put_until(
        &mut self,
        key: &Key<'_>,
        found: Option<Found<'_>>,
        label: Label,
        value: &[u8],
        deadline: Option<Millis>,
    ) -> Result<(), NoSpace> {
        if let Some(found) = found.filter(|found| fits(&found.record, value.len(), deadline, label))
        {
            self.overwrite(key, found, value.len(), label, deadline);
            // SAFETY: the shard is locked, and no other slice of the value exists.
            unsafe { found.record.value_mut() }.copy_from_slice(value);
            return Ok(());
        }
        let draft = draft(key, label, value.len(), value.len(), deadline);
        self.append(key, found, &draft, |to| to.copy_from_slice(value))
    }

    /// Makes `value` the value of a key, with a deadline as it was, in place of what was found
    /// there. Trees of the old value are the caller's to keep or retire.
    ///
    /// # Errors
    /// When there is no room for it; nothing has changed then.
    pub(crate) fn put(
        &mut self,
        key: &Key<'_>,
        found: Option<Found<'a>>,
        label: Label,
        value: &[u8],
    ) -> Result<Found<'a>, NoSpace> {
        let found = found.inspect(|found| self.check(found));
        let deadline = found.and_then(|found| self.deadline(found));
        if let Some(found) = found.filter(|found| fits(&found.record, value.len(), deadline, label))
        {
            self.overwrite(key, found, value.len(), label, deadline);
            // SAFETY: the shard is locked, and no other slice of the value exists.
            unsafe { found.record.value_mut() }.copy_from_slice(value);
            return Ok(Found { entry: found.entry.with_kind(label.0), ..found });
        }
        self.put_until(key, found, label, value, deadline)?;
        self.find(key).ok_or(NoSpace)
    }

    /// Makes what `put` puts there the value of a key, in place of anything of any kind, and takes
    /// its deadline away.
    ///
    /// # Errors
    /// Those of `put`; the key has the value then that it had.
    pub(crate) fn put_over(
        &mut self,
        key: &Key<'_>,
        put: impl FnOnce(&mut Self, Option<Found<'a>>) -> Result<Found<'a>, NoSpace>,
    ) -> Result<(), NoSpace> {
        let old = self.live(key);
        let had_deadline = old.is_some_and(|old| old.entry.has_deadline());
        let tree = old.and_then(|old| self.collection_of(&old));
        put(self, old)?;
        if let Some(id) = tree {
            self.retire(key, id);
        }
        if had_deadline {
            self.set_deadline(key, None)?;
        }
        Ok(())
    }

    /// Makes the value of a key `len` bytes long, as [`Access::resize`] does.
    ///
    /// # Errors
    /// When there is no room for it; nothing has changed then.
    #[inline]
    pub(crate) fn resize_found(
        &mut self,
        key: &Key<'_>,
        found: Found<'a>,
        len: usize,
    ) -> Result<Found<'a>, NoSpace> {
        self.check(&found);
        let label = self.label(&found);
        self.resize_to(key, Some(found), len, label)
    }

    /// Makes the value of a key shorter, in place if there is no room to write it anew.
    pub(crate) fn shrink_found(
        &mut self,
        key: &Key<'_>,
        found: Found<'a>,
        len: usize,
    ) -> Found<'a> {
        if let Ok(found) = self.resize_found(key, found, len) {
            return found;
        }
        let (label, deadline) = (self.label(&found), self.deadline(found));
        self.overwrite(key, found, len, label, deadline);
        found
    }

    /// The string of a key, to be changed in place without changing its length; `None` for one in
    /// chunks.
    pub fn edit(&mut self, key: &Key<'_>) -> Option<&mut [u8]> {
        let found = self.live(key).filter(|found| self.label(found).is_whole_string())?;
        self.touch(key, found);
        self.set_label(found, Label::new(Kind::String, Encoding::Raw));
        // SAFETY: the shard is locked, and the borrow of `self` excludes other slices.
        Some(unsafe { found.record.value_mut() })
    }

    /// Makes the string of a key `len` bytes long, creating it if need be, and returns it for
    /// change. New bytes are zeros; the deadline stays. A growing string gets an eighth of slack.
    ///
    /// # Errors
    /// When there is no room for it; nothing has changed then.
    ///
    /// # Panics
    /// If the string is in chunks.
    pub fn resize(&mut self, key: &Key<'_>, len: usize) -> Result<&mut [u8], NoSpace> {
        let found = self.live(key);
        assert!(found.is_none_or(|found| !self.label(&found).is_tree()), "it is in one piece");
        let found = self.resize_to(key, found, len, Label::new(Kind::String, Encoding::Raw))?;
        // SAFETY: the shard is locked, and the borrow of `self` excludes other slices.
        Ok(unsafe { found.record.value_mut() })
    }

    fn resize_to(
        &mut self,
        key: &Key<'_>,
        found: Option<Found<'a>>,
        len: usize,
        label: Label,
    ) -> Result<Found<'a>, NoSpace> {
        let deadline = found.and_then(|found| self.deadline(found));
        if let Some(found) = found.filter(|found| fits(&found.record, len, deadline, label)) {
            // SAFETY: the shard is locked.
            let old_len = unsafe { found.record.value() }.len();
            self.overwrite(key, found, len, label, deadline);
            // SAFETY: the shard is locked, and the borrow of `self` excludes other slices.
            let value = unsafe { found.record.value_mut() };
            if let Some(new) = value.get_mut(old_len..) {
                new.fill(0);
            }
            return Ok(found);
        }
        // SAFETY: the shard is locked, and the record stays until it is buried after the copy.
        let old = found.map_or(&[][..], |found| unsafe { found.record.value() });
        let keep = old.len().min(len);
        // A string does not grow beyond that in one piece.
        let most = WHOLE_BYTES_MAX.max(len);
        let slack = len / if label.grows() { SPARE_PART } else { STRING_SLACK_PART };
        let room = if found.is_some() { (len + slack).min(most) } else { len };
        let draft = draft(key, label, len, room, deadline);
        self.append(key, found, &draft, |to| {
            to[..keep].copy_from_slice(&old[..keep]);
            to[keep..].fill(0);
        })?;
        self.find(key).ok_or(NoSpace)
    }

    /// Gives a value another label, and leaves it as it is.
    #[inline]
    pub(crate) fn relabel(&mut self, key: &Key<'_>, found: Found<'a>, label: Label) -> Found<'a> {
        if self.label(&found) == label {
            return found;
        }
        let (len, deadline) = (self.bytes(&found).len(), self.deadline(found));
        self.overwrite(key, found, len, label, deadline);
        Found { entry: found.entry.with_kind(label.0), ..found }
    }

    fn set_label(&mut self, found: Found<'_>, label: Label) {
        // SAFETY: the shard is locked, no slice of the value exists, the length stays.
        unsafe { found.record.set_value_len(found.record.value().len(), label.0) };
    }

    /// Changes length, label and deadline of a record that has room for them.
    #[inline]
    pub(super) fn overwrite(
        &mut self,
        key: &Key<'_>,
        found: Found<'_>,
        len: usize,
        label: Label,
        deadline: Option<Millis>,
    ) {
        // SAFETY: the shard is locked, no slice of the value exists, and `fits` was asked.
        let (before, after) = unsafe {
            let before = weight_of(&found.record);
            found.record.set_value_len(len, label.0);
            if found.record.has_deadline_room() {
                found.record.set_deadline(deadline);
            }
            (before, weight_of(&found.record))
        };
        if before != after {
            self.reweigh(key, found.entry.location(), before, after);
        }
        let entry = found.entry.with_deadline(deadline.is_some()).with_kind(label.0);
        if deadline.is_some() || entry != found.entry {
            let tick = deadline.map(|deadline| Tick::of_deadline(deadline, self.now));
            self.index(key).update(&self.store.blocks, found.slot, entry, tick);
        }
        self.touch(key, found);
    }

    #[cold]
    fn reweigh(&mut self, key: &Key<'_>, at: Location, before: Weight, after: Weight) {
        self.store.heap.reweigh(at, before, after, self.now);
        self.lane.counters.lose(before);
        self.lane.counters.gain(after);
        self.index(key).add_bytes(i64::from(after.live) - i64::from(before.live));
    }

    /// Appends a record and makes the key's entry name it, in place of `old` if there is one.
    #[inline]
    pub(super) fn append(
        &mut self,
        key: &Key<'_>,
        old: Option<Found<'_>>,
        draft: &Draft<'_>,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), NoSpace> {
        let (store, now) = (self.store, self.now);
        let appended = self.lane.head.append(&store.heap, draft, Purpose::Late, now, fill);
        let at = appended.map_err(|_| NoSpace)?;
        // An index that grows moves entries, even if it cannot grow enough.
        self.version += 1;
        let tick = draft.deadline.map(|deadline| Tick::of_deadline(deadline, now));
        if draft.extent() > heap::DEDICATED_BYTES {
            store.heap.note_owner(at, Noted::Key(key.hash, key.keyspace).to_owner());
        }
        let weight = draft.weight();
        let access = self.history.of_new(old.as_ref().map(|found| found.entry.access()));
        let entry = Entry::new(at, draft.label, draft.deadline.is_some()).with_access(access);
        let index = self.index(key);
        match &old {
            Some(found) => index.update(&store.blocks, found.slot, entry, tick),
            None => {
                if index.is_empty() {
                    store.keyspaces.note_used(key.keyspace);
                }
                let records = store.records();
                if index.insert(&store.blocks, key.hash, entry, tick, &records).is_err() {
                    store.heap.bury(at, weight);
                    return Err(NoSpace);
                }
            }
        }
        self.lane.counters.gain(weight);
        self.lane.counters.appended_bytes.add(draft.extent() as u64);
        index.add_bytes(i64::from(weight.live));
        if let Some(found) = old {
            self.bury(index, found);
        }
        Ok(())
    }
}

/// A string that outgrows its room gets this part of its length more.
const STRING_SLACK_PART: usize = 8;

/// A record for the value of a key.
#[inline]
pub(super) fn draft<'k>(
    key: &Key<'k>,
    label: Label,
    value_len: usize,
    room: usize,
    deadline: Option<Millis>,
) -> Draft<'k> {
    let Key { bytes, keyspace, .. } = *key;
    let grows = label.grows();
    Draft { is_node: false, grows, keyspace, label: label.0, key: bytes, value_len, room, deadline }
}

/// Whether a value and a deadline can be written over those of `record`: they need the room, and
/// no more of it may fall away than a value that grows gets.
#[inline]
pub(super) fn fits(
    record: &Record<'_>,
    len: usize,
    deadline: Option<Millis>,
    label: Label,
) -> bool {
    let room = record.room();
    let gap_max = if label.grows() { len / SPARE_PART } else { room / 4 };
    len <= room && room - len <= gap_max && record.fits_deadline(deadline)
}
