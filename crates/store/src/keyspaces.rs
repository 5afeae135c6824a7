//! Which keyspace a database points to, and which keyspaces wait for the reaper.

use crate::lane::Lane;
use crate::store::Store;
use base::{KeyspaceId, ShardId};
use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Entries that a line of an index has room for.
const PLACES_PER_LINE: u64 = 7;

/// In place of the database of a keyspace that none points to.
const NO_DATABASE: u16 = u16::MAX;

/// See the module page.
#[derive(Debug)]
pub(crate) struct Keyspaces {
    databases: Box<[AtomicU16]>,
    /// The database of each keyspace, or `NO_DATABASE`; changes while the gate is closed, as
    /// `databases` does.
    database_of: Box<[AtomicU16]>,
    /// Databases that ever held a key; the others need not be looked at.
    used: Box<[AtomicBool]>,
    ids: Mutex<Ids>,
}

#[derive(Debug)]
struct Ids {
    free: BTreeSet<u16>,
    /// Flushed, but records still name them.
    dying: VecDeque<KeyspaceId>,
}

/// A database's figures, as INFO tells them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyspaceFacts {
    /// Keys.
    pub keys: u64,
    /// Keys with a deadline.
    pub with_deadline: u64,
    /// Keys of values of which parts have deadlines.
    pub with_timed_parts: u64,
    /// Live bytes of its records.
    pub bytes: u64,
}

impl Keyspaces {
    pub fn new(databases: usize, ids: usize) -> Keyspaces {
        let databases = databases.clamp(1, ids / 2);
        let taken = (0..databases).map(|number| AtomicU16::new(number as u16)).collect();
        let database_of = |id| if id < databases { id as u16 } else { NO_DATABASE };
        let database_of = (0..ids).map(|id| AtomicU16::new(database_of(id))).collect();
        let used = (0..databases).map(|_| AtomicBool::new(false)).collect();
        let free = (databases..ids).map(|id| id as u16).collect();
        let ids = Mutex::new(Ids { free, dying: VecDeque::new() });
        Keyspaces { databases: taken, database_of, used, ids }
    }

    fn ids(&self) -> MutexGuard<'_, Ids> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Points a database to a keyspace. For while the gate is closed.
    fn point(&self, database: usize, keyspace: u16) {
        self.databases[database].store(keyspace, Relaxed);
        self.database_of[usize::from(keyspace)].store(database as u16, Relaxed);
    }

    /// The database that points to a keyspace; `None` if it was flushed.
    pub fn database_of(&self, keyspace: KeyspaceId) -> Option<usize> {
        let database = self.database_of[usize::from(keyspace.0)].load(Relaxed);
        (database != NO_DATABASE).then_some(usize::from(database))
    }

    pub fn is_dying(&self, keyspace: KeyspaceId) -> bool {
        self.database_of(keyspace).is_none()
    }

    /// Notes that a keyspace gets its first key in some shard.
    #[cold]
    pub fn note_used(&self, keyspace: KeyspaceId) {
        if let Some(database) = self.database_of(keyspace) {
            self.used[database].store(true, Relaxed);
        }
    }

    /// The keyspace that has waited longest for the reaper, taken from the list: whoever has it
    /// gives it to `put_back` or `free`, so nobody else is at work on an id that is used again.
    pub fn take_dying(&self) -> Option<KeyspaceId> {
        self.ids().dying.pop_front()
    }

    /// Puts back what the reaper is not yet through with.
    pub fn put_back(&self, keyspace: KeyspaceId) {
        self.ids().dying.push_front(keyspace);
    }

    /// For after no index and no live record names `keyspace`.
    pub fn free(&self, keyspace: KeyspaceId) {
        self.ids().free.insert(keyspace.0);
    }
}

impl Store {
    /// Databases that SELECT knows.
    pub fn databases(&self) -> usize {
        self.keyspaces.databases.len()
    }

    /// The keyspace of a database; `None` if there is no such database. Stays the same between
    /// `enter` and `leave`.
    #[inline]
    pub fn keyspace(&self, database: usize) -> Option<KeyspaceId> {
        self.keyspaces.databases.get(database).map(|id| KeyspaceId(id.load(Relaxed)))
    }

