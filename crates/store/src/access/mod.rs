//! Access to records under the locks of their shards: the store's island of `unsafe`.
//!
//! Every location comes from an index whose shard is locked, which `held` proves, so its record
//! stays where it is and nobody else touches it. Slices of values borrow the access, shared or
//! exclusive, so none outlives the locks or a change.
//!
//! | file | what it does with a key |
//! |---|---|
//! | this | finds it, and reads its value |
//! | `write` | gives it another value, or the same one more room |
//! | `whole` | removes, renames, copies it, and changes its deadline |
//! | `nodes` | reads and changes the nodes of a value that is a tree |

mod nodes;
mod whole;
mod write;

pub(crate) use nodes::{ReadNodes, WriteNodes};
pub(crate) use whole::tree_of;

use crate::eviction::{AccessHistory, touched};
use crate::key::{Key, Kind, Label, Value};
use crate::lane::Lane;
use crate::locks::{Held, ShardSet};
use crate::store::Store;
use crate::value::long_string::{self, LongView};
use crate::value::string::{Form, StringView};
use base::{Millis, Random};
use heap::Record;
use index::{Entry, Index, Slot};

/// The write does not fit under `maxmemory`, and nothing may be evicted for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSpace;

/// The key holds another kind of value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrongKind;

/// Why a value was not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// See [`WrongKind`].
    WrongKind,
    /// See [`NoSpace`].
    NoSpace,
}

impl From<NoSpace> for Fault {
    fn from(_: NoSpace) -> Fault {
        Fault::NoSpace
    }
}

impl From<WrongKind> for Fault {
    fn from(_: WrongKind) -> Fault {
        Fault::WrongKind
    }
}

impl From<tree::NoRoom> for NoSpace {
    fn from(_: tree::NoRoom) -> NoSpace {
        NoSpace
    }
}

impl From<tree::NoRoom> for Fault {
    fn from(_: tree::NoRoom) -> Fault {
        Fault::NoSpace
    }
}

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
    /// Rises whenever what was found before may have moved.
    version: u32,
}

