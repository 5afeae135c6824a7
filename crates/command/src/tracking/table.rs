//! Table of the keys that clients have read, and may have cached.

use base::{KeyHasher, PositionHash};
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use smallvec::SmallVec;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// Number of parts: so many that each is small, and whoever looks through one keeps nobody waiting
/// who reads or writes a key of it.
pub(super) const PARTS: usize = 4096;

/// Key with those who have read it. Most keys are short, and read by one client.
#[derive(Debug)]
struct Cached {
    key: SmallVec<[u8; 16]>,
    readers: Readers,
}

const _: () = assert!(size_of::<Cached>() == 40);

/// Ids of clients; of several, in order.
#[derive(Debug)]
pub(super) enum Readers {
    One(u64),
    Many(Box<Vec<u64>>),
}

impl Readers {
    fn as_slice(&self) -> &[u64] {
        match self {
            Readers::One(client) => std::slice::from_ref(client),
            Readers::Many(clients) => clients,
        }
    }

    /// Returns the ids.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        self.as_slice().iter().copied()
    }

    fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// Adds a client; returns false if it is there.
    fn add(&mut self, client: u64) -> bool {
        match self {
            Readers::One(first) if *first == client => return false,
            Readers::One(first) => {
                let both = vec![client.min(*first), client.max(*first)];
                *self = Readers::Many(Box::new(both));
            }
            Readers::Many(clients) => match clients.binary_search(&client) {
                Ok(_) => return false,
                Err(at) => clients.insert(at, client),
            },
        }
        true
    }

    /// Removes those that do not fit; returns how many.
    fn retain(&mut self, mut fits: impl FnMut(u64) -> bool) -> usize {
        let before = self.len();
        match self {
            Readers::One(client) if fits(*client) => {}
            Readers::One(_) => *self = Readers::Many(Box::default()),
            Readers::Many(clients) => clients.retain(|client| fits(*client)),
        }
        before - self.len()
    }
}

type Part = HashTable<Cached>;

/// Keys with their readers. A client is entered while the shard of the key is locked for the read,
/// and leaves under that lock when the key changes.
#[derive(Debug)]
pub(super) struct Table {
    /// Made for the first reader.
    parts: OnceLock<Box<[Mutex<Part>]>>,
    hasher: KeyHasher,
    keys: AtomicUsize,
    readers: AtomicUsize,
    /// Part from which a key is taken next.
    hand: AtomicUsize,
}

impl Table {
    pub fn new(hasher: KeyHasher) -> Table {
        Table {
            parts: OnceLock::new(),
            hasher,
            keys: AtomicUsize::new(0),
            readers: AtomicUsize::new(0),
            hand: AtomicUsize::new(0),
        }
    }

    /// Returns the number of keys.
    #[inline]
    pub fn keys(&self) -> usize {
        self.keys.load(Relaxed)
    }

    /// Returns the sum of the numbers of readers of all keys.
    pub fn readers(&self) -> usize {
        self.readers.load(Relaxed)
    }

    /// Enters a client as a reader of a key.
    pub fn enter(&self, hash: PositionHash, key: &[u8], client: u64) {
        let parts = self.parts.get_or_init(|| (0..PARTS).map(|_| Mutex::default()).collect());
        let mut part = lock(&parts[part_of(hash)]);
        let rehash = |it: &Cached| mixed(self.hasher.hash(&it.key));
        match part.entry(mixed(hash), |it| it.key[..] == *key, rehash) {
            Entry::Occupied(mut entry) => {
                if !entry.get_mut().readers.add(client) {
                    return;
                }
            }
            Entry::Vacant(entry) => {
                let key = SmallVec::from_slice(key);
                entry.insert(Cached { key, readers: Readers::One(client) });
                self.keys.fetch_add(1, Relaxed);
            }
        }
        self.readers.fetch_add(1, Relaxed);
    }

    /// Takes the readers of a key out, if it has any.
    pub fn take(&self, hash: PositionHash, key: &[u8]) -> Option<Readers> {
        let mut part = lock(&self.parts.get()?[part_of(hash)]);
        let entry = part.find_entry(mixed(hash), |it| it.key[..] == *key).ok()?;
        let (cached, _) = entry.remove();
        self.note_removal(&cached.readers);
        Some(cached.readers)
    }

