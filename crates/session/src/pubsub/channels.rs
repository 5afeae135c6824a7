//! Channels, and the clients that have subscribed to them by name.

use super::topic::Name;
use crate::client::Client;
use crate::receivers::Receivers;
use crate::sparse::smaller_room;
use base::mutex::{Mutex, MutexGuard};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use wire::Protocol;

/// Number of parts.
const PARTS: usize = 256;

/// All channels, in parts by the hash of their names, each behind a lock of its own.
#[derive(Debug)]
pub(super) struct Channels {
    parts: Box<[Mutex<Part>]>,
    hasher: RandomState,
    count: AtomicUsize,
}

type Part = HashTable<Channel>;

/// A channel that somebody has subscribed to.
#[derive(Debug)]
struct Channel {
    name: Name,
    hash: u64,
    receivers: Receivers,
}

/// The locked part in which a channel is, if anybody has subscribed to it.
#[derive(Debug)]
pub(super) struct Locked<'c> {
    part: MutexGuard<'c, Part>,
    name: &'c [u8],
    hash: u64,
}

impl Locked<'_> {
    /// Returns the subscribers of the channel.
    pub fn receivers(&self) -> Option<&Receivers> {
        let channel = self.part.find(self.hash, |channel| *channel.name == *self.name)?;
        Some(&channel.receivers)
    }

    fn entry(&mut self) -> Entry<'_, Channel> {
        let name = self.name;
        self.part.entry(self.hash, |channel| *channel.name == *name, |channel| channel.hash)
    }
}

impl Default for Channels {
    fn default() -> Channels {
        let parts = (0..PARTS).map(|_| Mutex::default()).collect();
        Channels { parts, hasher: RandomState::new(), count: AtomicUsize::new(0) }
    }
}

impl Channels {
    /// Returns the number of channels.
    pub fn count(&self) -> usize {
        self.count.load(Relaxed)
    }

    /// Locks the part of a channel.
    pub fn lock<'c>(&'c self, name: &'c [u8]) -> Locked<'c> {
        let hash = self.hasher.hash_one(name);
        // The table looks at other bits of the hash.
        let part = lock(&self.parts[narrow::to_usize(hash >> 32) % PARTS]);
        Locked { part, name, hash }
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

    /// Calls `act` with each channel and its subscribers, a part of them at a time.
    pub fn each(&self, mut act: impl FnMut(&[u8], &Receivers)) {
        for part in &self.parts {
            lock(part).iter().for_each(|channel| act(&channel.name, &channel.receivers));
        }
    }

    /// Adds a client to the subscribers of a channel.
    pub fn add(&self, name: &[u8], client: &Client, protocol: Protocol) -> Name {
        let mut locked = self.lock(name);
        let hash = locked.hash;
        let mut entry = locked.entry().or_insert_with(|| {
            self.count.fetch_add(1, Relaxed);
            Channel { name: name.into(), hash, receivers: Receivers::default() }
        });
        let channel = entry.get_mut();
        channel.receivers.add(client, protocol);
        Name::clone(&channel.name)
    }

    /// Removes a client from the subscribers of a channel.
    pub fn remove(&self, name: &[u8], client: &Client) {
        let mut locked = self.lock(name);
        let Entry::Occupied(mut entry) = locked.entry() else { return };
        entry.get_mut().receivers.remove(client);
        if entry.get().receivers.is_empty() {
            entry.remove();
            self.count.fetch_sub(1, Relaxed);
            let part = &mut locked.part;
            if let Some(room) = smaller_room(part.len(), part.capacity()) {
                part.shrink_to(room, |channel| channel.hash);
            }
        }
    }
}

fn lock(part: &Mutex<Part>) -> MutexGuard<'_, Part> {
    part.lock()
}
