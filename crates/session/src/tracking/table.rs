//! Table of the keys that clients have read, and may have cached.
//!
//! ```text
//! part, by the first 12 bits of a hash   | mutex | place and number of entries |
//!   entries, in the order of their hashes  | key | trackers |  | vacant |  ...
//! ```
//! A key stands in the entry that its hash says, or in one of the next. A look at it costs one
//! cache miss, and none if it was announced.

use crate::sparse::smaller_room;
use base::memory::prefetch;
use base::mutex::{Mutex, MutexGuard};
use base::{KeyHasher, PositionHash};
use smallvec::{SmallVec, smallvec};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Number of parts: so many that each is small, and a look through one does not hold up reads and
/// writes of its keys for long.
pub(super) const PARTS: usize = 4096;
/// Bits of a hash that name the part.
const PART_BITS: u32 = PARTS.trailing_zeros();

/// Key with the clients that have read it; none in a vacant entry. Most keys are short, and read by
/// one client.
#[derive(Debug, Default)]
struct Entry {
    key: SmallVec<[u8; 16]>,
    trackers: TrackerIds,
}

const _: () = assert!(size_of::<Entry>() == 40);

/// Ids of clients; of several, in order.
#[derive(Debug)]
pub(super) enum TrackerIds {
    One(u64),
    Many(Box<SmallVec<[u64; 4]>>),
}

/// Id that no client has.
const NOBODY: u64 = 0;

impl Default for TrackerIds {
    fn default() -> TrackerIds {
        TrackerIds::One(NOBODY)
    }
}

impl TrackerIds {
    fn as_slice(&self) -> &[u64] {
        match self {
            TrackerIds::One(client) => std::slice::from_ref(client),
            TrackerIds::Many(clients) => clients,
        }
    }

    /// Returns the ids.
    pub fn iter(&self) -> impl Iterator<Item = u64> {
        self.as_slice().iter().copied()
    }

    /// Returns the number of trackers, which is one at least.
    fn len(&self) -> usize {
        self.as_slice().len()
    }

    /// Adds a client; returns false if it is there.
    fn add(&mut self, client: u64) -> bool {
        match self {
            TrackerIds::One(first) if *first == client => return false,
            TrackerIds::One(first) => {
                let both = smallvec![client.min(*first), client.max(*first)];
                *self = TrackerIds::Many(Box::new(both));
            }
            TrackerIds::Many(clients) => match clients.binary_search(&client) {
                Ok(_) => return false,
                Err(at) => clients.insert(at, client),
            },
        }
        true
    }

    /// Removes those that do not fit; returns how many.
    fn retain(&mut self, fits: impl Fn(u64) -> bool) -> usize {
        let before = self.len();
        match self {
            TrackerIds::One(client) if fits(*client) => return 0,
            TrackerIds::One(_) => *self = TrackerIds::default(),
            TrackerIds::Many(clients) => {
                clients.retain(|client| fits(*client));
                if clients.is_empty() {
                    *self = TrackerIds::default();
                    return before;
                }
            }
        }
        before - if self.is_nobody() { 0 } else { self.len() }
    }

    fn is_nobody(&self) -> bool {
        matches!(self, TrackerIds::One(NOBODY))
    }
}

/// Keys of one part. At least a quarter of the entries is vacant.
#[derive(Debug, Default)]
struct Part {
    entries: Vec<Entry>,
    keys: usize,
}

impl Part {
    /// Returns the entry at which the search for a hash begins: the bits behind those of the part,
    /// as a share of the entries, so that a part grows by less than to its double.
    fn first_entry(hash: PositionHash, entries: usize) -> usize {
        let share = u128::from(hash.0 << PART_BITS) * entries as u128;
        narrow::to_usize((share >> 64) as u64)
    }

