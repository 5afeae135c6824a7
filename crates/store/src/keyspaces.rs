//! The table of keyspaces: which one each database points to, and which wait for lazy free.

use base::KeyspaceId;
use base::mutex::{Mutex, MutexGuard};
use index::Position;
use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering::Relaxed};

/// Entry of `database_of` for a keyspace that no database points to.
const NO_DATABASE: u16 = u16::MAX;
/// Entry of `database_of` for one that a snapshot still reads, or that is set aside, or of staging.
const KEPT: u16 = u16::MAX - 1;

/// Table of keyspaces; see the module page.
#[derive(Debug)]
pub(crate) struct Keyspaces {
    databases: Box<[AtomicU16]>,
    /// The database of each keyspace, or `NO_DATABASE`; changes while the gate is closed, as
    /// `databases` does.
    database_of: Box<[AtomicU16]>,
    /// Databases that ever held a key; the others need not be looked at.
    used: Box<[AtomicBool]>,
    ids: Mutex<Ids>,
    /// The keyspace of values that are received before a key gets them.
    staging: KeyspaceId,
}

/// What became of the old keyspace of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Renewed {
    /// It was handed to lazy free.
    Dying,
    /// A snapshot reads it; lazy free gets it later.
    Kept,
}

#[derive(Debug)]
struct Ids {
    free: BTreeSet<u16>,
    /// Keyspaces that were flushed, but that records still name.
    dying: VecDeque<DyingKeyspace>,
    /// Keyspaces that a snapshot reads.
    read: BTreeSet<u16>,
    /// Those of them that were flushed.
    kept: Vec<KeyspaceId>,
}

/// A keyspace that no client can reach any more, and how far lazy free has come in it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DyingKeyspace {
    pub id: KeyspaceId,
    /// Position before which no entry is left. It holds while others take entries out, since
    /// nothing is put into a flushed keyspace, and no entry ever changes its position.
    pub next: Position,
}

impl DyingKeyspace {
    fn new(id: KeyspaceId) -> DyingKeyspace {
        DyingKeyspace { id, next: Position::START }
    }
}

impl Keyspaces {
    pub fn new(databases: usize, ids: usize) -> Keyspaces {
        let databases = databases.clamp(1, ids / 2);
        let taken = (0..databases).map(|number| AtomicU16::new(narrow::to_u16(number))).collect();
        let staging = ids - 1;
        let database_of = |id| match id {
            _ if id < databases => narrow::to_u16(id),
            _ if id == staging => KEPT,
            _ => NO_DATABASE,
        };
        let database_of = (0..ids).map(|id| AtomicU16::new(database_of(id))).collect();
        let used = (0..databases).map(|_| AtomicBool::new(false)).collect();
        let free = (databases..staging).map(narrow::to_u16).collect();
        let (dying, read, kept) = (VecDeque::new(), BTreeSet::new(), Vec::new());
        let ids = Mutex::new(Ids { free, dying, read, kept });
        let staging = KeyspaceId(narrow::to_u16(staging));
        Keyspaces { databases: taken, database_of, used, ids, staging }
    }

