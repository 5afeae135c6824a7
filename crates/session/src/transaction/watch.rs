//! Keys that clients watch.
//!
//! ```text
//! WATCH     under the lock of the key: deadline noted, client into the key's entry
//! a change  under the lock of the key: the clients of its entry are marked, and leave it
//! EXEC      under the locks of its keys: marked, or a deadline has passed?
//! ```
//! Each key belongs to a database by its number: after SWAPDB it is the key of the database that
//! has the number then.

use crate::client::{Client, ClientFlags};
use crate::database_key::DatabaseKey;
use crate::sparse::smaller_room;
use base::mutex::{Mutex, MutexGuard};
use base::units::SHARDS;
use base::{KeyFilter, Millis, PositionHash};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use smallvec::SmallVec;
use std::sync::Arc;
use store::{Author, Change, Databases, Listener, Presence, ShardSet};

/// Keys that one client watches.
#[derive(Debug)]
pub struct Watching {
    keys: HashTable<DatabaseKey>,
    /// Bytes of long keys, which stand outside the table, once for it and the entries.
    outside: usize,
    /// First deadline of those that had one ahead when they came to be watched.
    first_deadline: Millis,
}

impl Default for Watching {
    fn default() -> Watching {
        Watching { keys: HashTable::new(), outside: 0, first_deadline: Millis(u64::MAX) }
    }
}

impl Watching {
    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Adds the shards of all keys.
    pub fn add_shards(&self, shards: &mut ShardSet) {
        self.keys.iter().for_each(|key| shards.add(key.hash));
    }

    /// Returns true if the deadline of a key has passed since it came to be watched, whether or not
    /// the key was removed.
    pub fn has_expired(&self, now: Millis) -> bool {
        self.first_deadline <= now
    }

    /// Returns its bytes of memory, those in the entries of the keys included.
    pub fn bytes(&self) -> usize {
        let key = size_of::<DatabaseKey>();
        let of_entries = self.keys.len() * (size_of::<Watched>() + key);
        self.keys.capacity() * key + of_entries + self.outside
    }
}

/// Entry of a key: who watches it.
#[derive(Debug)]
struct Watched {
    key: DatabaseKey,
    watchers: SmallVec<[Watcher; 1]>,
}

#[derive(Debug)]
struct Watcher {
    client: Arc<Client>,
    /// True if the key was past its deadline already and is not removed yet: its removal is no
    /// change.
    had_expired: bool,
}

impl Watcher {
    fn mark(&self) {
        self.client.set_flag(ClientFlags::CHANGED, true);
    }
}

type Part = HashTable<Watched>;

/// Entries of all watched keys, by shard. A thread that looks for a key holds the lock of its
/// shard, so nobody waits for a part.
#[derive(Debug)]
pub struct Watches {
    parts: Box<[Mutex<Part>]>,
    /// Keys that have entries: of others mostly there is nothing to mark.
    marked: Arc<KeyFilter>,
}

impl Watches {
    /// Returns no entries; keys with entries are marked.
    pub fn marking(marked: Arc<KeyFilter>) -> Watches {
        Watches { parts: (0..SHARDS).map(|_| Mutex::default()).collect(), marked }
    }