    /// Returns the entry of a key, or the vacant one in which it would stand; `None` if there are
    /// no entries.
    fn find(&self, hash: PositionHash, key: &[u8]) -> Option<usize> {
        let first = Part::first_entry(hash, self.entries.len());
        let is_its = |entry: &Entry| entry.trackers.is_nobody() || entry.key[..] == *key;
        let behind = self.entries[first..].iter().position(is_its);
        behind.map(|at| first + at).or_else(|| self.entries[..first].iter().position(is_its))
    }

    /// Makes room for another key.
    fn grow(&mut self, hasher: &KeyHasher) {
        if (self.keys + 1) * 4 > self.entries.len() * 3 {
            self.rebuild(self.entries.len() + self.entries.len() / 3 + 4, hasher);
        }
    }

    fn rebuild(&mut self, entries: usize, hasher: &KeyHasher) {
        let fresh = std::iter::repeat_with(Entry::default).take(entries).collect();
        for entry in std::mem::replace(&mut self.entries, fresh) {
            if !entry.trackers.is_nobody()
                && let Some(at) = self.find(hasher.hash(&entry.key), &entry.key)
            {
                self.entries[at] = entry;
            }
        }
    }

    /// Takes what is in an entry; those behind it that would not be found any more move up.
    fn take(&mut self, at: usize, hasher: &KeyHasher) -> Entry {
        let taken = std::mem::take(&mut self.entries[at]);
        let len = self.entries.len();
        let (mut gap, mut next) = (at, at);
        loop {
            next = (next + 1) % len;
            if self.entries[next].trackers.is_nobody() {
                break;
            }
            let first = Part::first_entry(hasher.hash(&self.entries[next].key), len);
            // It stays if its first entry lies behind the gap.
            if (next + len - first) % len >= (next + len - gap) % len {
                self.entries.swap(gap, next);
                gap = next;
            }
        }
        self.keys -= 1;
        taken
    }
}

/// A part, and where its entries are.
#[derive(Debug, Default)]
struct Shelf {
    part: Mutex<Part>,
    /// Address and number of the entries, as they were last: hints for prefetching.
    address: AtomicUsize,
    entries: AtomicUsize,
}

impl Shelf {
    fn lock(&self) -> MutexGuard<'_, Part> {
        self.part.lock()
    }

    /// Shows where the entries of the part are.
    fn show(&self, part: &Part) {
        self.address.store(part.entries.as_ptr().addr(), Relaxed);
        self.entries.store(part.entries.len(), Relaxed);
    }
}

/// Keys with their trackers. A client is entered while the shard of the key is locked for the read,
/// and leaves under that lock when the key changes.
#[derive(Debug)]
pub(super) struct Table {
    /// Made for the first tracker.
    shelves: OnceLock<Box<[Shelf]>>,
    hasher: KeyHasher,
    keys: AtomicUsize,
    tracked_reads: AtomicUsize,
    /// Part from which a key is taken next.
    hand: AtomicUsize,
}

impl Table {
    pub fn new(hasher: KeyHasher) -> Table {
        Table {
            shelves: OnceLock::new(),
            hasher,
            keys: AtomicUsize::new(0),
            tracked_reads: AtomicUsize::new(0),
            hand: AtomicUsize::new(0),
        }
    }

    /// Returns the number of keys.
    #[inline]
    pub fn keys(&self) -> usize {
        self.keys.load(Relaxed)
    }

    /// Returns the sum of the numbers of trackers of all keys.
    pub fn tracked_reads(&self) -> usize {
        self.tracked_reads.load(Relaxed)
    }

    /// Prefetches the entry of a key.
    pub fn prefetch(&self, hash: PositionHash) {
        let Some(shelves) = self.shelves.get() else { return };
        let shelf = &shelves[part_of(hash)];
        let (address, entries) = (shelf.address.load(Relaxed), shelf.entries.load(Relaxed));
        let entry = address + Part::first_entry(hash, entries) * size_of::<Entry>();
        prefetch(std::ptr::without_provenance::<u8>(entry));
        prefetch(std::ptr::without_provenance::<u8>(entry + size_of::<Entry>()));
    }

