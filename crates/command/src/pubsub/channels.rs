//! Channels and those who have subscribed to them by name.

use super::Name;
use super::receivers::Receivers;
use crate::clients::Client;
use base::PositionHash;
use base::units::SHARDS;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use wire::Protocol;

/// All channels, in parts by the hash of their names, each behind a lock of its own.
#[derive(Debug)]
pub(super) struct Channels {
    parts: Box<[Mutex<HashTable<Channel>>]>,
    count: AtomicUsize,
}

/// A channel that somebody has subscribed to.
#[derive(Debug)]
struct Channel {
    name: Name,
    hash: PositionHash,
    receivers: Receivers,
}

impl Channel {
    fn is(&self, name: &[u8], hash: PositionHash) -> bool {
        self.hash == hash && *self.name == *name
    }
}

/// The locked part in which the channels of one hash are.
#[derive(Debug)]
pub(super) struct Locked<'c> {
    part: MutexGuard<'c, HashTable<Channel>>,
    hash: PositionHash,
}

impl Locked<'_> {
    /// Returns those who have subscribed to a channel of the hash.
    pub fn find(&self, name: &[u8]) -> Option<&Receivers> {
        let channel = self.part.find(self.hash.0, |channel| channel.is(name, self.hash))?;
        Some(&channel.receivers)
    }
}

impl Default for Channels {
    fn default() -> Channels {
        let parts = (0..SHARDS).map(|_| Mutex::default()).collect();
        Channels { parts, count: AtomicUsize::new(0) }
    }
}

impl Channels {
    /// Returns the number of channels.
    pub fn count(&self) -> usize {
        self.count.load(Relaxed)
    }

    /// Locks the part for a hash.
    pub fn lock(&self, hash: PositionHash) -> Locked<'_> {
        Locked { part: lock(&self.parts[hash.shard().index()]), hash }
    }

    /// Returns the names that match a pattern; without one, all.
    pub fn names(&self, pattern: Option<&[u8]>) -> Vec<Name> {
        let mut names = Vec::new();
        for part in &self.parts {
            let part = lock(part);
            let fits = |name: &[u8]| pattern.is_none_or(|it| text::glob_match(it, name, false));
            names.extend(part.iter().map(|it| &it.name).filter(|name| fits(name)).cloned());
        }
        names
    }

    /// Adds a client to those who have subscribed to a channel.
    pub fn add(
        &self,
        (name, hash): (&[u8], PositionHash),
        client: &Client,
        protocol: Protocol,
    ) -> Name {
        let mut part = self.lock(hash).part;
        let entry = part.entry(hash.0, |it| it.is(name, hash), |it| it.hash.0);
        let mut entry = entry.or_insert_with(|| {
            self.count.fetch_add(1, Relaxed);
            Channel { name: name.into(), hash, receivers: Receivers::default() }
        });
        let channel = entry.get_mut();
        channel.receivers.add(client, protocol);
        Name::clone(&channel.name)
    }

    /// Removes a client from those who have subscribed to a channel.
    pub fn remove(&self, (name, hash): (&[u8], PositionHash), client: &Client) {
        let mut part = self.lock(hash).part;
        let entry = part.entry(hash.0, |it| it.is(name, hash), |it| it.hash.0);
        let Entry::Occupied(mut entry) = entry else { return };
        entry.get_mut().receivers.remove(client);
        if entry.get().receivers.is_empty() {
            entry.remove();
            self.count.fetch_sub(1, Relaxed);
        }
    }
}

fn lock(part: &Mutex<HashTable<Channel>>) -> MutexGuard<'_, HashTable<Channel>> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}
