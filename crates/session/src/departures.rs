//! Keys on their way to other servers, and which of them have changed meanwhile.
//!
//! ```text
//! MIGRATE        under the lock of the key: its value is copied, a departure noted
//! a change       under the lock of the key: its departures are marked, and forgotten; where whole
//!                databases change, all are
//! it has arrived under the lock of the key: marked? then it is sent again, and else it leaves
//! ```
//! Values cannot tell: a client that sends the key that it was sent has made a change, and leaves
//! the same value.

use crate::sparse::smaller_room;
use base::mutex::{Mutex, MutexGuard};
use base::{KeyFilter, KeyspaceId, PositionHash};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use store::{Author, Change, Databases, Key, Listener, Presence};

/// Keys on their way.
#[derive(Debug)]
pub struct Departures {
    table: Mutex<HashTable<Departing>>,
    /// Keys in the table. A key that a change is looked for was added under the lock that the
    /// change holds, so it is counted.
    count: AtomicUsize,
    /// Keys that are in the table: of others mostly there is nothing to mark.
    marked: Arc<KeyFilter>,
}

/// Entry of a key.
#[derive(Debug)]
struct Departing {
    key: OwnedKey,
    /// Migrations that want to know whether the key changes.
    changed: SmallVec<[Arc<AtomicBool>; 1]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct OwnedKey {
    hash: PositionHash,
    keyspace: KeyspaceId,
    bytes: Arc<[u8]>,
}

/// A key that is on its way, until this is dropped.
#[derive(Debug)]
pub struct Departure {
    departures: Arc<Departures>,
    key: OwnedKey,
    has_changed: Arc<AtomicBool>,
}

impl Departure {
    /// Returns true if the key has changed since; its lock is held.
    pub fn has_changed(&self) -> bool {
        self.has_changed.load(Relaxed)
    }
}

impl Drop for Departure {
    fn drop(&mut self) {
        self.departures.forget(&self.key, &self.has_changed);
    }
}

impl Departures {
    /// Returns no departures; keys that have some are marked.
    pub fn marking(marked: Arc<KeyFilter>) -> Departures {
        Departures { table: Mutex::default(), count: AtomicUsize::new(0), marked }
    }

    /// Returns true if no key is on its way, or each has changed.
    pub fn is_empty(&self) -> bool {
        self.count.load(Relaxed) == 0
    }

    fn table(&self) -> MutexGuard<'_, HashTable<Departing>> {
        self.table.lock()
    }

    /// Notes that a key, whose lock is held, is on its way.
    pub fn add(self: &Arc<Departures>, key: &Key<'_>) -> Departure {
        let Key { bytes, hash, keyspace } = *key;
        let key = OwnedKey { hash, keyspace, bytes: Arc::from(bytes) };
        let has_changed = Arc::new(AtomicBool::new(false));
        let mut table = self.table();
        match table.entry(hash.0, |it| it.key == key, |it| it.key.hash.0) {
            Entry::Occupied(entry) => entry.into_mut().changed.push(Arc::clone(&has_changed)),
            Entry::Vacant(entry) => {
                self.marked.add(hash);
                let changed = SmallVec::from_iter([Arc::clone(&has_changed)]);
                entry.insert(Departing { key: key.clone(), changed });
            }
        }
        self.count.store(table.len(), Relaxed);
        drop(table);
        Departure { departures: Arc::clone(self), key, has_changed }
    }

    fn forget(&self, key: &OwnedKey, has_changed: &Arc<AtomicBool>) {
        let mut table = self.table();
        let Ok(mut entry) = table.find_entry(key.hash.0, |it| it.key == *key) else { return };
        let changed = &mut entry.get_mut().changed;
        changed.retain(|it| !Arc::ptr_eq(it, has_changed));
        if changed.is_empty() {
            entry.remove();
            self.has_removed(&mut table, key.hash);
        }
    }

    fn mark_changed(&self, key: &Key<'_>) {
        let mut table = self.table();
        let is_its = |it: &Departing| {
            let own = &it.key;
            own.hash == key.hash && own.keyspace == key.keyspace && *own.bytes == *key.bytes
        };
        let Ok(entry) = table.find_entry(key.hash.0, is_its) else { return };
        let (departing, _) = entry.remove();
        departing.changed.iter().for_each(|changed| changed.store(true, Relaxed));
        self.has_removed(&mut table, key.hash);
    }

    fn has_removed(&self, table: &mut HashTable<Departing>, hash: PositionHash) {
        self.marked.remove(hash);
        self.count.store(table.len(), Relaxed);
        if let Some(room) = smaller_room(table.len(), table.capacity()) {
            table.shrink_to(room, |it| it.key.hash.0);
        }
    }
}

impl Listener for Departures {
    fn before(&self, change: &Change<'_>) {
        if !self.is_empty() {
            self.mark_changed(&change.key);
        }
    }

    /// Tells all. Of a key that has not changed the value is sent again, which does no harm.
    fn before_databases(
        &self,
        _: &Databases,
        _: Author,
        _: &mut dyn FnMut(usize, &[u8], PositionHash) -> Presence,
    ) {
        let mut table = self.table();
        for departing in std::mem::take(&mut *table) {
            departing.changed.iter().for_each(|changed| changed.store(true, Relaxed));
            self.marked.remove(departing.key.hash);
        }
        self.count.store(0, Relaxed);
    }
}
