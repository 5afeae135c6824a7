//! Access to records under the locks of their shards: the store's island of `unsafe`.
//!
//! Every location comes from an index whose shard is locked, which `held` proves, so its record
//! stays where it is and nobody else touches it. Slices of values borrow the access, shared or
//! exclusive, so none outlives the locks or a change.

use crate::eviction::{AccessHistory, touched};
use crate::key::{Encoding, Key, Kind, Label, Value};
use crate::lane::Lane;
use crate::locks::{Held, ShardSet};
use crate::store::Store;
use base::{Location, Millis, Tick};
use heap::{Draft, Purpose, Record};
use index::{Entry, Index, Slot};

/// The write does not fit under `maxmemory`, and nothing may be evicted for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSpace;

/// The latest deadline that is kept. Later ones become this one, which nobody lives to see.
pub const FAR_DEADLINE: Millis = Millis(Millis::MAX.0 - 1);

/// What a write does to the deadline of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expiry {
    /// Leaves it; a new key has none.
    Keep,
    /// Takes it away.
    Never,
    /// Sets it.
    At(Millis),
}

/// The right to read and change the records of some shards.
#[derive(Debug)]
pub struct Access<'a> {
    pub(crate) store: &'a Store,
    pub(crate) lane: &'a mut Lane,
    held: Held<'a>,
    now: Millis,
    history: AccessHistory,
    shows_expired: bool,
}

/// A key's entry and record.
#[derive(Clone, Copy)]
struct Found<'a> {
    slot: Slot,
    entry: Entry,
    record: Record<'a>,
}

impl Store {
    /// Locks the shard of one key.
    #[inline(always)]
    pub fn lock<'a>(&'a self, lane: &'a mut Lane, key: &Key<'_>, now: Millis) -> Access<'a> {
        let held = self.hold_one(key.hash.shard());
        Access::new(self, lane, held, now)
    }

    /// Locks several shards, all of them at once.
    pub fn lock_all<'a>(&'a self, lane: &'a mut Lane, set: ShardSet, now: Millis) -> Access<'a> {
        let held = self.hold_many(set);
        Access::new(self, lane, held, now)
    }
}

