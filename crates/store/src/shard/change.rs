//! What changes, what it means to others, and who of them listens.
//!
//! ```text
//! guard   before_change ─▶ change ─▶ ... ─▶ event and effect, said by the command ─▶ locks go
//!              │                                                                       │
//! listener   before(change)                                                        unit(unit)
//! ```
//! *That* something changes is known by the guard, which tells it before the first byte does, while
//! the old value can still be read. *What* it was is said by whoever changed it, before the locks
//! are given up: all that is said under one hold of locks is one unit. Removals that no command
//! asked for say it themselves.

use crate::key::{Key, Value};
use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};

/// Why a key goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A command removed it, or its last element.
    Deleted,
    /// Its deadline has passed.
    Expired,
    /// Its room was needed.
    Evicted,
    /// Its value has another name.
    Moved,
    /// Its database was emptied before.
    Flushed,
}

/// A change of one key that is about to be made. Place and access history of a key are no user
/// data, so they change without it.
#[derive(Clone, Copy, Debug)]
pub struct Change<'c> {
    /// The key; its hash tells the shard.
    pub key: Key<'c>,
    /// The number of its database.
    pub database: usize,
    /// Why the key goes; `None` if it comes, or stays with another value or deadline.
    pub removal: Option<Reason>,
    /// What it holds until now.
    pub old: Option<Value<'c>>,
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
}

/// What happened to a key, as keyspace notifications name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// By which it is chosen.
    pub class: EventClass,
    /// Its name.
    pub name: &'static str,
}

impl Event {
    /// A key comes to be.
    pub const NEW: Event = Event::new(EventClass::New, "new");
    /// A key is removed, by a command or because its value has become empty.
    pub const DEL: Event = Event::new(EventClass::Generic, "del");
    /// A key is removed because its deadline has passed.
    pub const EXPIRED: Event = Event::new(EventClass::Expired, "expired");
    /// A key is removed because its room was needed.
    pub const EVICTED: Event = Event::new(EventClass::Evicted, "evicted");

    const fn new(class: EventClass, name: &'static str) -> Event {
        Event { class, name }
    }

    /// One of any kind of key.
    pub const fn generic(name: &'static str) -> Event {
        Event::new(EventClass::Generic, name)
    }

    /// One of strings.
    pub const fn string(name: &'static str) -> Event {
        Event::new(EventClass::String, name)
    }

    /// One of lists.
    pub const fn list(name: &'static str) -> Event {
        Event::new(EventClass::List, name)
    }

    /// One of sets.
    pub const fn set(name: &'static str) -> Event {
        Event::new(EventClass::Set, name)
    }

    /// One of sorted sets.
    pub const fn sorted_set(name: &'static str) -> Event {
        Event::new(EventClass::SortedSet, name)
    }

    /// One of hashes.
    pub const fn hash(name: &'static str) -> Event {
        Event::new(EventClass::Hash, name)
    }

    /// One of streams.
    pub const fn stream(name: &'static str) -> Event {
        Event::new(EventClass::Stream, name)
    }
}

/// A command and its arguments.
pub type OwnedArgs = Vec<Vec<u8>>;

/// An event and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happened {
    /// What happened.
    pub event: Event,
    /// The number of the key's database.
    pub database: usize,
    /// The key.
    pub key: Vec<u8>,
}

/// A plain command that has the same effect: its arguments, and the database in which it is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The number of the database.
    pub database: usize,
    /// The command's name and its arguments.
    pub args: OwnedArgs,
}

/// All that was changed under one hold of locks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unit {
    /// Commands that have the same effect, in their order.
    pub effects: Vec<Effect>,
    /// What happened, in its order.
    pub events: Vec<Happened>,
}

/// Hears of every change of user data.
pub trait Listener: fmt::Debug + Send + Sync {
    /// A change is about to be made; the locks of its key's shard are held.
    fn before(&self, change: &Change<'_>);

    /// A unit was completed; its locks are still held.
    fn unit(&self, unit: &Unit);
}

/// One bit for each who listens, for looks that cost no more than a word.
pub(super) type Heard = u32;

/// Who listens.
#[derive(Debug, Default)]
pub(crate) struct Listeners {
    heard: AtomicU32,
    all: RwLock<Vec<Arc<dyn Listener>>>,
}

impl Listeners {
    #[inline(always)]
    pub(super) fn heard(&self) -> Heard {
        self.heard.load(Relaxed)
    }

    /// Whether anybody listens.
    pub fn is_any(&self) -> bool {
        self.heard() != 0
    }

    /// Tells one more of all changes from now on. For while the gate is closed, so that nobody is
    /// in the middle of one.
    pub fn add(&self, listener: Arc<dyn Listener>) {
        let mut all = self.all.write().unwrap_or_else(PoisonError::into_inner);
        all.push(listener);
        self.heard.store((1_u32 << all.len().min(31)) - 1, Relaxed);
    }

    /// Tells all who listen.
    #[cold]
    pub fn tell(&self, tell: impl Fn(&dyn Listener)) {
        let all = self.all.read().unwrap_or_else(PoisonError::into_inner);
        all.iter().for_each(|listener| tell(&**listener));
    }
}
