//! Keyspaces beside those of the databases: they are filled while clients use the others, and take
//! their place in one step.

use crate::databases::NO_TIME;
use crate::keyspaces::Renewed;
use crate::shard::{Databases, ThreadContext};
use crate::store::Store;
use base::KeyspaceId;
use base::mutex::Mutex;
use std::collections::BTreeMap;

/// Keyspaces that no client reaches, by the databases that are to get them.
#[derive(Debug, Default)]
#[must_use = "what is beside takes its place or is dropped"]
pub struct Beside(Mutex<BTreeMap<usize, KeyspaceId>>);

impl Store {
    /// The keyspace that a database is to get; `None` if there is no such database, or no keyspace
    /// is free.
    pub fn keyspace_beside(&self, beside: &Beside, database: usize) -> Option<KeyspaceId> {
        let mut all = beside.0.lock();
        if let Some(keyspace) = all.get(&database) {
            return Some(*keyspace);
        }
        let is_there = database < self.databases();
        let fresh = is_there.then(|| self.shards.keyspaces.take_fresh()).flatten()?;
        all.insert(database, fresh);
        Some(fresh)
    }

    /// Number of keys in all that is beside.
    pub fn keys_beside(&self, beside: &Beside) -> u64 {
        let all = beside.0.lock();
        let counts = all.values().flat_map(|keyspace| self.shards.counts_of(*keyspace));
        counts.map(|index| index.len()).sum()
    }

    /// Gives all databases what is beside them, or nothing, and does `act` while the gate is still
    /// closed. What they had goes to lazy free. The thread is inside.
    pub fn take_place(
        &self,
        thread: &mut ThreadContext,
        Beside(beside): Beside,
        act: impl FnOnce(),
    ) {
        let beside = beside.into_inner();
        let mut act = Some(act);
        let is_emptied =
            |database: &usize| !beside.contains_key(database) && self.len(*database) > 0;
        while act.is_some() {
            self.make_ids(thread, (0..self.databases()).filter(is_emptied).count());
            self.closed(thread, |thread| {
                // A flush may have been faster to take the ids.
                let wanted = (0..self.databases()).filter(is_emptied).count();
                if self.shards.keyspaces.free_ids() < wanted {
                    return;
                }
                self.replace_all(thread, &beside);
                if let Some(act) = act.take() {
                    act();
                }
            });
        }
    }

    /// To be called while the gate is closed.
    fn replace_all(&self, thread: &mut ThreadContext, beside: &BTreeMap<usize, KeyspaceId>) {
        let count = self.databases();
        let keyspace_of = |database: usize| match database.checked_sub(count) {
            Some(database) => beside.get(&database).copied(),
            None => self.keyspace(database),
        };
        self.announce_of(thread, &Databases::Replaced(count), NO_TIME, keyspace_of);
        for database in 0..count {
            let Some(keyspace) = beside.get(&database) else {
                // There is an id for each that is not empty.
                let _ = self.hand_to_lazy_free(database);
                continue;
            };
            let bytes = self.keyspace_facts(database).bytes;
            match self.shards.keyspaces.take_back(database, *keyspace) {
                Renewed::Dying => self.shards.budget.hand_to_lazy_free(bytes),
                Renewed::Kept => self.shards.count_kept(bytes),
            }
        }
    }

    /// Drops what is beside; lazy free takes it. The thread is inside the gate.
    pub fn drop_beside(&self, thread: &ThreadContext, Beside(beside): Beside) {
        let beside = beside.into_inner();
        self.exclusively(thread, |store| {
            for keyspace in beside.into_values() {
                let bytes = store.shards.counts_of(keyspace).map(|index| index.bytes()).sum();
                if store.shards.keyspaces.drop_aside(keyspace) == Renewed::Dying {
                    store.shards.budget.hand_to_lazy_free(bytes);
                }
            }
        });
    }
}
