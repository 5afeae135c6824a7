//! Appending and removing records, with all that is counted for them.
//!
//! A value is written in place where it fits into the room of its record and no more than a quarter
//! of the room would be left over. Otherwise a new record is appended to the head of the thread,
//! the index entry is made to name it, and the bytes of the old record count as dead in its
//! segment. A collection that outgrows its room gets more than it needs, its growth room, which the
//! cleaner trims when the collection rests.

use super::change::Reason;
use super::collections::{CollectionId, Noted};
use super::found::{Found, footprint_of};
use super::guard::Guard;
use super::shards::Shards;
use super::thread_context::ThreadContext;
use crate::attributes::{NextValue, when_moved};
use crate::fault::NoSpace;
use crate::key::{Expiry, Key, ValueTag};
use base::{KeyspaceId, Location, Millis, Tick};
use heap::{
    Attributes, Draft, DraftAttributes, Footprint, GROWTH_PART, Head, NoAttributes, Purpose, Record,
};
use index::{Entry, EntrySlot, Index};

/// Divisor of a string's length: a string that outgrows its room gets this part more.
const STRING_SLACK_PART: usize = 8;

/// Room for a value that is made `len` bytes long, with slack to grow into.
pub(super) fn room_to_grow(len: usize, value_tag: ValueTag) -> usize {
    // A longer string is kept in chunks.
    let most = heap::DEDICATED_BYTES.max(len);
    let slack = len / if value_tag.grows() { GROWTH_PART } else { STRING_SLACK_PART };
    (len + slack).min(most)
}

/// Draft of the record for the value of a key.
#[inline]
pub(super) fn draft<'k>(
    key: &Key<'k>,
    value_tag: ValueTag,
    value_len: usize,
    room: usize,
    deadline: Option<Millis>,
) -> Draft<'k> {
    let Key { bytes, keyspace, .. } = *key;
    let grows = value_tag.grows();
    Draft {
        is_node: false,
        grows,
        keyspace,
        value_tag: value_tag.0,
        key: bytes,
        value_len,
        room,
        deadline,
        attributes: NoAttributes,
    }
}

/// A value that a key gets as a whole, with what stands beside it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WholeValue<'v> {
    pub value_tag: ValueTag,
    pub bytes: &'v [u8],
    pub deadline: Option<Millis>,
    pub attributes: Option<Attributes>,
}

/// Returns true if a value and a deadline can be written over those of `record`: they fit, and they
/// leave no more slack than a record of that length may have.
#[inline]
pub(super) fn fits(
    record: &Record<'_>,
    len: usize,
    deadline: Option<Millis>,
    value_tag: ValueTag,
) -> bool {
    let room = record.room();
    let slack_max = if value_tag.grows() { len / GROWTH_PART } else { room / 4 };
    len <= room && room - len <= slack_max && record.fits_deadline(deadline)
}

/// Entry of an appended record, and its slot.
pub(super) struct Appended {
    pub slot: EntrySlot,
    pub entry: Entry,
}

impl<'a> Guard<'a> {
    /// Changes length, value tag and deadline of a record that has room for them, and what it keeps
    /// of attributes. Returns its entry.
    #[inline]
    pub(super) fn update_in_place(
        &mut self,
        key: &Key<'_>,
        found: Found<'a>,
        (len, next): (usize, NextValue),
        value_tag: ValueTag,
        deadline: Option<Millis>,
    ) -> Entry {
        let before = footprint_of(&found);
        // SAFETY: the shard is locked, no slice of the value is in use, and it has the room.
        unsafe {
            found.record.set_value_len(len, value_tag.0);
            // Most records have neither, so that this is the only question.
            if found.record.has_extras() {
                if found.record.has_deadline_room() {
                    found.record.set_deadline(deadline);
                }
                if found.record.has_attributes() {
                    found.set_attributes(next.attributes(found.attributes()));
                }
            }
        }
        let after = footprint_of(&found);
        if before != after {
            self.change_footprint(key, found.entry.location(), before, after);
        }
        let entry = found.entry.with_deadline(deadline.is_some()).with_kind(value_tag.0);
        if deadline.is_some() || entry != found.entry {
            let tick = deadline.map(|deadline| self.note_deadline(key, deadline));
            self.index(key).update(&self.shards.blocks, found.slot, entry, tick);
        }
        self.touch(key, &found);
        entry
    }

