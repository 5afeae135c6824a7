//! Changes of keys, their meaning to others, and the listeners that are notified.
//!
//! ```text
//! guard      before_writing, before_removal ─▶ change ─▶ the command reports it ─▶ locks go
//!                         │                                                          │
//! listener          before(change)                                              unit(unit)
//! ```
//! *That* something changes is known by the guard, which notifies listeners before the first byte
//! changes, while the old value can still be read. *What* it was is reported by the command before
//! the locks are given up: all reports under one hold of locks are one unit. Removals that no
//! command asked for report themselves.
//!
//! Some changes are *unseen*: bytes change, but no client that reads the key sees another value, as
//! when a group of a stream moves on. They are made inside `KeyMut::unseen` or `Access::unseen_if`:
//! then WATCH and client-side caching are not notified, and all other listeners are.
//!
//! `Listener::before` is called under the lock of the key, by the change point itself, so no
//! handler can leave it out: there WATCH marks its clients, client-side caching takes the trackers
//! of the key out of its table, MIGRATE notes that a key it has sent has changed, and a snapshot
//! keeps the old record.
//!
//! Reports gather in the pending unit of the thread. The unit ends before the locks go: in
//! `Guard::drop` with one command, in `Hold::drop` with several. There it goes into the journal,
//! which gives it a position, and to `Listener::unit`, where notifications are left in mailboxes. A
//! transaction delivers its events earlier, ahead of a command that publishes or changes settings
//! or subscriptions, and whenever many have gathered. Sleeping workers are woken without locks,
//! when the batch ends.
//!
//! A build with assertions panics if a change was made and not reported. Removals by expiry, by
//! eviction and of fields past their deadline report themselves; FLUSHALL, FLUSHDB and SWAPDB
//! report in the closed gate.

use crate::key::{Key, Value};
use base::{KeyFilter, PositionHash};
use bitflags::bitflags;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use text::AttributeNote;

/// Reason for the removal of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A command removed the key, or its last element.
    Deleted,
    /// The deadline has passed.
    Expired,
    /// A command set a deadline that has passed.
    Overdue,
    /// The memory was needed.
    Evicted,
    /// The value moved to another key.
    Moved,
    /// The database was emptied before.
    Flushed,
}

/// Client on whose behalf a thread works.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Author {
    /// Its id; zero if no client asked for what the thread does.
    pub client: u64,
    /// True if it has waited, and another thread than its own executes its command.
    pub is_served: bool,
}

/// Change of one key that is about to be made. Location and access history of a key are not user
/// data; they change without one.
#[derive(Clone, Copy, Debug)]
pub struct Change<'c> {
    /// The key; its hash tells the shard.
    pub key: Key<'c>,
    /// Number of its database.
    pub database: usize,
    /// Reason for the removal; `None` if the key is created, or stays with another value or
    /// deadline.
    pub removal: Option<Reason>,
    /// Value before the change; `None` for a new key.
    pub old: Option<Value<'c>>,
    /// Client whose command is at work. It may not have asked for the change: a key may have
    /// expired, or may be evicted to make room.
    pub author: Author,
}

impl Change<'_> {
    /// Returns true if a command asked for it.
    pub fn is_asked_for(&self) -> bool {
        !matches!(self.removal, Some(Reason::Expired | Reason::Evicted))
    }
}

/// Change of databases as a whole that is about to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Databases {
    /// Those with these numbers are emptied.
    Emptied(Range<usize>),
    /// The keys of two of them are exchanged.
    Exchanged(usize, usize),
    /// All, so many, get the keys of others, which follow them under higher numbers for as long as
    /// this is told.
    Replaced(usize),
}

impl Databases {
    /// Returns `None` if a database stays as it is; otherwise the database whose keys it gets, if
    /// there is one.
    pub fn source_of(&self, database: usize) -> Option<Option<usize>> {
        match self {
            Databases::Emptied(emptied) => emptied.contains(&database).then_some(None),
            Databases::Exchanged(one, other) if database == *one => Some(Some(*other)),
            Databases::Exchanged(one, other) if database == *other => Some(Some(*one)),
            Databases::Exchanged(..) => None,
            Databases::Replaced(count) => Some(Some(database + count)),
        }
    }
}

