//! Access of commands to keys, under the locks of their shards.
//!
//! An `Access` is a [`Guard`] with what commands add to it: it notes uses of keys, counts hits and
//! misses, and checks kinds of values. The modules under `value` implement strings and collections;
//! they read through a [`ValueRef`] and change through a [`KeyMut`].

use crate::fault::WrongKind;
use crate::key::{Key, Kind, Value};
use crate::pieces::Pieces;
use crate::shard::{Event, Guard, KeyMut, OwnedArgs, ValueRef};
use base::{KeyspaceId, Millis, Random};
use smallvec::SmallVec;
use text::AttributeNote;

/// Right to read and change the values of some keys.
#[derive(Debug)]
pub struct Access<'a> {
    guard: Guard<'a>,
}

impl<'a> Access<'a> {
    #[inline(always)]
    pub(crate) fn new(guard: Guard<'a>) -> Access<'a> {
        Access { guard }
    }

    /// The guard: the locks, and the thread that holds them.
    #[inline(always)]
    pub(crate) fn guard(&mut self) -> &mut Guard<'a> {
        &mut self.guard
    }

    /// The guard, shared, for look-ups without any trace.
    #[inline(always)]
    pub(crate) fn shared_guard(&self) -> &Guard<'a> {
        &self.guard
    }

    /// Returns the access with its changes hidden from listeners.
    pub fn muted(mut self) -> Access<'a> {
        self.guard.mute();
        self
    }

    /// Time of the command.
    pub fn now(&self) -> Millis {
        self.guard.now()
    }

    /// Returns a random generator for one command, which may be used while values are read.
    pub fn chance(&mut self) -> Random {
        Random::from_seed(self.guard.random().next())
    }

    /// Leaves the access history of keys alone, as CLIENT NO-TOUCH asks.
    #[inline(always)]
    pub fn do_not_touch(&mut self) {
        self.guard.do_not_touch();
    }

    /// Makes keys past their deadline visible too, while the store keeps them.
    #[inline(always)]
    pub fn show_expired(&mut self) {
        self.guard.show_expired();
    }

    /// Makes keys past their deadline that were not removed yet visible to what reads without any
    /// trace, for a command that shows what is there.
    pub fn show_not_removed(&mut self) {
        self.guard.show_not_removed();
    }

    /// Reads a key for a command: counts a hit or a miss, and notes the access.
    #[inline(always)]
    pub fn read(&mut self, key: &Key<'_>) -> Option<Value<'_>> {
        self.guard.read(key).map(|value| value.to_value())
    }

    /// Reads a key for a command that looks at it from outside: counts a hit or a miss, and nothing
    /// else.
    pub fn inspect(&mut self, key: &Key<'_>) -> Option<Value<'_>> {
        self.guard.inspect(key).map(|value| value.to_value())
    }

    /// Reads a key on the way to changing it: no hit, no miss; notes the access.
    #[inline]
    pub fn lookup_for_write(&mut self, key: &Key<'_>) -> Option<Value<'_>> {
        self.guard.lookup_for_write(key).map(|value| value.to_value())
    }

    /// Reads a key without any trace. Several values can be held at once. A key past its deadline
    /// is absent, though not yet removed.
    pub fn lookup_without_touch(&self, key: &Key<'_>) -> Option<Value<'_>> {
        self.guard.lookup_without_touch(key).map(|value| value.to_value())
    }

    /// The value of a key, to be read without any trace.
    pub fn value(&self, key: &Key<'_>) -> Option<ValueRef<'_>> {
        self.guard.lookup_without_touch(key)
    }

    /// The deadline of a key, also of one that has passed it.
    pub fn deadline_of(&self, key: &Key<'_>) -> Option<Millis> {
        self.guard.value_of(key)?.deadline()
    }

    /// Removes a key that is past its deadline, unless the store keeps such keys.
    pub fn drop_expired(&mut self, key: &Key<'_>) {
        self.guard.drop_expired(key);
    }

    /// Has the keys that are worked on next come into the cache, [`WINDOW`](crate::WINDOW) of them
    /// at most. They need not be locked.
    pub fn look_ahead(&self, keys: &[Key<'_>]) {
        self.guard.prefetch_window(keys);
    }

    /// Removes a key that is past its deadline, for a command that changes other keys as if this
    /// one did not exist. The removal must be an effect of its own: whatever applies effects
    /// (recovery, a replica) ignores deadlines, and would still have the key.
    pub fn drop_expired_for_write(&mut self, key: &Key<'_>) {
        self.guard.key_mut(key);
    }

    /// Four bits of access history of a key; `None` if there is no such key.
    pub fn access_bits(&self, key: &Key<'_>) -> Option<u8> {
        self.guard.lookup_without_touch(key).map(|value| value.access_bits())
    }

    /// Bytes that the key takes: its record, and its share of the index.
    pub fn memory_of(&self, key: &Key<'_>) -> Option<usize> {
        let value = self.guard.lookup_without_touch(key)?;
        let nodes = value.collection().map_or(0, |_| value.nodes().memory());
        Some(value.live_bytes() as usize + nodes + crate::budget::INDEX_BYTES_PER_KEY)
    }

    /// Returns true if WATCH or client-side caching listens to changes, so that it is worth finding
    /// out whether a command changes anything.
    #[inline]
    pub fn has_key_listener(&self) -> bool {
        self.guard.has_key_listener()
    }

    /// Makes a change; if `is_unseen`, WATCH and client-side caching are not notified. The keys
    /// must have been looked up before, since a look-up removes a key past its deadline, and that
    /// must be announced.
    pub fn unseen_if<T>(
        &mut self,
        is_unseen: bool,
        change: impl FnOnce(&mut Access<'a>) -> T,
    ) -> T {
        if !is_unseen {
            return change(self);
        }
        let hidden = self.guard.hide_from_key_listeners();
        let done = change(self);
        self.guard.show_to_key_listeners(hidden);
        done
    }

    /// Reports that a command made `changes` changes, and the event that this is for a key. All
    /// reports while one access holds its locks are one unit. With zero changes, nothing has
    /// changed for others.
    #[inline(always)]
    pub fn report_changes(&mut self, changes: u64, event: Event, key: &Key<'_>) {
        self.guard.report_changes(changes, event, key);
    }

    /// Reports that a command made `changes` changes for which clients know no event.
    #[inline]
    pub fn report_changes_silently(&mut self, changes: u64) {
        self.guard.report_changes_silently(changes);
    }

    /// Records one more event of what the command has changed.
    #[inline]
    pub fn record_event(&mut self, event: Event, key: &Key<'_>) {
        if self.guard.is_recording() {
            self.guard.record_event(event, key);
        }
    }

    /// Records that a key was replaced as a whole, which to clients is a new key, unless it was
    /// removed on the way and is recorded as new already.
    pub fn record_new_event(&mut self, key: &Key<'_>) {
        if self.guard.is_recording() && !self.guard.has_last_event(Event::NEW, key) {
            self.guard.record_event(Event::NEW, key);
        }
    }

    /// Puts the event that a key is new, recorded where it was made, behind all events since.
    pub fn put_off_new_event(&mut self, key: &Key<'_>) {
        if self.guard.is_recording() {
            self.guard.put_off_event(Event::NEW, key);
        }
    }

    /// Records that a key was removed with its last element, if it was.
    #[inline]
    pub fn record_del_if_gone(&mut self, key: &Key<'_>) {
        if self.guard.is_recording() && self.guard.lookup_without_touch(key).is_none() {
            self.guard.record_event(Event::DEL, key);
        }
    }

    /// Reports that a command removed `elements` elements of a key and, if they were the last, that
    /// the key was removed with them.
    #[inline]
    pub fn report_removals(&mut self, elements: u64, event: Event, key: &Key<'_>) {
        self.guard.report_changes(elements, event, key);
        if elements > 0 {
            self.record_del_if_gone(key);
        }
    }

    /// Returns true if a listener receives events and effects, so that they are worth preparing.
    #[inline]
    pub fn is_recording(&self) -> bool {
        self.guard.is_recording()
    }

    /// Records a request, which `write` appends in RESP, and the keyspace of its client, as the
    /// effect of the changes that follow. Does nothing if there is no listener.
    #[inline(always)]
    pub fn record_request(&mut self, keyspace: KeyspaceId, write: impl FnOnce(&mut Vec<u8>)) {
        self.guard.record_request(keyspace, write);
    }

    /// Records arguments that have the effect of what was changed, in place of those of the
    /// request: they depend on the data alone, neither on chance nor on time.
    ///
    /// [`Access::is_recording`] tells whether they are worth making.
    pub fn record_effect(&mut self, keyspace: KeyspaceId, args: OwnedArgs) {
        self.guard.record_effect(keyspace, args);
    }

    /// Does the same for a command that writes a string, with a note of what that has besides its
    /// value.
    pub fn record_noted_effect(
        &mut self,
        keyspace: KeyspaceId,
        note: AttributeNote,
        args: OwnedArgs,
    ) {
        self.guard.record_noted_effect(keyspace, note, args);
    }

    /// Records the commands of some pieces as the effect on a key, in place of the request, unless
    /// there are none.
    pub fn record_effects(&mut self, key: &Key<'_>, pieces: Pieces) {
        for args in pieces.into_commands() {
            self.guard.record_effect(key.keyspace, args);
        }
    }

    /// Keeps the request out of the effects: those that were recorded are all that has changed,
    /// which may be nothing that matters to others.
    pub fn leave_out_request(&mut self) {
        self.guard.leave_out_request();
    }

    /// Reads a key that must hold a value of `kind` or none: counts a hit or a miss, and notes the
    /// access.
    #[inline]
    pub(crate) fn read_kind(
        &mut self,
        key: &Key<'_>,
        kind: Kind,
    ) -> Result<Option<ValueRef<'_>>, WrongKind> {
        of_kind(self.guard.read(key), kind)
    }

    /// Reads several keys as `read_kind` does; stops at the first that holds a value of none of
    /// `kinds`.
    pub(crate) fn read_kinds(
        &mut self,
        keys: &[Key<'_>],
        kinds: &[Kind],
    ) -> Result<SmallVec<[Option<ValueRef<'_>>; 4]>, WrongKind> {
        self.guard.read_all(keys, |value| kinds.contains(&value.kind())).ok_or(WrongKind)
    }

    /// Reads a key that must hold a value of `kind` or none, without any trace.
    #[inline]
    pub(crate) fn lookup_kind_without_touch(
        &self,
        key: &Key<'_>,
        kind: Kind,
    ) -> Result<Option<ValueRef<'_>>, WrongKind> {
        of_kind(self.guard.lookup_without_touch(key), kind)
    }

    /// Opens a key that must hold a value of `kind` or none, for change; notes the access.
    #[inline]
    pub(crate) fn open<'g>(
        &'g mut self,
        key: &Key<'g>,
        kind: Kind,
    ) -> Result<KeyMut<'g, 'a>, WrongKind> {
        let mut key = self.guard.key_mut(key);
        key.touch();
        key_of_kind(key, kind)
    }

    /// As `open`, for a command that reads too: counts a hit or a miss.
    #[inline]
    pub(crate) fn open_to_read<'g>(
        &'g mut self,
        key: &Key<'g>,
        kind: Kind,
    ) -> Result<KeyMut<'g, 'a>, WrongKind> {
        key_of_kind(self.guard.read_mut(key), kind)
    }

    /// As `open`, for a key that was opened before: notes nothing.
    #[inline]
    pub(crate) fn open_without_touch<'g>(
        &'g mut self,
        key: &Key<'g>,
        kind: Kind,
    ) -> Result<KeyMut<'g, 'a>, WrongKind> {
        key_of_kind(self.guard.key_mut(key), kind)
    }

    /// Opens a key whose value, of any kind, is to be replaced by one without a deadline.
    pub(crate) fn open_to_replace<'g>(&'g mut self, key: &Key<'g>) -> KeyMut<'g, 'a> {
        self.guard.key_mut(key).without_deadline()
    }
}

#[inline]
fn of_kind(found: Option<ValueRef<'_>>, kind: Kind) -> Result<Option<ValueRef<'_>>, WrongKind> {
    match found {
        Some(value) if value.kind() != kind => Err(WrongKind),
        found => Ok(found),
    }
}

#[inline]
fn key_of_kind<'g, 'a>(key: KeyMut<'g, 'a>, kind: Kind) -> Result<KeyMut<'g, 'a>, WrongKind> {
    if key.exists() && key.value_tag().kind() != kind { Err(WrongKind) } else { Ok(key) }
}