/// A key's entry and record, as long as no key's record is appended or removed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Found<'a> {
    slot: Slot,
    entry: Entry,
    record: Record<'a>,
    version: u32,
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
        Access { store, lane, held, now, history, shows_expired: false, version: 0 }
    }

    /// The moment of the command.
    pub fn now(&self) -> Millis {
        self.now
    }

    /// A sequence of chance for one command, which may be used while values are read.
    pub fn chance(&mut self) -> Random {
        Random::from_seed(self.lane.random.next())
    }

    /// The moment by which parts of values have expired: none has for who sees expired keys.
    #[inline]
    pub(crate) fn sees_as_of(&self) -> Millis {
        if self.shows_expired { Millis(0) } else { self.now }
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

    /// Removes a key that is past its deadline, unless the store keeps such keys.
    pub fn drop_expired(&mut self, key: &Key<'_>) {
        self.unexpired(key, false);
    }

    /// The four bits of access history of a key.
    pub fn access_bits(&self, key: &Key<'_>) -> Option<u8> {
        self.peek(key)?;
        Some(self.find(key)?.entry.access())
    }

    /// Bytes that the key takes: its record, and its share of the index.
    pub fn memory_of(&self, key: &Key<'_>) -> Option<usize> {
        self.peek(key)?;
        let found = self.find(key)?;
        let nodes = self.value_of(found).is_tree.then(|| self.nodes(&found).memory());
        // SAFETY: the shard is locked. Room that is to spare goes with the next cleaning.
        let record = unsafe { found.record.live_bytes() } as usize;
        Some(record + nodes.unwrap_or(0) + crate::budget::INDEX_BYTES_PER_KEY)
    }

    /// Reads the string of a key for a command, as [`Access::read`].
    ///
    /// # Errors
    /// When the key holds something else.
    #[inline(always)]
    pub fn read_string(&mut self, key: &Key<'_>) -> Result<Option<StringView<'_>>, WrongKind> {
        match self.unexpired(key, false) {
            Some(found) => {
                self.lane.counters.hits.add(1);
                self.touch(key, found);
                self.string_of(found).map(Some)
            }
            None => {
                self.lane.counters.misses.add(1);
                Ok(None)
            }
        }
    }

    /// Reads the string of a key on the way to changing it, as [`Access::look`].
    ///
    /// # Errors
    /// When the key holds something else.
    #[inline]
    pub fn look_string(&mut self, key: &Key<'_>) -> Result<Option<StringView<'_>>, WrongKind> {
        let Some(found) = self.live(key) else { return Ok(None) };
        self.touch(key, found);
        self.string_of(found).map(Some)
    }

    /// Reads the string of a key without any trace, as [`Access::peek`].
    ///
    /// # Errors
    /// When the key holds something else.
    pub fn peek_string(&self, key: &Key<'_>) -> Result<Option<StringView<'_>>, WrongKind> {
        let found = self.find(key).filter(|_| self.peek(key).is_some());
        found.map(|found| self.string_of(found)).transpose()
    }

    /// The string of a key that was found.
    #[inline(always)]
    pub(crate) fn string_of(&self, found: Found<'a>) -> Result<StringView<'_>, WrongKind> {
        // SAFETY: the shard is locked, and the slice borrows the access.
        let (label, bytes) = unsafe { (Label(found.record.label()), found.record.value()) };
        let deadline = if found.entry.has_deadline() { self.deadline(found) } else { None };
        if label.is_whole_string() {
            return Ok(StringView { deadline, form: Form::Whole(bytes) });
        }
        let long = self.long_string_of(label, bytes)?;
        Ok(StringView { deadline, form: Form::Long(long) })
    }

    #[cold]
    #[inline(never)]
    fn long_string_of(&self, label: Label, value: &[u8]) -> Result<LongView<'_>, WrongKind> {
        if label.kind() != Kind::String {
            return Err(WrongKind);
        }
        Ok(LongView::new(self.nodes_named_in(value), long_string::len_of(value)))
    }

    /// A key that holds a value of a kind, to be read by a command: counts a hit or a miss, and
    /// notes the access.
    #[inline]
    pub(crate) fn open_to_read(
        &mut self,
        key: &Key<'_>,
        kind: Kind,
    ) -> Result<Option<Found<'a>>, WrongKind> {
        let found = self.unexpired(key, false);
        match found {
            Some(found) => {
                self.lane.counters.hits.add(1);
                self.touch(key, found);
            }
            None => self.lane.counters.misses.add(1),
        }
        self.of_kind(found, kind)
    }

    /// A key that holds a value of a kind, on the way to changing it; notes the access.
    #[inline]
    pub(crate) fn open(
        &mut self,
        key: &Key<'_>,
        kind: Kind,
    ) -> Result<Option<Found<'a>>, WrongKind> {
        let found = self.live(key);
        if let Some(found) = found {
            self.touch(key, found);
        }
        self.of_kind(found, kind)
    }

    /// A key that holds a value of a kind, to be read without any trace.
    #[inline]
    pub(crate) fn open_unseen(
        &self,
        key: &Key<'_>,
        kind: Kind,
    ) -> Result<Option<Found<'a>>, WrongKind> {
        let found = self.find(key).filter(|_| self.peek(key).is_some());
        self.of_kind(found, kind)
    }

    #[inline]
    fn of_kind(
        &self,
        found: Option<Found<'a>>,
        kind: Kind,
    ) -> Result<Option<Found<'a>>, WrongKind> {
        match found {
            Some(found) if self.label(&found).kind() != kind => Err(WrongKind),
            found => Ok(found),
        }
    }

    /// Kind and form of a value.
    #[inline]
    pub(crate) fn label(&self, found: &Found<'_>) -> Label {
        self.check(found);
        // SAFETY: the shard is locked, and the record is the one that the index names.
        Label(unsafe { found.record.label() })
    }

    /// The bytes of a value.
    #[inline]
    pub(crate) fn bytes(&self, found: &Found<'a>) -> &[u8] {
        self.check(found);
        // SAFETY: as above; the slice borrows the access.
        unsafe { found.record.value() }
    }

    /// The bytes of a value, for change.
    #[inline]
    pub(crate) fn bytes_mut(&mut self, found: &Found<'a>) -> &mut [u8] {
        self.check(found);
        // SAFETY: as above; the borrow of `self` excludes other slices.
        unsafe { found.record.value_mut() }
    }

    /// Whether what was found is still there: no record was appended or removed since.
    pub(crate) fn is_current(&self, found: &Found<'_>) -> bool {
        found.version == self.version
    }

    /// # Panics
    /// If records were appended or removed since something was found.
    #[inline]
    fn check(&self, found: &Found<'_>) {
        assert!(found.version == self.version, "what was found is used before anything moves");
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
        let version = self.version;
        found.map(|(slot, entry, record)| Found { slot, entry, record, version })
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
        let (kind, encoding, is_tree) = (label.kind(), label.encoding(), label.is_tree());
        Value { kind, encoding, is_tree, bytes, deadline }
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
}
