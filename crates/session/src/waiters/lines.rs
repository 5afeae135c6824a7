//! Waiters of each key, in the order in which they came.

use crate::database_key::DatabaseKey;
use crate::sparse::smaller_room;
use crate::waiter::Waiter;
use base::mutex::{Mutex, MutexGuard};
use base::{KeyFilter, PositionHash};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::collections::VecDeque;
use std::sync::Arc;

/// Number of parts in which lines are kept, each behind a lock of its own.
const PARTS: usize = 64;
/// Places of the filter in front of them.
const FILTER: usize = 1 << 16;

/// Waiters of one key, in the order in which they came. Their tickets rise, since they are drawn
/// under the lock of the key.
#[derive(Debug)]
struct Line {
    key: DatabaseKey,
    waiters: VecDeque<Arc<Waiter>>,
    /// Number of waiters that mind the loss of the key.
    minding: usize,
}

impl Line {
    fn after(&self, ticket: u64) -> impl Iterator<Item = &Arc<Waiter>> {
        let at = self.waiters.partition_point(|waiter| waiter.ticket <= ticket);
        self.waiters.range(at..)
    }
}

type Part = HashTable<Line>;

/// Lines of all keys that have waiters.
#[derive(Debug)]
pub struct Lines {
    parts: Vec<Mutex<Part>>,
    /// Keys that have lines.
    filter: KeyFilter,
}

impl Default for Lines {
    fn default() -> Lines {
        let parts = (0..PARTS).map(|_| Mutex::default()).collect();
        Lines { parts, filter: KeyFilter::new(FILTER) }
    }
}

/// Places that a line has from its first waiter on.
const PLACES_MIN: usize = 4;

/// Bytes that a place in a line takes, the line itself included, with what the table of lines has
/// in reserve. It shares its key with a waiter.
pub const PLACE_BYTES: usize = size_of::<Line>() * 3 / 2 + PLACES_MIN * size_of::<Arc<Waiter>>();

impl Lines {
    /// Locks the part of a key, which bits 50 to 55 of the hash choose; tables use those below and
    /// above.
    fn part(&self, hash: PositionHash) -> MutexGuard<'_, Part> {
        let part = narrow::to_usize(hash.0 >> 50) % PARTS;
        self.parts[part].lock()
    }

    fn all_parts(&self) -> impl Iterator<Item = MutexGuard<'_, Part>> {
        self.parts.iter().map(|part| part.lock())
    }

    /// Number of keys that have waiters.
    pub fn keys(&self) -> usize {
        self.all_parts().map(|part| part.len()).sum()
    }

    /// Returns all keys that have waiters.
    pub fn all(&self) -> Vec<DatabaseKey> {
        let mut keys = Vec::new();
        self.all_parts().for_each(|part| keys.extend(part.iter().map(|line| line.key.clone())));
        keys
    }

    /// Returns the keys with a waiter that minds their loss.
    pub fn minded(&self) -> Vec<DatabaseKey> {
        let mut keys = Vec::new();
        for part in self.all_parts() {
            let minded = part.iter().filter(|line| line.minding > 0);
            keys.extend(minded.map(|line| line.key.clone()));
        }
        keys
    }

    /// Returns true if a client waits for the key.
    #[inline]
    pub fn has(&self, database: usize, bytes: &[u8], hash: PositionHash) -> bool {
        self.filter.may_have(hash) && self.find(database, bytes, hash)
    }

    /// Returns the key as it stands in each database in which clients wait for it.
    pub fn anywhere(&self, bytes: &[u8], hash: PositionHash) -> Vec<DatabaseKey> {
        if !self.filter.may_have(hash) {
            return Vec::new();
        }
        let part = self.part(hash);
        let keys = part.iter_hash(hash.0).map(|line| &line.key);
        keys.filter(|key| key.hash == hash && *key.bytes == *bytes).cloned().collect()
    }

    fn find(&self, database: usize, bytes: &[u8], hash: PositionHash) -> bool {
        let is_its = |line: &Line| {
            (line.key.hash, line.key.database, &line.key.bytes[..]) == (hash, database, bytes)
        };
        self.part(hash).find(hash.0, is_its).is_some()
    }

    /// Returns the first waiter behind a ticket in the line of a key, and true if any waiter in the
    /// line minds the loss of the key.
    pub fn next(&self, key: &DatabaseKey, ticket: u64) -> Option<(Arc<Waiter>, bool)> {
        let part = self.part(key.hash);
        let line = part.find(key.hash.0, |line| line.key == *key)?;
        line.after(ticket).next().map(|waiter| (Arc::clone(waiter), line.minding > 0))
    }

    /// Calls `see` with the first `most` waiters behind a ticket in the line of a key.
    pub fn show(&self, key: &DatabaseKey, ticket: u64, most: usize, see: impl FnMut(&Waiter)) {
        let part = self.part(key.hash);
        if let Some(line) = part.find(key.hash.0, |line| line.key == *key) {
            line.after(ticket).take(most).map(Arc::as_ref).for_each(see);
        }
    }

    /// Appends a waiter to the line of each of its keys, whose locks are held. A key that is named
    /// twice has one line.
    pub fn add(&self, waiter: &Arc<Waiter>) {
        for key in &waiter.keys {
            let mut part = self.part(key.hash);
            let line = part.entry(key.hash.0, |line| line.key == *key, |line| line.key.hash.0);
            let line = line.or_insert_with(|| {
                self.filter.add(key.hash);
                Line { key: key.clone(), waiters: VecDeque::new(), minding: 0 }
            });
            let line = line.into_mut();
            if !line.waiters.back().is_some_and(|last| Arc::ptr_eq(last, waiter)) {
                line.waiters.push_back(Arc::clone(waiter));
                line.minding += usize::from(waiter.wants.minds_loss);
            }
        }
    }

    /// Removes a waiter from all lines.
    pub fn remove(&self, waiter: &Arc<Waiter>) {
        for key in &waiter.keys {
            let mut part = self.part(key.hash);
            let entry = part.entry(key.hash.0, |line| line.key == *key, |line| line.key.hash.0);
            let Entry::Occupied(mut entry) = entry else { continue };
            let line = entry.get_mut();
            let at = line.waiters.binary_search_by_key(&waiter.ticket, |other| other.ticket);
            if at.is_ok_and(|at| line.waiters.remove(at).is_some()) {
                line.minding -= usize::from(waiter.wants.minds_loss);
            }
            if line.waiters.is_empty() {
                entry.remove();
                self.filter.remove(key.hash);
                if let Some(room) = smaller_room(part.len(), part.capacity()) {
                    part.shrink_to(room, |line| line.key.hash.0);
                }
            }
        }
    }
}