    fn part(&self, hash: PositionHash) -> MutexGuard<'_, Part> {
        lock(&self.parts[hash.shard().index()])
    }

    /// Returns true if no key has an entry.
    pub fn is_empty(&self) -> bool {
        self.parts.iter().all(|part| lock(part).is_empty())
    }

    /// Returns the number of keys that are watched. Those of a client whose first one has changed
    /// are not any more, though it leaves their entries later.
    pub fn keys(&self) -> usize {
        let is_watched = |it: &Watched| it.watchers.iter().any(|it| !it.client.is_void());
        self.parts.iter().map(|part| lock(part).iter().filter(|it| is_watched(it)).count()).sum()
    }

    /// Lets a client watch a key, whose lock is held; `deadline` is that of the key.
    pub fn add(
        &self,
        watching: &mut Watching,
        client: &Arc<Client>,
        key: DatabaseKey,
        deadline: Option<Millis>,
        now: Millis,
    ) {
        let own = watching.keys.entry(mixed(key.hash), |own| *own == key, |own| mixed(own.hash));
        let Entry::Vacant(own) = own else { return };
        let had_expired = deadline.is_some_and(|deadline| deadline <= now);
        let ahead = deadline.filter(|_| !had_expired);
        watching.first_deadline =
            ahead.map_or(watching.first_deadline, |deadline| deadline.min(watching.first_deadline));
        let mut part = self.part(key.hash);
        let entry = part.entry(mixed(key.hash), |it| it.key == key, |it| mixed(it.key.hash));
        let watched = entry.or_insert_with(|| {
            self.marked.add(key.hash);
            Watched { key: key.clone(), watchers: SmallVec::new() }
        });
        watched.into_mut().watchers.push(Watcher { client: Arc::clone(client), had_expired });
        watching.outside += key.memory() - size_of::<DatabaseKey>();
        own.insert(key);
    }

    /// Ends the watching of a client.
    pub fn forget(&self, watching: &Watching, client: &Arc<Client>) {
        for key in &watching.keys {
            let mut part = self.part(key.hash);
            let entry = part.find_entry(mixed(key.hash), |it| it.key == *key);
            let Ok(mut entry) = entry else { continue };
            let watchers = &mut entry.get_mut().watchers;
            if let Some(at) = watchers.iter().position(|it| Arc::ptr_eq(&it.client, client)) {
                watchers.swap_remove(at);
            }
            if watchers.is_empty() {
                entry.remove();
                self.marked.remove(key.hash);
                shrink(&mut part);
            } else if smaller_room(watchers.len(), watchers.capacity()).is_some() {
                watchers.shrink_to_fit();
            }
        }
        client.set_flag(ClientFlags::CHANGED, false);
    }

    /// Marks the clients that watch a key that is about to change.
    fn touch(&self, change: &Change<'_>) {
        let mut part = self.part(change.key.hash);
        let is_its = |it: &Watched| {
            it.key.hash == change.key.hash
                && it.key.database == change.database
                && it.key.bytes[..] == *change.key.bytes
        };
        let Ok(mut entry) = part.find_entry(mixed(change.key.hash), is_its) else { return };
        // One that is past its deadline may be evicted instead.
        let is_expiry = !change.is_asked_for();
        if entry.get_mut().change(is_expiry) {
            entry.remove();
            self.marked.remove(change.key.hash);
            shrink(&mut part);
        }
    }
}

impl Watched {
    /// Does the same where another key, or none, takes the place of the key in its database. One
    /// that had expired and is removed, or that is replaced by another such, was no key before and
    /// is none afterwards.
    fn replace(&mut self, is_there: bool, comes: Presence) -> bool {
        if !is_there && comes == Presence::Absent {
            return false;
        }
        self.watchers.retain(|watcher| {
            let was_none = watcher.had_expired || !is_there;
            let is_none = was_none && comes != Presence::Present;
            watcher.had_expired = comes == Presence::Expired;
            if !is_none {
                watcher.mark();
            }
            is_none
        });
        self.watchers.is_empty()
    }

    /// Marks the clients that watch the key, and removes them; for an expiry or eviction, only the
    /// clients that saw the key alive. Returns true if no client is left.
    fn change(&mut self, is_expiry: bool) -> bool {
        self.watchers.retain(|watcher| {
            let is_none = is_expiry && std::mem::take(&mut watcher.had_expired);
            if !is_none {
                watcher.mark();
            }
            is_none
        });
        self.watchers.is_empty()
    }
}

impl Listener for Watches {
    fn before(&self, change: &Change<'_>) {
        self.touch(change);
    }

    fn before_databases(
        &self,
        change: &Databases,
        _: Author,
        has: &mut dyn FnMut(usize, &[u8], PositionHash) -> Presence,
    ) {
        for part in &self.parts {
            let mut part = lock(part);
            part.retain(|watched| {
                let DatabaseKey { hash, database, bytes } = &watched.key;
                let Some(source) = change.source_of(*database) else { return true };
                let is_there = has(*database, bytes, *hash) != Presence::Absent;
                let comes = source.map_or(Presence::Absent, |other| has(other, bytes, *hash));
                let stays = !watched.replace(is_there, comes);
                if !stays {
                    self.marked.remove(watched.key.hash);
                }
                stays
            });
            shrink(&mut part);
        }
    }
}

/// Returns the hash by which a key is found in its part. The table looks at its lowest bits and at
/// its highest seven, which the keys of a part must not have in common.
fn mixed(hash: PositionHash) -> u64 {
    hash.0.rotate_right(16)
}

/// Gives up the room of a part that is nearly empty, behind a removal.
fn shrink(part: &mut Part) {
    if let Some(room) = smaller_room(part.len(), part.capacity()) {
        part.shrink_to(room, |it| mixed(it.key.hash));
    }
}

fn lock(part: &Mutex<Part>) -> MutexGuard<'_, Part> {
    part.lock()
}