    /// A database's figures.
    pub fn keyspace_facts(&self, database: usize) -> KeyspaceFacts {
        let mut facts = KeyspaceFacts::default();
        let Some(keyspace) = self.keyspace(database) else { return facts };
        for index in self.indexes.of_keyspace(keyspace) {
            facts.keys += index.len();
            facts.with_deadline += index.with_deadline();
            facts.with_timed_parts += index.with_timed_parts();
            facts.bytes += index.bytes();
        }
        facts
    }

    /// Databases that ever held a key.
    pub(crate) fn used_databases(&self) -> impl Iterator<Item = usize> {
        let used = self.keyspaces.used.iter().enumerate();
        used.filter(|(_, used)| used.load(Relaxed)).map(|(database, _)| database)
    }

    /// Keys of all databases.
    pub fn keys(&self) -> u64 {
        self.used_databases().map(|database| self.len(database)).sum()
    }

    /// Keys of a database, those past their deadline included.
    pub fn len(&self, database: usize) -> u64 {
        let keyspace = self.keyspace(database);
        keyspace.map_or(0, |it| self.indexes.of_keyspace(it).map(|index| index.len()).sum())
    }

    /// Places for entries in the blocks that hold keys of a database.
    pub fn index_places(&self, database: usize) -> u64 {
        let Some(keyspace) = self.keyspace(database) else { return 0 };
        let places = |shard| {
            let index = self.indexes.get(keyspace, shard);
            let _held = self.hold_one(shard);
            if index.is_empty() { 0 } else { index.lines(&self.blocks) * PLACES_PER_LINE }
        };
        ShardId::all().map(places).sum()
    }

    /// Runs `act` while no other lane is inside the gate. The lane may be, and is so afterwards; no
    /// lock of a shard is held. Whoever else acts on everything may go first.
    pub fn exclusively<T>(&self, lane: &Lane, act: impl FnOnce(&Store) -> T) -> T {
        self.gate.close(&lane.gate, || act(self))
    }

    /// Exchanges the contents of two databases, which exist.
    pub fn swap_databases(&self, lane: &Lane, one: usize, other: usize) {
        self.exclusively(lane, |store| {
            let ids = [one, other].map(|it| store.keyspaces.databases[it].load(Relaxed));
            store.keyspaces.point(one, ids[1]);
            store.keyspaces.point(other, ids[0]);
            let used = &store.keyspaces.used;
            let id = used[one].load(Relaxed);
            used[one].store(used[other].swap(id, Relaxed), Relaxed);
        });
    }

    /// Empties databases: each gets a fresh keyspace at once, and the reaper takes the old one.
    /// Returns the keys that were in them.
    pub fn flush(&self, lane: &mut Lane, databases: impl Iterator<Item = usize> + Clone) -> u64 {
        let mut flushed = 0;
        loop {
            let wanted = databases.clone().filter(|database| self.len(*database) > 0).count();
            while self.keyspaces.ids().free.len() < wanted {
                if !self.reap_some(lane, usize::MAX) {
                    // Another thread is at it.
                    std::thread::yield_now();
                }
            }
            let is_complete = self.exclusively(lane, |store| {
                databases.clone().all(|database| match store.retire(database) {
                    Some(keys) => {
                        flushed += keys;
                        true
                    }
                    None => false,
                })
            });
            // Another flush may have been faster to take the ids.
            if is_complete {
                return flushed;
            }
        }
    }

    /// Gives a database a fresh keyspace, and tells how many keys it had; `None` if no id is free.
    /// For while the gate is closed.
    fn retire(&self, database: usize) -> Option<u64> {
        let Some(keyspace) = self.keyspace(database) else { return Some(0) };
        let facts = self.keyspace_facts(database);
        if facts.keys == 0 {
            return Some(0);
        }
        let mut ids = self.keyspaces.ids();
        let fresh = ids.free.pop_first()?;
        ids.dying.push_back(keyspace);
        self.keyspaces.database_of[usize::from(keyspace.0)].store(NO_DATABASE, Relaxed);
        self.keyspaces.point(database, fresh);
        self.budget.retire(facts.bytes);
        Some(facts.keys)
    }
}
