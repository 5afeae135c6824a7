//! Patterns and their subscribers.

use super::topic::Name;
use crate::client::Client;
use crate::receivers::Receivers;
use crate::sparse::smaller_room;
use base::mutex::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use wire::Protocol;

type Table = HashMap<Name, Receivers>;

/// All patterns. Publishers share the lock while they match them.
#[derive(Debug, Default)]
pub(super) struct Patterns {
    table: RwLock<Table>,
    /// Number of patterns. While it is zero, who publishes does not touch the lock.
    count: AtomicUsize,
}

/// Patterns that a name matches; nobody can give one up meanwhile.
pub(super) struct Matching<'p> {
    table: RwLockReadGuard<'p, Table>,
    name: &'p [u8],
}

impl Matching<'_> {
    /// Returns the matching patterns and their subscribers.
    pub fn iter(&self) -> impl Iterator<Item = (&Name, &Receivers)> {
        self.table.iter().filter(|(pattern, _)| text::glob_match(pattern, self.name, false))
    }
}

impl Patterns {
    /// Returns the number of patterns.
    pub fn count(&self) -> usize {
        self.count.load(Relaxed)
    }

    /// Returns the patterns that a name matches; `None` if there is no pattern at all.
    pub fn matching<'p>(&'p self, name: &'p [u8]) -> Option<Matching<'p>> {
        if self.count() == 0 {
            return None;
        }
        let table = self.table.read();
        Some(Matching { table, name })
    }

    /// Calls `act` with each pattern and its subscribers.
    pub fn each(&self, mut act: impl FnMut(&[u8], &Receivers)) {
        self.table.read().iter().for_each(|(name, receivers)| act(name, receivers));
    }

    /// Adds a client to the subscribers of a pattern.
    pub fn add(&self, pattern: &[u8], client: &Client, protocol: Protocol) -> Name {
        let mut table = self.write();
        let known = table.get_key_value(pattern).map(|(name, _)| Name::clone(name));
        let name = known.unwrap_or_else(|| pattern.into());
        table.entry(Name::clone(&name)).or_default().add(client, protocol);
        self.count.store(table.len(), Relaxed);
        name
    }

    /// Removes a client from the subscribers of a pattern.
    pub fn remove(&self, pattern: &[u8], client: &Client) {
        let mut table = self.write();
        let Some(receivers) = table.get_mut(pattern) else { return };
        receivers.remove(client);
        if receivers.is_empty() {
            table.remove(pattern);
            self.count.store(table.len(), Relaxed);
            if let Some(room) = smaller_room(table.len(), table.capacity()) {
                table.shrink_to(room);
            }
        }
    }

    fn write(&self) -> RwLockWriteGuard<'_, Table> {
        self.table.write()
    }
}