/// Whether a database has a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It has none.
    Absent,
    /// It has one whose deadline has passed.
    Expired,
    /// It has one.
    Present,
}

/// The class of an event, by which keyspace notifications are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the classes of keyspace notifications")]
pub enum EventClass {
    Generic,
    String,
    List,
    Set,
    SortedSet,
    Hash,
    Stream,
    Expired,
    Evicted,
    New,
    Miss,
}

/// Event of a key, as keyspace notifications name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Class by which it is selected.
    pub class: EventClass,
    /// Name of the event.
    pub name: &'static str,
}

impl Event {
    /// A key is created.
    pub const NEW: Event = Event::new(EventClass::New, "new");
    /// A key is removed, by a command or because its value has become empty.
    pub const DEL: Event = Event::new(EventClass::Generic, "del");
    /// A key is removed because its deadline has passed.
    pub const EXPIRED: Event = Event::new(EventClass::Expired, "expired");
    /// Fields of a hash are removed because their deadlines have passed, upon no command.
    pub const FIELDS_EXPIRED: Event = Event::new(EventClass::Expired, "hexpired");
    /// A key is removed because its memory was needed.
    pub const EVICTED: Event = Event::new(EventClass::Evicted, "evicted");

    /// A key that does not exist is read.
    pub const MISS: Event = Event::new(EventClass::Miss, "keymiss");

    const fn new(class: EventClass, name: &'static str) -> Event {
        Event { class, name }
    }

    /// Event of any kind of key.
    pub const fn generic(name: &'static str) -> Event {
        Event::new(EventClass::Generic, name)
    }

    /// Event of strings.
    pub const fn string(name: &'static str) -> Event {
        Event::new(EventClass::String, name)
    }

    /// Event of lists.
    pub const fn list(name: &'static str) -> Event {
        Event::new(EventClass::List, name)
    }

    /// Event of sets.
    pub const fn set(name: &'static str) -> Event {
        Event::new(EventClass::Set, name)
    }

    /// Event of sorted sets.
    pub const fn sorted_set(name: &'static str) -> Event {
        Event::new(EventClass::SortedSet, name)
    }

    /// Event of hashes.
    pub const fn hash(name: &'static str) -> Event {
        Event::new(EventClass::Hash, name)
    }

    /// Event of streams.
    pub const fn stream(name: &'static str) -> Event {
        Event::new(EventClass::Stream, name)
    }
}

/// A command and its arguments.
pub type OwnedArgs = Vec<Vec<u8>>;

/// An event with its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyEvent {
    /// The event.
    pub event: Event,
    /// Number of the key's database.
    pub database: usize,
    /// The key.
    pub key: Vec<u8>,
}

/// A plain command with the effect of a change, and the database in which it is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// Number of the database.
    pub database: usize,
    /// The command.
    pub words: EffectWords,
}

/// Words of an effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EffectWords {
    /// A request, which stands in this part of the unit's `requests`.
    Request(Range<usize>),
    /// Name of the command and its arguments.
    Args(OwnedArgs),
    /// The same of a command that writes a string, and what is noted of that string besides its
    /// value.
    Noted(AttributeNote, OwnedArgs),
}

/// All that was changed under one hold of locks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unit {
    /// Commands with the same effect, in order.
    pub effects: Vec<Effect>,
    /// Events, in order.
    pub events: Vec<KeyEvent>,
    /// Requests of clients that are effects, in RESP, one after the other.
    pub requests: Vec<u8>,
}

/// Capacity of `requests` that is kept from one unit to the next.
const REQUESTS_KEPT: usize = 64 << 10;

impl Unit {
    /// Returns true if nothing was changed.
    pub fn is_empty(&self) -> bool {
        self.effects.is_empty() && self.events.is_empty()
    }

    /// The name and the arguments of an effect of this unit, without what is noted.
    pub fn args(&self, effect: &Effect) -> OwnedArgs {
        match &effect.words {
            EffectWords::Request(at) => split_request(&self.requests[at.clone()]),
            EffectWords::Args(args) | EffectWords::Noted(_, args) => args.clone(),
        }
    }