    /// Makes `value` the value of a key, in place of `found`. The nodes of the old value are
    /// removed with it, unless the new one is made of them.
    #[inline(always)]
    pub(super) fn replace(
        &mut self,
        key: &Key<'_>,
        found: Option<Found<'a>>,
        value_tag: ValueTag,
        value: &[u8],
        deadline: Option<Millis>,
    ) -> Result<Appended, NoSpace> {
        self.before_writing(key, found.as_ref());
        if let Some(found) = found {
            if found.entry.kind() != 0 {
                let value = WholeValue { value_tag, bytes: value, deadline, attributes: None };
                return self.replace_any(key, Some(found), value);
            }
            if fits(&found.record, value.len(), deadline, value_tag) {
                let len = (value.len(), NextValue::Another);
                let entry = self.update_in_place(key, found, len, value_tag, deadline);
                found.bytes_mut().copy_from_slice(value);
                return Ok(Appended { slot: found.slot, entry });
            }
        }
        let draft = draft(key, value_tag, value.len(), value.len(), deadline);
        self.append(key, found, &draft, |to| to.copy_from_slice(value))
    }

    /// As `replace`, for what is not a string in one piece without attributes. The change was
    /// announced.
    #[inline(never)]
    pub(super) fn replace_any(
        &mut self,
        key: &Key<'_>,
        found: Option<Found<'a>>,
        value: WholeValue<'_>,
    ) -> Result<Appended, NoSpace> {
        let WholeValue { value_tag, bytes, deadline, attributes } = value;
        let replaced = found.and_then(|found| found.collection());
        let fits_over = |found: &Found<'_>| {
            fits(&found.record, bytes.len(), deadline, value_tag)
                && found.record.fits_attributes(&attributes.unwrap_or_default())
        };
        let placed = match found {
            Some(found) if fits_over(&found) => {
                let len = (bytes.len(), NextValue::Same);
                let entry = self.update_in_place(key, found, len, value_tag, deadline);
                if found.record.has_attributes() {
                    found.set_attributes(attributes);
                }
                found.bytes_mut().copy_from_slice(bytes);
                Appended { slot: found.slot, entry }
            }
            found => {
                let draft = draft(key, value_tag, bytes.len(), bytes.len(), deadline);
                let fill = |to: &mut [u8]| to.copy_from_slice(bytes);
                self.append_keeping(key, found, &draft, attributes, fill)?
            }
        };
        let is_kept = |id| value_tag.is_tree() && CollectionId::read(bytes) == Some(id);
        if let Some(id) = replaced.filter(|id| !is_kept(*id)) {
            self.hand_to_lazy_free(key, id);
        }
        Ok(placed)
    }

    /// Sets a key to a string in one piece, in place of anything that it holds.
    ///
    /// # Errors
    /// When there is no room for it; nothing has changed then.
    #[inline(always)]
    pub fn set_string(
        &mut self,
        key: &Key<'_>,
        value_tag: ValueTag,
        value: &[u8],
        expiry: Expiry,
    ) -> Result<(), NoSpace> {
        let found = self.find_to_change(key);
        let deadline = expiry.after(|| found.and_then(|found| found.deadline()));
        self.replace(key, found, value_tag, value, deadline).map(|_| ())
    }

    #[cold]
    fn change_footprint(
        &mut self,
        key: &Key<'_>,
        at: Location,
        before: Footprint,
        after: Footprint,
    ) {
        self.shards.heap.change_footprint(at, before, after, self.now);
        self.thread.counters.lose(before);
        self.thread.counters.gain(after);
        self.index(key).add_bytes(i64::from(after.live) - i64::from(before.live));
    }

    /// Purpose of a record for which the open segment has no room, or that may not be the first
    /// change of its command. Its command was admitted by the bytes of its arguments, before
    /// anybody knew how long the value is that they change, so it is not refused now, but goes
    /// beyond the budget: the next command makes room for that.
    #[cold]
    fn purpose_of(&mut self, extent: usize) -> Purpose {
        let (heap, now) = (&self.shards.heap, self.now);
        match self.thread.head.reserve(heap, extent, Purpose::Late, now) {
            Ok(()) => Purpose::Late,
            Err(_) => {
                self.thread.is_overdrawn = true;
                Purpose::Overdraft
            }
        }
    }

    /// Appends a record and makes the key's entry name it, in place of `old` if there is one.
    #[inline]
    pub(super) fn append<A: DraftAttributes>(
        &mut self,
        key: &Key<'_>,
        old: Option<Found<'a>>,
        draft: &Draft<'_, A>,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<Appended, NoSpace> {
        let (shards, now) = (self.shards, self.now);
        let is_sure = self.changes.begun <= 1 && self.thread.head.has_room(draft.extent());
        let purpose = if is_sure { Purpose::Late } else { self.purpose_of(draft.extent()) };
        let appended = self.thread.head.append(&shards.heap, draft, purpose, now, fill);
        let Ok(at) = appended else {
            self.note_refusal();
            return Err(NoSpace);
        };
        let tick = draft.deadline.map(|deadline| self.note_deadline(key, deadline));
        if shards.heap.is_dedicated(at, draft.extent()) {
            shards.heap.note_owner(at, Noted::Key(key.hash, key.keyspace).to_owner());
        }
        let footprint = draft.footprint();
        let access = self.history.of_new(old.as_ref().map(|found| found.entry.access()));
        let entry = Entry::new(at, draft.value_tag, draft.deadline.is_some()).with_access(access);
        let index = self.index(key);
        let slot = match &old {
            Some(found) => {
                index.update(&shards.blocks, found.slot, entry, tick);
                found.slot
            }
            None => {
                if index.is_empty() {
                    shards.keyspaces.note_used(key.keyspace);
                }
                let hashes = shards.hashes();
                let Ok(slot) = index.insert(&shards.blocks, key.hash, entry, tick, &hashes) else {
                    // SAFETY: nothing names the record, nor will.
                    unsafe { shards.heap.mark_dead(at, footprint) };
                    self.note_refusal();
                    return Err(NoSpace);
                };
                self.after_creation(key);
                slot
            }
        };
        self.thread.counters.gain(footprint);
        self.thread.counters.appended_bytes.add(draft.extent() as u64);
        index.add_bytes(i64::from(footprint.live));
        if let Some(found) = old {
            self.mark_dead(index, &found);
        }
        Ok(Appended { slot, entry })
    }

    /// As `append`, with what the record is to keep of attributes.
    #[inline]
    pub(super) fn append_keeping(
        &mut self,
        key: &Key<'_>,
        old: Option<Found<'a>>,
        draft: &Draft<'_>,
        attributes: Option<Attributes>,
        fill: impl Fn(&mut [u8]),
    ) -> Result<Appended, NoSpace> {
        if attributes.is_none() {
            return self.append(key, old, draft, fill);
        }
        self.append_with_attributes(key, old, &draft.with_attributes(attributes), &fill)
    }

    #[inline(never)]
    fn append_with_attributes(
        &mut self,
        key: &Key<'_>,
        old: Option<Found<'a>>,
        draft: &Draft<'_, Option<Attributes>>,
        fill: &dyn Fn(&mut [u8]),
    ) -> Result<Appended, NoSpace> {
        self.append(key, old, draft, fill)
    }

    /// Notes that a deadline of a key, or of a part of its value, is about to be set. Returns its
    /// tick.
    #[inline]
    pub(super) fn note_deadline(&self, key: &Key<'_>, deadline: Millis) -> Tick {
        self.shards.deadlines.note(key.hash.shard(), deadline);
        Tick::of_deadline(deadline, self.now)
    }

    /// Returns the appended record as it is found.
    #[inline]
    pub(super) fn at(&self, Appended { slot, entry }: Appended) -> Found<'a> {
        // SAFETY: the location stands in the index of a locked shard.
        let record = unsafe { self.shards.heap.record(entry.location()) };
        Found { slot, entry, record }
    }

    /// Counts the record of a key, which no entry names any more, as dead.
    #[inline]
    fn mark_dead(&mut self, index: &Index, found: &Found<'_>) {
        let footprint = footprint_of(found);
        // SAFETY: no entry names the record any more, and nothing reads it afterwards.
        unsafe { self.shards.heap.mark_dead(found.entry.location(), footprint) };
        self.thread.counters.lose(footprint);
        index.add_bytes(-i64::from(footprint.live));
    }

    /// Removes a key: its entry, its record, and, unless they move elsewhere, its nodes. Only the
    /// sweep over deadlines removes keys in another way. Returns the live bytes that were removed.
    pub(super) fn remove_found(&mut self, key: &Key<'_>, found: Found<'a>, reason: Reason) -> u64 {
        let (shards, index) = (self.shards, self.index(key));
        self.before_removal(key, &found, reason);
        let live = self.let_go(key, &found, reason);
        index.remove(&shards.blocks, found.slot);
        // The index of a flushed keyspace is given up as a whole.
        if reason != Reason::Flushed && index.wants_shrink(&shards.blocks, key.hash) {
            index.shrink(&shards.blocks, key.hash, &shards.hashes());
        }
        live
    }

    /// Counts what an entry names as dead; the caller removes the entry. Returns the live bytes.
    pub(super) fn let_go(&mut self, key: &Key<'_>, found: &Found<'a>, reason: Reason) -> u64 {
        let index = self.index(key);
        let mut live = u64::from(footprint_of(found).live);
        if found.entry.kind() != 0
            && reason != Reason::Moved
            && let Some(id) = found.collection()
        {
            let nodes = self.hand_to_lazy_free(key, id);
            // Nodes of a flushed keyspace are freed later, one by one.
            live += if reason == Reason::Flushed { 0 } else { nodes };
        }
        if reason == Reason::Flushed {
            self.shards.budget.freed(live);
        }
        self.mark_dead(index, found);
        live
    }

    /// Hands a collection that its key has lost to lazy free, or leaves it to the snapshot that
    /// reads it, which does so later; returns its live bytes.
    pub(super) fn hand_to_lazy_free(&mut self, key: &Key<'_>, id: CollectionId) -> u64 {
        let (shards, index) = (self.shards, self.index(key));
        let collection = self.collection(id);
        let is_frozen = collection.as_ref().is_some_and(|collection| collection.is_frozen());
        let bytes = collection.map_or(0, |collection| collection.live_bytes());
        index.add_bytes(-(bytes as i64));
        // Bytes of a flushed keyspace were counted when it was flushed.
        let is_counted = shards.keyspaces.is_dying(key.keyspace);
        if is_frozen {
            // SAFETY: the shard is locked.
            unsafe { shards.collections.leave_to_snapshot(id, is_counted) };
            if !is_counted {
                shards.count_retained(bytes.cast_signed());
            }
            return bytes;
        }
        if !is_counted {
            shards.budget.hand_to_lazy_free(bytes);
        }
        shards.collections.hand_to_lazy_free(id);
        bytes
    }

    /// Moves the record of a key to another head, for a cleaner; returns false if there is no room
    /// for it. The caller recycles the segment that the record leaves.
    pub(super) fn relocate_found(
        &mut self,
        key: &Key<'_>,
        found: &mut Found<'a>,
        survivors: &mut Head,
        trims: bool,
    ) -> bool {
        let grows = found.value_tag().grows();
        // SAFETY: the shard is locked, and its index names the record.
        let moved = unsafe {
            copy_out(self.shards, survivors, &found.record, (key.keyspace, grows), trims, self.now)
        };
        let Some(moved) = moved else { return false };
        let index = self.index(key);
        found.entry = found.entry.at(moved.to);
        index.update(&self.shards.blocks, found.slot, found.entry, None);
        index.add_bytes(moved.gained());
        moved.count(self.thread);
        *found = self.at(Appended { slot: found.slot, entry: found.entry });
        true
    }
}

