//! Databases set aside while others are loaded in their place: what was there returns when loading
//! fails.

use crate::databases::{Flush, NO_TIME};
use crate::keyspaces::Renewed;
use crate::shard::{Databases, ThreadContext};
use crate::store::Store;
use base::KeyspaceId;

/// Keyspaces that databases had before, which no client reaches meanwhile. They stay in memory
/// until they are taken back or dropped.
#[derive(Debug)]
#[must_use = "what is set aside is taken back or dropped"]
pub struct Aside(Vec<(usize, KeyspaceId)>);

impl Store {
    /// Sets all databases aside; they are empty from then on. Listeners are notified as of a flush.
    pub fn set_aside(&self, thread: &mut ThreadContext) -> Aside {
        let mut aside = Vec::new();
        loop {
            let wanted = self.not_empty().count();
            self.make_ids(thread, wanted);
            let is_complete = self.closed(thread, |thread| {
                self.announce(thread, &Databases::Emptied(0..self.databases()), NO_TIME);
                self.not_empty().all(|database| {
                    let old = self.shards.keyspaces.set_aside(database);
                    aside.extend(old.map(|old| (database, old)));
                    old.is_some()
                })
            });
            // A flush may have been faster to take the ids.
            if is_complete {
                return Aside(aside);
            }
        }
    }

    /// Gives databases what was set aside, in place of what is there.
    pub fn take_back(&self, thread: &mut ThreadContext, Aside(aside): Aside) {
        self.flush(thread, Flush::All);
        self.exclusively(thread, |store| {
            for (database, keyspace) in aside {
                // Nothing is in the present one.
                store.shards.keyspaces.take_back(database, keyspace);
            }
        });
    }

    /// Drops what was set aside; lazy free takes it.
    pub fn drop_aside(&self, thread: &ThreadContext, Aside(aside): Aside) {
        self.exclusively(thread, |store| {
            for (_, keyspace) in aside {
                let bytes = store.shards.counts_of(keyspace).map(|index| index.bytes()).sum();
                if store.shards.keyspaces.drop_aside(keyspace) == Renewed::Dying {
                    store.shards.budget.hand_to_lazy_free(bytes);
                }
            }
        });
    }

    fn not_empty(&self) -> impl Iterator<Item = usize> {
        (0..self.databases()).filter(|database| self.len(*database) > 0)
    }
}