    /// The effects as databases and arguments, in order.
    pub fn commands(&self) -> impl Iterator<Item = (usize, OwnedArgs)> {
        self.effects.iter().map(|effect| (effect.database, self.args(effect)))
    }

    pub(super) fn clear(&mut self) {
        self.effects.clear();
        self.events.clear();
        self.clear_requests();
    }

    #[inline]
    pub(super) fn clear_requests(&mut self) {
        self.requests.clear();
        if self.requests.capacity() > REQUESTS_KEPT {
            self.requests = Vec::new();
        }
    }
}

/// Splits a request that was written in RESP, with plain lengths.
pub(super) fn split_request(request: &[u8]) -> OwnedArgs {
    let (mut args, mut rest) = (Vec::new(), request);
    while let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") {
        let (header, behind) = (&rest[..end], &rest[end + 2..]);
        rest = behind;
        if let Some(len) = header.strip_prefix(b"$").and_then(text::parse_u64) {
            let len = narrow::to_usize(len);
            args.push(rest[..len].to_vec());
            rest = &rest[len + 2..];
        }
    }
    args
}

/// Receiver of changes of user data. It runs under the locks of shards, so it only takes notes: it
/// waits for nobody, and wakes nobody.
pub trait Listener: fmt::Debug + Send + Sync {
    /// Called before a change of a key, while somebody listens to [`Interests::KEYS`], or to
    /// [`Interests::MARKED_KEYS`] if the key may be marked; the lock of its shard is held.
    fn before(&self, _change: &Change<'_>) {}

    /// Called before databases are emptied or exchanged, while somebody listens to keys; no other
    /// thread is inside the gate. `has` tells whether a database has a key.
    fn before_databases(
        &self,
        _change: &Databases,
        _author: Author,
        _has: &mut dyn FnMut(usize, &[u8], PositionHash) -> Presence,
    ) {
    }

    /// Called when a unit is complete, while somebody listens to its effects or its events; its
    /// locks are still held.
    fn unit(&self, _unit: &Unit, _author: Author) {}
}

bitflags! {
    /// What listeners are notified of.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Interests: u32 {
        /// Which keys are about to change.
        const KEYS = 1 << 1;
        /// What happened to keys, by the names of keyspace notifications.
        const EVENTS = 1 << 2;
        /// Plain commands with the same effect.
        const EFFECTS = 1 << 3;
        /// Which of the marked keys are about to change; of others, too, some.
        const MARKED_KEYS = 1 << 4;
    }
}

/// Writer of the units of one thread to a journal.
pub trait UnitLog: fmt::Debug + Send {
    /// Gives a unit its place in the journal, and returns the position behind it. Called when the
    /// unit is complete and has effects; its locks are still held, so nobody may be waited for.
    fn put(&mut self, unit: &Unit) -> u64;

    /// Does the same for a unit that is one request in RESP, run in a database, as most are.
    fn put_request(&mut self, database: usize, request: &[u8]) -> u64 {
        let words = EffectWords::Request(0..request.len());
        let effects = vec![Effect { database, words }];
        self.put(&Unit { effects, events: Vec::new(), requests: request.to_vec() })
    }

    /// Puts a request in RESP that changes no data, for those alone that follow the journal. Locks
    /// may be held.
    fn put_aside(&mut self, request: &[u8]) -> u64;
}

/// Bits of what listeners want, so that a check reads a single word.
pub(super) type InterestBits = u32;
/// Bit of the journal, which wants effects alone.
pub(super) const JOURNAL: InterestBits = 1;
/// Bits of listeners.
pub(super) const KEYS: InterestBits = Interests::KEYS.bits();
pub(super) const EVENTS: InterestBits = Interests::EVENTS.bits();
pub(super) const MARKED_KEYS: InterestBits = Interests::MARKED_KEYS.bits();
/// Bits of key listeners, which are notified which keys change: WATCH, client-side caching,
/// MIGRATE.
pub(super) const KEY_LISTENERS: InterestBits = KEYS | MARKED_KEYS;
/// Bits of the listeners that are notified of effects.
pub(super) const EFFECTS: InterestBits = Interests::EFFECTS.bits() | JOURNAL;
/// Bit of a snapshot, to which keys are handed over before they change.
pub(super) const CUT: InterestBits = 1 << 31;