impl<'a> Access<'a> {
    #[inline(always)]
    fn new(store: &'a Store, lane: &'a mut Lane, held: Held<'a>, now: Millis) -> Access<'a> {
        let history = store.budget.history();
        Access { store, lane, held, now, history, shows_expired: false }
    }

    /// The moment of the command.
    pub fn now(&self) -> Millis {
        self.now
    }

    /// Leaves the access history of keys alone, as CLIENT NO-TOUCH asks.
    pub fn do_not_touch(&mut self) {
        self.history = AccessHistory::Untouched;
    }

    /// Sees keys past their deadline too, as long as the store keeps them.
    pub fn show_expired(&mut self) {
        self.shows_expired = self.store.keeps_expired();
    }

    /// Reads a key for a command: counts a hit or a miss, and notes the access.
    #[inline(always)]
    pub fn read(&mut self, key: &Key<'_>) -> Option<Value<'_>> {
        match self.unexpired(key, false) {
            Some(found) => {
                self.lane.counters.hits.add(1);
                self.touch(key, found);
                Some(self.value_of(found))
            }
            None => {
                self.lane.counters.misses.add(1);
                None
            }
        }
    }

    /// Reads a key on the way to changing it: no hit, no miss; notes the access.
    #[inline]
    pub fn look(&mut self, key: &Key<'_>) -> Option<Value<'_>> {
        let found = self.live(key)?;
        self.touch(key, found);
        Some(self.value_of(found))
    }

    /// Reads a key without any trace. Several values can be held at once. A key past its deadline
    /// is absent, though not yet removed.
    pub fn peek(&self, key: &Key<'_>) -> Option<Value<'_>> {
        let found = self.find(key)?;
        let value = self.value_of(found);
        let is_live = value.deadline.is_none_or(|deadline| deadline > self.now);
        (is_live || self.shows_expired).then_some(value)
    }

    /// The four bits of access history of a key.
    pub fn access_bits(&self, key: &Key<'_>) -> Option<u8> {
        self.peek(key)?;
        Some(self.find(key)?.entry.access())
    }

    /// Bytes that the key takes: its record, and its share of the index.
    pub fn memory_of(&self, key: &Key<'_>) -> Option<usize> {
        self.peek(key)?;
        Some(self.find(key)?.record.extent() as usize + crate::budget::INDEX_BYTES_PER_KEY)
    }

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
        let deadline = match expiry {
            Expiry::Keep => found.and_then(|found| self.deadline(found)),
            Expiry::Never => None,
            Expiry::At(at) => Some(at.min(FAR_DEADLINE)),
        };
        let label = Label::new(Kind::String, encoding);
        if let Some(found) = found.filter(|found| fits(&found.record, value.len(), deadline)) {
            self.overwrite(key, found, value.len(), label, deadline);
            // SAFETY: the shard is locked, and no other slice of the value exists.
            unsafe { found.record.value_mut() }.copy_from_slice(value);
            return Ok(());
        }
        let draft = Draft {
            keyspace: key.keyspace,
            label: label.0,
            key: key.bytes,
            value_len: value.len(),
            room: value.len(),
            deadline,
        };
        self.append(key, found, &draft, |to| to.copy_from_slice(value))
    }

    /// The value of a key, to be changed in place without changing its length.
    pub fn edit(&mut self, key: &Key<'_>) -> Option<&mut [u8]> {
        let found = self.live(key)?;
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
    pub fn resize(&mut self, key: &Key<'_>, len: usize) -> Result<&mut [u8], NoSpace> {
        let label = Label::new(Kind::String, Encoding::Raw);
        let found = self.live(key);
        let deadline = found.and_then(|found| self.deadline(found));
        if let Some(found) = found.filter(|found| fits(&found.record, len, deadline)) {
            // SAFETY: the shard is locked.
            let old_len = unsafe { found.record.value() }.len();
            self.overwrite(key, found, len, label, deadline);
            // SAFETY: the shard is locked, and the borrow of `self` excludes other slices.
            let value = unsafe { found.record.value_mut() };
            if let Some(new) = value.get_mut(old_len..) {
                new.fill(0);
            }
            return Ok(value);
        }
        // SAFETY: the shard is locked, and the record stays until it is buried after the copy.
        let old = found.map_or(&[][..], |found| unsafe { found.record.value() });
        let keep = old.len().min(len);
        let room = if found.is_some() { len + len / 8 } else { len };
        let draft = Draft {
            keyspace: key.keyspace,
            label: label.0,
            key: key.bytes,
            value_len: len,
            room,
            deadline,
        };
        self.append(key, found, &draft, |to| {
            to[..keep].copy_from_slice(&old[..keep]);
            to[keep..].fill(0);
        })?;
        let found = self.find(key).ok_or(NoSpace)?;
        // SAFETY: the shard is locked, and the borrow of `self` excludes other slices.
        Ok(unsafe { found.record.value_mut() })
    }

    /// Sets or takes away the deadline of a key; false if there is no such key.
    ///
    /// # Errors
    /// When the record must be written anew and there is no room for it.
    pub fn set_deadline(
        &mut self,
        key: &Key<'_>,
        deadline: Option<Millis>,
    ) -> Result<bool, NoSpace> {
        let deadline = deadline.map(|at| at.min(FAR_DEADLINE));
        let Some(found) = self.live(key) else { return Ok(false) };
        if deadline.is_none() && !found.entry.has_deadline() {
            return Ok(true);
        }
        // SAFETY: the shard is locked, and the record stays until it is buried after the copy.
        let (value, label) = unsafe { (found.record.value(), found.record.label()) };
        if fits(&found.record, value.len(), deadline) {
            self.overwrite(key, found, value.len(), Label(label), deadline);
            return Ok(true);
        }
        let draft = Draft {
            keyspace: key.keyspace,
            label,
            key: key.bytes,
            value_len: value.len(),
            room: value.len(),
            deadline,
        };
        self.append(key, Some(found), &draft, |to| to.copy_from_slice(value))?;
        Ok(true)
    }

    /// Removes a key; false if there is none.
    pub fn remove(&mut self, key: &Key<'_>) -> bool {
        let Some(found) = self.live(key) else { return false };
        self.discard(key, found);
        true
    }

    /// Removes a key whose new deadline has passed already; false if there is none.
    pub fn expire(&mut self, key: &Key<'_>) -> bool {
        let is_removed = self.remove(key);
        self.lane.counters.expired.add(is_removed.into());
        is_removed
    }

    /// Moves the value of one key, with its deadline and history, to another key, which may be in
    /// another keyspace; what the other held is removed.
    ///
    /// # Errors
    /// When there is no room for the renamed record; nothing has changed then.
    pub fn rename(&mut self, from: &Key<'_>, to: &Key<'_>) -> Result<bool, NoSpace> {
        if from.keyspace == to.keyspace && from.bytes == to.bytes {
            return Ok(self.live(from).is_some());
        }
        if !self.copy(from, to)? {
            return Ok(false);
        }
        self.remove(from);
        Ok(true)
    }

    /// Copies the value of one key, with its deadline, to another key, which may be in another
    /// keyspace; what the other held is replaced.
    ///
    /// # Errors
    /// When there is no room for the copy; nothing has changed then.
    pub fn copy(&mut self, from: &Key<'_>, to: &Key<'_>) -> Result<bool, NoSpace> {
        let Some(source) = self.live(from) else { return Ok(false) };
        // SAFETY: the shard is locked; appending elsewhere leaves the source alone, and `to` is
        // another key, so the source is not buried by the append.
        let (value, label) = unsafe { (source.record.value(), source.record.label()) };
        let target = self.find(to);
        let draft = Draft {
            keyspace: to.keyspace,
            label,
            key: to.bytes,
            value_len: value.len(),
            room: value.len(),
            deadline: self.deadline(source),
        };
        self.append(to, target, &draft, |bytes| bytes.copy_from_slice(value))?;
        Ok(true)
    }

    /// The key's entry and record, whatever its deadline.
    #[inline(always)]
    fn find(&self, key: &Key<'_>) -> Option<Found<'a>> {
        let store = self.store;
        let look = |entry: Entry| {
            // SAFETY: the location stands in the index of a locked shard.
            let record = unsafe { store.heap.record(entry.location()) };
            (record.key() == key.bytes).then_some(record)
        };
        let found = self.index(key).find_map(&store.blocks, key.hash, look);
        found.map(|(slot, entry, record)| Found { slot, entry, record })
    }

    /// The key's entry and record, on the way to changing it; removed, and absent, if its deadline
    /// has passed.
    #[inline(always)]
    fn live(&mut self, key: &Key<'_>) -> Option<Found<'a>> {
        self.unexpired(key, true)
    }

    #[inline(always)]
    fn unexpired(&mut self, key: &Key<'_>, will_change: bool) -> Option<Found<'a>> {
        let found = self.find(key)?;
        if found.entry.has_deadline() && self.deadline(found).is_some_and(|it| it <= self.now) {
            let is_there = self.past_deadline(key, found, will_change);
            return is_there.then_some(found);
        }
        Some(found)
    }

    /// Whether a key past its deadline is there all the same. If not it is removed, unless the
    /// store keeps such keys and nobody is going to change it.
    #[cold]
    #[inline(never)]
    fn past_deadline(&mut self, key: &Key<'_>, found: Found<'_>, will_change: bool) -> bool {
        if !self.shows_expired && (will_change || !self.store.keeps_expired()) {
            self.lane.counters.expired.add(1);
            self.discard(key, found);
        }
        self.shows_expired
    }

    #[inline(always)]
    fn index(&self, key: &Key<'_>) -> &'a Index {
        let shard = key.hash.shard();
        assert!(self.held.has(shard), "a command reaches only keys that it has locked");
        self.store.indexes.get(key.keyspace, shard)
    }

    #[inline(always)]
    fn value_of(&self, found: Found<'a>) -> Value<'_> {
        // SAFETY: the shard is locked, and the slice borrows the access.
        let (label, bytes) = unsafe { (Label(found.record.label()), found.record.value()) };
        let deadline = if found.entry.has_deadline() { self.deadline(found) } else { None };
        Value { kind: label.kind(), encoding: label.encoding(), bytes, deadline }
    }

    #[inline]
    fn deadline(&self, found: Found<'_>) -> Option<Millis> {
        // SAFETY: the shard is locked.
        unsafe { found.record.deadline() }
    }

    #[inline(always)]
    fn touch(&mut self, key: &Key<'_>, found: Found<'_>) {
        if let Some(access) = touched(self.history, found.entry.access(), &mut self.lane.random) {
            self.index(key).set_access(&self.store.blocks, found.slot, access);
        }
    }

    fn set_label(&mut self, found: Found<'_>, label: Label) {
        // SAFETY: the shard is locked, no slice of the value exists, the length stays.
        unsafe { found.record.set_value_len(found.record.value().len(), label.0) };
    }

    /// Changes length, label and deadline of a record that has room for them.
    #[inline]
    fn overwrite(
        &mut self,
        key: &Key<'_>,
        found: Found<'_>,
        len: usize,
        label: Label,
        deadline: Option<Millis>,
    ) {
        // SAFETY: the shard is locked, no slice of the value exists, and `fits` was asked.
        let gained = unsafe {
            let before = found.record.live_bytes();
            found.record.set_value_len(len, label.0);
            if found.record.has_deadline_room() {
                found.record.set_deadline(deadline);
            }
            i64::from(found.record.live_bytes()) - i64::from(before)
        };
        if gained != 0 {
            self.count_gain(key, found.entry.location(), gained);
        }
        if deadline.is_some() || found.entry.has_deadline() {
            let entry = found.entry.with_deadline(deadline.is_some());
            let tick = deadline.map(|deadline| Tick::of_deadline(deadline, self.now));
            self.index(key).update(&self.store.blocks, found.slot, entry, tick);
        }
        self.touch(key, found);
    }

    #[cold]
    fn count_gain(&mut self, key: &Key<'_>, at: Location, gained: i64) {
        if gained > 0 {
            self.store.heap.revive(at, gained as u32);
        } else {
            self.store.heap.bury(at, gained.unsigned_abs() as u32, false);
        }
        self.lane.counters.live_bytes.add(gained as u64);
        self.index(key).add_bytes(gained);
    }

    /// Appends a record and makes the key's entry name it, in place of `old` if there is one.
    #[inline]
    fn append(
        &mut self,
        key: &Key<'_>,
        old: Option<Found<'_>>,
        draft: &Draft<'_>,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), NoSpace> {
        // Heads and segments count in 32 bits; key and room may each come close to that.
        if draft.extent() > u32::MAX as usize {
            return Err(NoSpace);
        }
        let (store, now) = (self.store, self.now);
        let appended = self.lane.head.append(&store.heap, draft, Purpose::Late, now, fill);
        let at = appended.map_err(|_| NoSpace)?;
        let tick = draft.deadline.map(|deadline| Tick::of_deadline(deadline, now));
        if draft.extent() > heap::DEDICATED_BYTES {
            store.heap.note_owner(at, key.hash, key.keyspace);
        }
        let live = draft.extent() - (draft.room - draft.value_len);
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
                    store.heap.bury(at, live as u32, true);
                    return Err(NoSpace);
                }
            }
        }
        self.lane.counters.live_bytes.add(live as u64);
        self.lane.counters.appended_bytes.add(draft.extent() as u64);
        index.add_bytes(live as i64);
        if let Some(found) = old {
            self.bury(index, found);
        }
        Ok(())
    }

    /// Removes an entry and buries its record.
    fn discard(&mut self, key: &Key<'_>, found: Found<'_>) {
        let (store, index) = (self.store, self.index(key));
        index.remove(&store.blocks, found.slot);
        self.bury(index, found);
        if index.wants_shrink(&store.blocks, key.hash) {
            index.shrink(&store.blocks, key.hash, &store.records());
        }
    }

    fn bury(&mut self, index: &Index, found: Found<'_>) {
        // SAFETY: the shard is locked; nothing reads the record afterwards.
        let live = unsafe { found.record.live_bytes() };
        self.store.heap.bury(found.entry.location(), live, true);
        self.lane.counters.live_bytes.sub(u64::from(live));
        index.add_bytes(-i64::from(live));
    }
}

/// Whether a value and a deadline can be written over those of `record`: they need the room, and
/// no more than a quarter of it may fall away.
#[inline]
fn fits(record: &Record<'_>, len: usize, deadline: Option<Millis>) -> bool {
    let room = record.room();
    len <= room && room - len <= room / 4 && (deadline.is_none() || record.has_deadline_room())
}
