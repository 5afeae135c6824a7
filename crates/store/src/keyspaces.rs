//! Which keyspace a database points to, and which keyspaces wait for lazy free.

use base::KeyspaceId;
use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

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

impl Keyspaces {
    pub fn new(databases: usize, ids: usize) -> Keyspaces {
        let databases = databases.clamp(1, ids / 2);
        let taken = (0..databases).map(|number| AtomicU16::new(narrow::to_u16(number))).collect();
        let database_of = |id| if id < databases { narrow::to_u16(id) } else { NO_DATABASE };
        let database_of = (0..ids).map(|id| AtomicU16::new(database_of(id))).collect();
        let used = (0..databases).map(|_| AtomicBool::new(false)).collect();
        let free = (databases..ids).map(narrow::to_u16).collect();
        let ids = Mutex::new(Ids { free, dying: VecDeque::new() });
        Keyspaces { databases: taken, database_of, used, ids }
    }

    fn ids(&self) -> MutexGuard<'_, Ids> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Points a database to a keyspace. For while the gate is closed.
    fn point(&self, database: usize, keyspace: u16) {
        self.databases[database].store(keyspace, Relaxed);
        self.database_of[usize::from(keyspace)].store(narrow::to_u16(database), Relaxed);
    }

    /// How many databases there are.
    pub fn databases(&self) -> usize {
        self.databases.len()
    }

    /// The keyspace of a database; `None` if there is no such database.
    #[inline]
    pub fn of(&self, database: usize) -> Option<KeyspaceId> {
        self.databases.get(database).map(|id| KeyspaceId(id.load(Relaxed)))
    }

    /// Databases that ever held a key.
    pub fn used(&self) -> impl Iterator<Item = usize> {
        let used = self.used.iter().enumerate();
        used.filter(|(_, used)| used.load(Relaxed)).map(|(database, _)| database)
    }

    /// Exchanges the keyspaces of two databases. For while the gate is closed.
    pub fn swap(&self, one: usize, other: usize) {
        let ids = [one, other].map(|it| self.databases[it].load(Relaxed));
        self.point(one, ids[1]);
        self.point(other, ids[0]);
        let is_used = self.used[one].load(Relaxed);
        self.used[one].store(self.used[other].swap(is_used, Relaxed), Relaxed);
    }

    /// How many keyspaces are free.
    pub fn free_ids(&self) -> usize {
        self.ids().free.len()
    }

    /// Gives a database a fresh keyspace, and leaves the one that it had to lazy free; false if no
    /// id is free. For while the gate is closed.
    pub fn renew(&self, database: usize) -> bool {
        let mut ids = self.ids();
        let Some(fresh) = ids.free.pop_first() else { return false };
        let old = self.databases[database].load(Relaxed);
        ids.dying.push_back(KeyspaceId(old));
        self.database_of[usize::from(old)].store(NO_DATABASE, Relaxed);
        self.point(database, fresh);
        true
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

    /// The keyspace that has waited longest for lazy free, taken from the list: whoever has it
    /// gives it to `put_back` or `free`, so nobody else is at work on an id that is used again.
    pub fn take_dying(&self) -> Option<KeyspaceId> {
        self.ids().dying.pop_front()
    }

    /// Puts back what lazy free is not yet through with.
    pub fn put_back(&self, keyspace: KeyspaceId) {
        self.ids().dying.push_front(keyspace);
    }

    /// For after no index and no live record names `keyspace`.
    pub fn free(&self, keyspace: KeyspaceId) {
        self.ids().free.insert(keyspace.0);
    }
}