/// A record that was copied out of a segment that will be recycled as a whole.
pub(super) struct Moved {
    pub to: Location,
    extent: usize,
    pub before: Footprint,
    pub after: Footprint,
}

impl Moved {
    /// Live bytes of the copy less those of the record before.
    pub fn gained(&self) -> i64 {
        i64::from(self.after.live) - i64::from(self.before.live)
    }

    pub fn count(&self, thread: &ThreadContext) {
        thread.counters.lose(self.before);
        thread.counters.gain(self.after);
        thread.counters.moved_bytes.add(self.extent as u64);
        thread.counters.moved_records.add(1);
    }
}

/// Appends a copy of a record to the survivors; `None` if there is no room for it.
///
/// # Safety
/// The lock of the record's shard is held.
pub(super) unsafe fn copy_out(
    shards: &Shards,
    survivors: &mut Head,
    record: &Record<'_>,
    (keyspace, grows): (KeyspaceId, bool),
    trims: bool,
    now: Millis,
) -> Option<Moved> {
    // SAFETY: as the caller says.
    let (value, value_tag, deadline, before) =
        unsafe { (record.value(), record.value_tag(), record.deadline(), record.footprint(grows)) };
    // SAFETY: as the caller says.
    let attributes = when_moved(unsafe { record.attributes() });
    let (is_node, value_len) = (record.is_node(), value.len());
    let growth = if trims { 0 } else { value_len / GROWTH_PART };
    let room = value_len + growth.min(before.growth as usize);
    let key = record.key();
    let draft = Draft {
        is_node,
        grows,
        keyspace,
        value_tag,
        key,
        value_len,
        room,
        deadline,
        attributes: NoAttributes,
    };
    match attributes {
        None => append_copy(shards, survivors, &draft, value, (before, now)),
        some => append_copy(shards, survivors, &draft.with_attributes(some), value, (before, now)),
    }
}

fn append_copy<A: DraftAttributes>(
    shards: &Shards,
    survivors: &mut Head,
    draft: &Draft<'_, A>,
    value: &[u8],
    (before, now): (Footprint, Millis),
) -> Option<Moved> {
    let fill = |to: &mut [u8]| to.copy_from_slice(value);
    let to = survivors.append(&shards.heap, draft, Purpose::Survivors, now, fill).ok()?;
    Some(Moved { to, extent: draft.extent(), before, after: draft.footprint() })
}
