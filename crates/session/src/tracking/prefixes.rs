//! Prefixes of keys whose changes are sent to clients, whether or not they have read them.

use super::tracker::Tracker;
use crate::sparse::smaller_room;
use base::mutex::{RwLock, RwLockReadGuard};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::{atomic::AtomicUsize, atomic::Ordering::Relaxed};

/// Bytes that begin the names of keys; the table and the clients share them.
pub type Prefix = Arc<[u8]>;

/// Prefixes with the clients that are notified of changes.
#[derive(Debug, Default)]
pub(super) struct Prefixes {
    all: RwLock<All>,
    count: AtomicUsize,
}

/// Prefixes by their bytes.
#[derive(Debug, Default)]
pub(super) struct All {
    by_bytes: HashMap<Prefix, Vec<Arc<Tracker>>>,
    /// Lengths of prefixes, with the number of prefixes of each: what a key begins with is looked
    /// up once for each length.
    lengths: BTreeMap<usize, usize>,
}

impl All {
    /// Returns the prefixes that a key begins with.
    pub fn of<'a>(&'a self, key: &'a [u8]) -> impl Iterator<Item = &'a Prefix> {
        let lengths = self.lengths.range(..=key.len()).map(|(len, _)| *len);
        lengths.filter_map(|len| Some(self.by_bytes.get_key_value(&key[..len])?.0))
    }

    /// Returns the clients that are notified of changes of keys with a prefix.
    pub fn trackers_of(&self, prefix: &Prefix) -> &[Arc<Tracker>] {
        self.by_bytes.get(prefix).map_or(&[], Vec::as_slice)
    }
}

impl Prefixes {
    /// Returns the number of prefixes.
    #[inline]
    pub fn count(&self) -> usize {
        self.count.load(Relaxed)
    }

    /// Returns the table, for reading.
    pub fn read(&self) -> RwLockReadGuard<'_, All> {
        self.all.read()
    }

    /// Returns true if a key begins with a prefix.
    pub fn has_any_of(&self, key: &[u8]) -> bool {
        self.count() > 0 && self.read().of(key).next().is_some()
    }

    /// Adds a client to those of a prefix, among which it is not yet. Returns the prefix as the
    /// table has it.
    pub fn add(&self, prefix: &[u8], tracker: &Arc<Tracker>) -> Prefix {
        let mut all = self.all.write();
        let known = all.by_bytes.get_key_value(prefix).map(|(known, _)| Prefix::clone(known));
        let prefix = known.unwrap_or_else(|| {
            *all.lengths.entry(prefix.len()).or_default() += 1;
            prefix.into()
        });
        all.by_bytes.entry(Prefix::clone(&prefix)).or_default().push(Arc::clone(tracker));
        self.count.store(all.by_bytes.len(), Relaxed);
        prefix
    }

    /// Has a client, which is notified of changes behind a prefix, notified as `tracker` says from
    /// now on; there is no moment at which it is not notified.
    pub fn replace(&self, prefix: &Prefix, tracker: &Arc<Tracker>) {
        let mut all = self.all.write();
        let trackers = all.by_bytes.get_mut(prefix).into_iter().flatten();
        trackers
            .filter(|other| other.client.id == tracker.client.id)
            .for_each(|other| other.clone_from(tracker));
    }

    /// Removes a client from those of a prefix.
    pub fn remove(&self, prefix: &Prefix, client: u64) {
        let mut all = self.all.write();
        let Some(trackers) = all.by_bytes.get_mut(prefix) else { return };
        trackers.retain(|tracker| tracker.client.id != client);
        if trackers.is_empty() {
            all.by_bytes.remove(prefix);
            if let Some(room) = smaller_room(all.by_bytes.len(), all.by_bytes.capacity()) {
                all.by_bytes.shrink_to(room);
            }
            let count = all.lengths.entry(prefix.len()).or_default();
            *count -= 1;
            if *count == 0 {
                all.lengths.remove(&prefix.len());
            }
        }
        self.count.store(all.by_bytes.len(), Relaxed);
    }
}
