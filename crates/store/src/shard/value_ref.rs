//! Values of keys, to be read.

use super::collections::CollectionId;
use super::found::{Found, footprint_of};
use super::guard::Guard;
use super::read_nodes::ReadNodes;
use super::shards::Shards;
use crate::attributes::Attributes;
use crate::key::{Key, Kind, Value, ValueTag};
use base::{KeyHasher, Location, Millis};
use heap::{RECORD_OVERHEAD_MAX, Record};
use index::{Entry, EntrySlot};
use smallvec::SmallVec;

/// The value of a key. Borrows the guard through which it was found, so that nothing changes
/// meanwhile; or what a snapshot has kept of it.
#[derive(Clone, Copy, Debug)]
pub struct ValueRef<'g> {
    shards: &'g Shards,
    as_of: Millis,
    found: Found<'g>,
    is_frozen: bool,
}

impl<'g> ValueRef<'g> {
    #[inline(always)]
    pub(super) fn new(guard: &'g Guard<'_>, found: Found<'g>) -> ValueRef<'g> {
        ValueRef { shards: guard.shards, as_of: guard.as_of(), found, is_frozen: false }
    }

    /// The value in a record that was copied for a snapshot. Its nodes, if it has any, are those
    /// that were frozen.
    ///
    /// # Safety
    /// That of [`ReadNodes::of`], if the value is a tree.
    pub(super) unsafe fn copied(
        shards: &'g Shards,
        as_of: Millis,
        entry: Entry,
        record: Record<'g>,
    ) -> ValueRef<'g> {
        let found = Found { slot: EntrySlot::NONE, entry, record };
        ValueRef { shards, as_of, found, is_frozen: true }
    }

    /// Time by which parts of the value have expired.
    #[inline]
    pub(crate) fn as_of(&self) -> Millis {
        self.as_of
    }

    /// Returns the same value with the parts that have expired and are not removed yet.
    #[must_use]
    pub fn with_expired(self) -> ValueRef<'g> {
        ValueRef { as_of: Millis(0), ..self }
    }

    /// Hash function that places elements.
    #[inline]
    pub(crate) fn hasher(&self) -> &'g KeyHasher {
        &self.shards.hasher
    }

    /// The key.
    pub fn key(&self) -> &'g [u8] {
        self.found.record.key()
    }

    /// Location of the record.
    pub(crate) fn location(&self) -> Location {
        self.found.entry.location()
    }

    /// The kind of value.
    #[inline]
    pub fn kind(&self) -> Kind {
        self.value_tag().kind()
    }

    /// Kind and form of the value.
    #[inline(always)]
    pub(crate) fn value_tag(&self) -> ValueTag {
        self.found.value_tag()
    }

    /// The bytes of the value.
    #[inline(always)]
    pub fn bytes(&self) -> &'g [u8] {
        self.found.bytes()
    }

    /// Deadline of the key.
    #[inline]
    pub fn deadline(&self) -> Option<Millis> {
        if self.found.entry.has_deadline() { self.found.deadline() } else { None }
    }

    /// Attributes of a string; the default ones for all other values.
    #[inline]
    pub fn attributes(&self) -> Attributes {
        Attributes::of_record(self.found.attributes())
    }

    /// Returns true for a string that [`Access::note_fetched`](crate::Access::note_fetched) was
    /// called for since it was set.
    pub fn is_fetched(&self) -> bool {
        self.value_tag().is_fetched()
    }

    /// Bytes that a record of the same value with other attributes takes at most.
    pub(crate) fn bytes_with_attributes(&self) -> usize {
        self.bytes().len() + self.key().len() + RECORD_OVERHEAD_MAX
    }

    /// Returns true if the record has a place for a CAS.
    pub(crate) fn has_place_for_cas(&self) -> bool {
        self.found.attributes().is_some_and(|kept| kept.cas.is_some())
    }

    /// Four bits of access history.
    pub fn access_bits(&self) -> u8 {
        self.found.entry.access()
    }

    /// Live bytes of the record, without room that goes with the next cleaning.
    pub fn live_bytes(&self) -> u32 {
        footprint_of(&self.found).live
    }

    /// The collection that keeps the value, if it is a tree.
    #[inline]
    pub(crate) fn collection(&self) -> Option<CollectionId> {
        self.found.collection()
    }

    /// The nodes of a value that is a tree.
    ///
    /// # Panics
    /// If the value is not a tree.
    #[inline]
    pub(crate) fn nodes(&self) -> ReadNodes<'g> {
        let id = CollectionId::read(self.bytes()).expect("a tree names its collection");
        // SAFETY: the shard is locked for 'g, and changes need the guard exclusively.
        let nodes = unsafe {
            if self.is_frozen {
                ReadNodes::frozen(self.shards, id)
            } else {
                ReadNodes::of(self.shards, id)
            }
        };
        nodes.expect("a collection has a table")
    }

    /// Returns the value in the form that other crates use.
    #[inline(always)]
    pub fn to_value(self) -> Value<'g> {
        let value_tag = self.value_tag();
        let (kind, encoding, is_tree) =
            (value_tag.kind(), value_tag.encoding(), value_tag.is_tree());
        Value { kind, encoding, is_tree, bytes: self.bytes(), deadline: self.deadline() }
    }
}

impl<'a> Guard<'a> {
    /// Looks a key up without any trace: no access is noted, and a key past its deadline is absent,
    /// but not removed.
    pub fn lookup_without_touch(&self, key: &Key<'_>) -> Option<ValueRef<'_>> {
        let value = ValueRef::new(self, self.find(key)?);
        let is_live = value.deadline().is_none_or(|deadline| deadline > self.now);
        (is_live || self.shows_expired).then_some(value)
    }

    /// Looks a key up for a command that reads: a hit or a miss, and a use of the key.
    #[inline(always)]
    pub fn read(&mut self, key: &Key<'_>) -> Option<ValueRef<'_>> {
        let found = self.unexpired(key, false);
        self.note_read(key, found.as_ref());
        Some(ValueRef::new(self, found?))
    }

    /// As `read`, for a command that looks at a key from outside: no use of it, and a miss is no
    /// event.
    pub fn inspect(&mut self, key: &Key<'_>) -> Option<ValueRef<'_>> {
        let found = self.unexpired(key, false);
        let counters = &self.thread.counters;
        let counter = if found.is_some() { &counters.hits } else { &counters.misses };
        counter.add(1);
        Some(ValueRef::new(self, found?))
    }

    /// Looks several keys up, each as `read` does; `None` as soon as one of them does not suit.
    pub fn read_all(
        &mut self,
        keys: &[Key<'_>],
        suits: impl Fn(ValueRef<'_>) -> bool,
    ) -> Option<SmallVec<[Option<ValueRef<'_>>; 4]>> {
        let mut all: SmallVec<[Option<Found<'a>>; 4]> = SmallVec::new();
        for key in keys {
            let found = self.unexpired(key, false);
            self.note_read(key, found.as_ref());
            if found.is_some_and(|found| !suits(ValueRef::new(self, found))) {
                return None;
            }
            all.push(found);
        }
        // A key that has expired was removed meanwhile: records of others stay where they are.
        Some(all.into_iter().map(|found| Some(ValueRef::new(self, found?))).collect())
    }

    /// Looks a key up for a command that will change it: no hit, no miss, but a use.
    #[inline]
    pub fn lookup_for_write(&mut self, key: &Key<'_>) -> Option<ValueRef<'_>> {
        let found = self.unexpired(key, true)?;
        self.touch(key, &found);
        Some(ValueRef::new(self, found))
    }
}