    /// Takes some key and its readers out: of the parts in turn, a key from anywhere.
    pub fn take_any(&self) -> Option<(Box<[u8]>, Readers)> {
        let parts = self.parts.get()?;
        for _ in 0..PARTS {
            let turn = self.hand.fetch_add(1, Relaxed);
            let mut part = lock(&parts[turn % PARTS]);
            if part.is_empty() {
                continue;
            }
            // The rounds of the hand differ from each other as hashes do.
            let round = (turn / PARTS) as u64;
            let at = narrow::to_usize(round.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) % part.len();
            let hash = part.iter().nth(at).map(|it| mixed(self.hasher.hash(&it.key)))?;
            let Ok(entry) = part.find_entry(hash, |_| true) else { continue };
            let (cached, _) = entry.remove();
            self.note_removal(&cached.readers);
            return Some((cached.key.into_vec().into(), cached.readers));
        }
        None
    }

    /// Removes the readers of a part that are not there any more, and the keys that nobody else has
    /// read.
    pub fn sweep(&self, part: usize, is_there: impl Fn(u64) -> bool) {
        let Some(parts) = self.parts.get() else { return };
        let mut part = lock(&parts[part]);
        let before = part.len();
        let mut gone = 0;
        part.retain(|cached| {
            gone += cached.readers.retain(&is_there);
            cached.readers.len() > 0
        });
        self.keys.fetch_sub(before - part.len(), Relaxed);
        self.readers.fetch_sub(gone, Relaxed);
        if part.is_empty() {
            *part = Part::new();
        }
    }

    /// Removes all keys, while nobody reads or writes any.
    pub fn clear(&self) {
        for part in self.parts.get().into_iter().flatten() {
            *lock(part) = Part::new();
        }
        self.keys.store(0, Relaxed);
        self.readers.store(0, Relaxed);
    }

    fn note_removal(&self, readers: &Readers) {
        self.keys.fetch_sub(1, Relaxed);
        self.readers.fetch_sub(readers.len(), Relaxed);
    }
}

/// Returns the part of a key; those of a shard stand together.
fn part_of(hash: PositionHash) -> usize {
    narrow::to_usize(hash.0 >> 52)
}

/// Returns the hash by which a key is found in its part. The table looks at its lowest bits and at
/// its highest seven, which the keys of a part must not have in common.
fn mixed(hash: PositionHash) -> u64 {
    hash.0.rotate_right(16)
}

fn lock(part: &Mutex<Part>) -> MutexGuard<'_, Part> {
    part.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::{PARTS, Table};
    use base::KeyHasher;

    fn table() -> (Table, KeyHasher) {
        let hasher = KeyHasher::from_seed(7);
        (Table::new(hasher.clone()), hasher)
    }

    #[test]
    fn each_reader_of_a_key_is_entered_once_and_all_leave_together() {
        let (table, hasher) = table();
        let enter = |key: &[u8], client| table.enter(hasher.hash(key), key, client);
        for client in [9, 3, 9, 5, 3, 4] {
            enter(b"a", client);
        }
        enter(b"a key that is too long for its place", 3);
        assert_eq!((table.keys(), table.readers()), (2, 5));
        let readers = table.take(hasher.hash(b"a"), b"a").expect("it is there");
        assert_eq!(readers.iter().collect::<Vec<u64>>(), [3, 4, 5, 9]);
        assert!(table.take(hasher.hash(b"a"), b"a").is_none());
        assert_eq!((table.keys(), table.readers()), (1, 1));
    }

    #[test]
    fn any_key_is_taken_until_none_is_left() {
        let (table, hasher) = table();
        let mut names: Vec<String> = (0..10_000).map(|number| format!("key:{number}")).collect();
        names.iter().for_each(|it| table.enter(hasher.hash(it.as_bytes()), it.as_bytes(), 1));
        let taken = std::iter::from_fn(|| table.take_any());
        let mut taken: Vec<String> =
            taken.map(|(key, _)| String::from_utf8(key.into()).expect("text")).collect();
        taken.sort();
        names.sort();
        assert_eq!(taken, names);
        assert_eq!((table.keys(), table.readers()), (0, 0));
    }

    #[test]
    fn readers_that_are_gone_are_swept_out() {
        let (table, hasher) = table();
        for number in 0..1000_u32 {
            let key = number.to_le_bytes();
            table.enter(hasher.hash(&key), &key, 1);
            if number % 2 == 0 {
                table.enter(hasher.hash(&key), &key, 2);
            }
        }
        (0..PARTS).for_each(|part| table.sweep(part, |client| client == 2));
        assert_eq!((table.keys(), table.readers()), (500, 500));
        (0..PARTS).for_each(|part| table.sweep(part, |_| false));
        assert_eq!((table.keys(), table.readers()), (0, 0));
    }
}