    fn ids(&self) -> MutexGuard<'_, Ids> {
        self.ids.lock()
    }

    /// Points a database to a keyspace. To be called while the gate is closed.
    fn point(&self, database: usize, keyspace: u16) {
        self.databases[database].store(keyspace, Relaxed);
        self.database_of[usize::from(keyspace)].store(narrow::to_u16(database), Relaxed);
    }

    /// Number of databases.
    pub fn databases(&self) -> usize {
        self.databases.len()
    }

    /// The keyspace of a database; `None` if there is no such database.
    #[inline]
    pub fn of(&self, database: usize) -> Option<KeyspaceId> {
        self.databases.get(database).map(|id| KeyspaceId(id.load(Relaxed)))
    }

    /// The keyspace of values that are received before a key gets them. No database points to it.
    pub fn staging(&self) -> KeyspaceId {
        self.staging
    }

    /// Databases that ever held a key.
    pub fn used(&self) -> impl Iterator<Item = usize> {
        let used = self.used.iter().enumerate();
        used.filter(|(_, used)| used.load(Relaxed)).map(|(database, _)| database)
    }

    /// Exchanges the keyspaces of two databases. To be called while the gate is closed.
    pub fn swap(&self, one: usize, other: usize) {
        let ids = [one, other].map(|it| self.databases[it].load(Relaxed));
        self.point(one, ids[1]);
        self.point(other, ids[0]);
        let is_used = self.used[one].load(Relaxed);
        self.used[one].store(self.used[other].swap(is_used, Relaxed), Relaxed);
    }

    /// Number of free keyspaces.
    pub fn free_ids(&self) -> usize {
        self.ids().free.len()
    }

    /// Gives a database a fresh keyspace and hands its old one to lazy free, unless a snapshot
    /// reads it; `None` if no id is free. To be called while the gate is closed.
    pub fn renew(&self, database: usize) -> Option<Renewed> {
        let mut ids = self.ids();
        let fresh = ids.free.pop_first()?;
        let renewed = self.retire(&mut ids, self.databases[database].load(Relaxed));
        self.point(database, fresh);
        Some(renewed)
    }

    fn retire(&self, ids: &mut Ids, old: u16) -> Renewed {
        let is_read = ids.read.contains(&old);
        if is_read {
            ids.kept.push(KeyspaceId(old));
        } else {
            ids.dying.push_back(DyingKeyspace::new(KeyspaceId(old)));
        }
        let mark = if is_read { KEPT } else { NO_DATABASE };
        self.database_of[usize::from(old)].store(mark, Relaxed);
        if is_read { Renewed::Kept } else { Renewed::Dying }
    }

    /// Gives a database a fresh keyspace, and returns its old one, which no client reaches then;
    /// `None` if no id is free. To be called while the gate is closed.
    pub fn set_aside(&self, database: usize) -> Option<KeyspaceId> {
        let fresh = self.ids().free.pop_first()?;
        let old = self.databases[database].load(Relaxed);
        self.database_of[usize::from(old)].store(KEPT, Relaxed);
        self.point(database, fresh);
        Some(KeyspaceId(old))
    }

    /// Takes a fresh keyspace, which no client reaches; `None` if no id is free.
    pub fn take_fresh(&self) -> Option<KeyspaceId> {
        let fresh = self.ids().free.pop_first()?;
        self.database_of[usize::from(fresh)].store(KEPT, Relaxed);
        Some(KeyspaceId(fresh))
    }

    /// Points a database to a keyspace that was set aside, and hands its present one to lazy free,
    /// unless a snapshot reads it. To be called while the gate is closed.
    pub fn take_back(&self, database: usize, keyspace: KeyspaceId) -> Renewed {
        let renewed = self.retire(&mut self.ids(), self.databases[database].load(Relaxed));
        self.point(database, keyspace.0);
        self.used[database].store(true, Relaxed);
        renewed
    }

    /// Hands a keyspace that was set aside to lazy free, unless a snapshot reads it. To be called
    /// while the gate is closed.
    pub fn drop_aside(&self, keyspace: KeyspaceId) -> Renewed {
        self.retire(&mut self.ids(), keyspace.0)
    }

    /// Keeps keyspaces from lazy free, for a snapshot. To be called while the gate is closed.
    pub fn keep(&self, keyspaces: &[KeyspaceId]) {
        self.ids().read = keyspaces.iter().map(|keyspace| keyspace.0).collect();
    }

    /// Returns true if a keyspace that was flushed is kept.
    pub fn has_kept(&self) -> bool {
        !self.ids().kept.is_empty()
    }

    /// Ends the keeping of keyspaces; false if some of them were flushed meanwhile, which
    /// [`Keyspaces::let_go`] hands to lazy free.
    pub fn stop_keeping(&self) -> bool {
        let mut ids = self.ids();
        ids.read.clear();
        ids.kept.is_empty()
    }

    /// Hands the keyspaces that were kept and flushed to lazy free, and returns them. To be called
    /// while the gate is closed.
    pub fn let_go(&self) -> Vec<KeyspaceId> {
        let mut ids = self.ids();
        ids.read.clear();
        let kept = std::mem::take(&mut ids.kept);
        for keyspace in &kept {
            self.database_of[keyspace.index()].store(NO_DATABASE, Relaxed);
            ids.dying.push_back(DyingKeyspace::new(*keyspace));
        }
        kept
    }

    /// The database that points to a keyspace; `None` if it was flushed.
    pub fn database_of(&self, keyspace: KeyspaceId) -> Option<usize> {
        let database = self.database_of[usize::from(keyspace.0)].load(Relaxed);
        (database < KEPT).then_some(usize::from(database))
    }

    /// Returns true if nobody can reach the keys of a keyspace any more.
    pub fn is_dying(&self, keyspace: KeyspaceId) -> bool {
        self.database_of[usize::from(keyspace.0)].load(Relaxed) == NO_DATABASE
    }

    /// Notes that a keyspace gets its first key in some shard.
    #[cold]
    pub fn note_used(&self, keyspace: KeyspaceId) {
        if let Some(database) = self.database_of(keyspace) {
            self.used[database].store(true, Relaxed);
        }
    }

    /// Takes the keyspace that has waited longest for lazy free. The caller gives it to `put_back`
    /// or `free`, so no other thread works on an id that is used again.
    pub fn take_dying(&self) -> Option<DyingKeyspace> {
        self.ids().dying.pop_front()
    }

    /// Keyspaces that wait for lazy free.
    pub fn dying(&self) -> Vec<KeyspaceId> {
        self.ids().dying.iter().map(|dying| dying.id).collect()
    }

    /// Puts back a keyspace that lazy free has not finished.
    pub fn put_back(&self, dying: DyingKeyspace) {
        self.ids().dying.push_front(dying);
    }

    /// Frees the id of a keyspace. To be called when no index and no live record names it any more.
    pub fn free(&self, keyspace: KeyspaceId) {
        self.ids().free.insert(keyspace.0);
    }
}