    /// Enters a client as a tracker of a key.
    pub fn enter(&self, hash: PositionHash, key: &[u8], client: u64) {
        let shelves = self.shelves.get_or_init(|| (0..PARTS).map(|_| Shelf::default()).collect());
        let shelf = &shelves[part_of(hash)];
        let mut part = shelf.lock();
        let found = part.find(hash, key);
        match found.filter(|at| !part.entries[*at].trackers.is_nobody()) {
            Some(at) => {
                if !part.entries[at].trackers.add(client) {
                    return;
                }
            }
            None => {
                part.grow(&self.hasher);
                shelf.show(&part);
                let Some(at) = part.find(hash, key) else { return };
                part.entries[at] =
                    Entry { key: SmallVec::from_slice(key), trackers: TrackerIds::One(client) };
                part.keys += 1;
                self.keys.fetch_add(1, Relaxed);
            }
        }
        self.tracked_reads.fetch_add(1, Relaxed);
    }

    /// Takes the trackers of a key out, if it has any.
    pub fn take(&self, hash: PositionHash, key: &[u8]) -> Option<TrackerIds> {
        let shelf = &self.shelves.get()?[part_of(hash)];
        let mut part = shelf.lock();
        let at = part.find(hash, key).filter(|at| !part.entries[*at].trackers.is_nobody())?;
        Some(self.take_at(shelf, &mut part, at).trackers)
    }

    fn take_at(&self, shelf: &Shelf, part: &mut Part, at: usize) -> Entry {
        let entry = part.take(at, &self.hasher);
        self.keys.fetch_sub(1, Relaxed);
        self.tracked_reads.fetch_sub(entry.trackers.len(), Relaxed);
        if let Some(entries) = smaller_room(part.keys, part.entries.len()) {
            part.rebuild(entries, &self.hasher);
            shelf.show(part);
        }
        entry
    }

    /// Takes some key and its trackers out: of the parts in turn, a key from anywhere.
    pub fn take_any(&self) -> Option<(Box<[u8]>, TrackerIds)> {
        let shelves = self.shelves.get()?;
        for _ in 0..PARTS {
            let turn = self.hand.fetch_add(1, Relaxed);
            let shelf = &shelves[turn % PARTS];
            let mut part = shelf.lock();
            // The rounds of the hand differ from each other as hashes do.
            let round = PositionHash(((turn / PARTS) as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15));
            let begin = Part::first_entry(round, part.entries.len());
            let len = part.entries.len();
            let mut places = (begin..len).chain(0..begin);
            let Some(at) = places.find(|at| !part.entries[*at].trackers.is_nobody()) else {
                continue;
            };
            let entry = self.take_at(shelf, &mut part, at);
            return Some((entry.key.into_vec().into(), entry.trackers));
        }
        None
    }

    /// Removes the trackers of a part that are not there any more, and the keys that nobody else
    /// has read.
    pub fn sweep(&self, part: usize, is_there: impl Fn(u64) -> bool) {
        let Some(shelves) = self.shelves.get() else { return };
        let shelf = &shelves[part];
        let mut part = shelf.lock();
        let (mut gone, mut keys) = (0, 0);
        for entry in part.entries.iter_mut().filter(|entry| !entry.trackers.is_nobody()) {
            gone += entry.trackers.retain(&is_there);
            keys += usize::from(!entry.trackers.is_nobody());
        }
        if keys < part.keys {
            self.keys.fetch_sub(part.keys - keys, Relaxed);
            part.keys = keys;
            part.rebuild(keys + keys.div_ceil(2), &self.hasher);
            shelf.show(&part);
        }
        self.tracked_reads.fetch_sub(gone, Relaxed);
    }

    /// Removes all keys, while nobody reads or writes any.
    pub fn clear(&self) {
        for shelf in self.shelves.get().into_iter().flatten() {
            let mut part = shelf.lock();
            *part = Part::default();
            shelf.show(&part);
        }
        self.keys.store(0, Relaxed);
        self.tracked_reads.store(0, Relaxed);
    }
}