/// Most listeners that a store has.
const LISTENERS_MAX: usize = 8;
/// Places for marks of keys: 1.1 MB, once there are any.
const MARKS: usize = 1 << 20;

/// The listeners.
#[derive(Debug)]
pub(crate) struct Listeners {
    interests: AtomicU32,
    /// Keys that are marked.
    pub marked: Arc<KeyFilter>,
    /// Which removals have UNLINK as their effect.
    pub lazy_removals: LazyRemovals,
    /// Listeners, which stay for good: whether they are notified is a matter of `interests`.
    all: [OnceLock<Arc<dyn Listener>>; LISTENERS_MAX],
}

/// Which removals that no command asked for have UNLINK as their effect, and not DEL. The two do
/// the same here: the word tells the server that executes it whether to free large values at once.
#[derive(Debug)]
pub(crate) struct LazyRemovals {
    expired: AtomicBool,
    evicted: AtomicBool,
}

impl Default for LazyRemovals {
    /// Both, as the settings are by default.
    fn default() -> LazyRemovals {
        LazyRemovals { expired: AtomicBool::new(true), evicted: AtomicBool::new(true) }
    }
}

impl LazyRemovals {
    /// Sets whether keys that have expired, and those that are evicted, are removed by UNLINK.
    pub fn set(&self, expired: bool, evicted: bool) {
        self.expired.store(expired, Relaxed);
        self.evicted.store(evicted, Relaxed);
    }

    /// Returns true if a removal with this event is said by UNLINK.
    pub fn contains(&self, event: Event) -> bool {
        let of_reason = if event == Event::EVICTED { &self.evicted } else { &self.expired };
        of_reason.load(Relaxed)
    }
}

impl Default for Listeners {
    fn default() -> Listeners {
        let (interests, marked) = (AtomicU32::new(0), Arc::new(KeyFilter::new(MARKS)));
        Listeners {
            interests,
            marked,
            lazy_removals: LazyRemovals::default(),
            all: Default::default(),
        }
    }
}

impl Listeners {
    #[inline(always)]
    pub(super) fn interests(&self) -> InterestBits {
        self.interests.load(Relaxed)
    }

    /// Returns true if somebody wants effects.
    pub fn wants_effects(&self) -> bool {
        self.interests() & EFFECTS != 0
    }

    /// Sets whether keys are handed over to a snapshot before they change. To be set while the gate
    /// is closed.
    pub(super) fn set_cut(&self, on: bool) {
        self.set(CUT, on);
    }

    /// Adds a listener.
    ///
    /// # Panics
    /// If there are too many.
    pub fn add(&self, listener: &Arc<dyn Listener>) {
        let is_added = self.all.iter().any(|cell| cell.set(Arc::clone(listener)).is_ok());
        assert!(is_added, "a store has few listeners");
    }

    /// Sets whether listeners are notified. A thread that locks a shard afterwards notifies them.
    pub fn set_interest(&self, interests: Interests, on: bool) {
        self.set(interests.bits(), on);
    }

    /// Returns true if listeners want one of these.
    pub fn wants_any(&self, interests: Interests) -> bool {
        self.interests() & interests.bits() != 0
    }

    /// Sets whether units go to the journal. To be called while the gate is closed.
    pub fn set_journal(&self, on: bool) {
        self.set(JOURNAL, on);
    }

    /// Returns true if units go to the journal.
    pub fn has_journal(&self) -> bool {
        self.interests() & JOURNAL != 0
    }

    /// Calls `notify` for every listener.
    #[cold]
    pub fn notify(&self, mut notify: impl FnMut(&dyn Listener)) {
        self.all.iter().map_while(OnceLock::get).for_each(|listener| notify(&**listener));
    }

    fn set(&self, interests: InterestBits, on: bool) {
        if on {
            self.interests.fetch_or(interests, Relaxed);
        } else {
            self.interests.fetch_and(!interests, Relaxed);
        }
    }
}