/// Returns the part of a key; those of a shard stand together.
fn part_of(hash: PositionHash) -> usize {
    narrow::to_usize(hash.0 >> (u64::BITS - PART_BITS))
}

#[cfg(test)]
mod tests {
    use super::{PARTS, Table};
    use base::{KeyHasher, Random};
    use std::collections::{BTreeMap, BTreeSet};

    fn table() -> (Table, KeyHasher) {
        let hasher = KeyHasher::from_seed(7);
        (Table::new(hasher.clone()), hasher)
    }

    #[test]
    fn each_tracker_of_a_key_is_entered_once_and_all_leave_together() {
        let (table, hasher) = table();
        let enter = |key: &[u8], client| table.enter(hasher.hash(key), key, client);
        for client in [9, 3, 9, 5, 3, 4] {
            enter(b"a", client);
        }
        enter(b"a key that is too long for its place", 3);
        assert_eq!((table.keys(), table.tracked_reads()), (2, 5));
        let trackers = table.take(hasher.hash(b"a"), b"a").expect("it is there");
        assert_eq!(trackers.iter().collect::<Vec<u64>>(), [3, 4, 5, 9]);
        assert!(table.take(hasher.hash(b"a"), b"a").is_none());
        assert_eq!((table.keys(), table.tracked_reads()), (1, 1));
    }

    #[test]
    fn keys_that_were_taken_leave_little_room_and_those_left_are_found() {
        let (table, hasher) = table();
        let keys: Vec<_> = (0..400_000_u32).map(u32::to_le_bytes).collect();
        keys.iter().for_each(|key| table.enter(hasher.hash(key), key, 1));
        let (left, taken) = keys.split_at(4000);
        assert!(taken.iter().all(|key| table.take(hasher.hash(key), key).is_some()));
        let shelves = table.shelves.get().expect("there are keys");
        let entries: usize = shelves.iter().map(|shelf| shelf.lock().entries.len()).sum();
        assert!(entries <= 28 * PARTS, "{entries} entries");
        assert!(left.iter().all(|key| table.take(hasher.hash(key), key).is_some()));
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
        assert_eq!((table.keys(), table.tracked_reads()), (0, 0));
    }

    #[test]
    fn trackers_that_are_gone_are_swept_out() {
        let (table, hasher) = table();
        for number in 0..1000_u32 {
            let key = number.to_le_bytes();
            table.enter(hasher.hash(&key), &key, 1);
            if number % 2 == 0 {
                table.enter(hasher.hash(&key), &key, 2);
            }
        }
        (0..PARTS).for_each(|part| table.sweep(part, |client| client == 2));
        assert_eq!((table.keys(), table.tracked_reads()), (500, 500));
        (0..PARTS).for_each(|part| table.sweep(part, |_| false));
        assert_eq!((table.keys(), table.tracked_reads()), (0, 0));
    }

    #[test]
    fn keys_come_and_go_as_in_a_map() {
        let (table, hasher) = table();
        let mut model: BTreeMap<Vec<u8>, BTreeSet<u64>> = BTreeMap::new();
        let mut dice = Random::from_seed(3);
        for round in 0..60_000 {
            // Few parts, so that keys stand close together.
            let key = loop {
                let key = dice.below(40_000).to_string().into_bytes();
                if super::part_of(hasher.hash(&key)).is_multiple_of(512) {
                    break key;
                }
            };
            let client = 1 + dice.below(4);
            // The table grows and shrinks in turns.
            if dice.below(10) < if round % 2000 < 1000 { 8 } else { 2 } {
                table.enter(hasher.hash(&key), &key, client);
                model.entry(key).or_default().insert(client);
            } else {
                let trackers = table.take(hasher.hash(&key), &key);
                let trackers = trackers.map(|trackers| trackers.iter().collect());
                assert_eq!(trackers, model.remove(&key));
            }
            assert_eq!(table.keys(), model.len());
        }
        assert_eq!(table.tracked_reads(), model.values().map(BTreeSet::len).sum::<usize>());
    }
}
