//! Looks at the index without the lock, while its holder inserts, grows, splits, removes, clears.

use base::{Location, Lock, PositionHash, Random};
use index::{Blocks, Entry, Hint, Index, Records};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Miri knows no memory that is given back while others look at it, so the index only grows
/// there, and a single block of it.
const ROUNDS: u64 = if cfg!(miri) { 1 } else { 40 };
const KEYS: u64 = if cfg!(miri) { 420 } else { 9_000 };
/// Keys that are there before anyone looks: under Miri the growth of the first block is at hand.
const FIRST: u64 = 395;
const LOOKERS: u64 = if cfg!(miri) { 1 } else { 3 };
const SHARD: u64 = 3 << 56;

/// Locations are numbers of keys, so the records need no memory.
struct Numbers;

impl Records for Numbers {
    fn hash_of(&self, at: Location) -> PositionHash {
        hash(at.bits())
    }

    fn prefetch(&self, _: Location) {}
}

fn hash(key: u64) -> PositionHash {
    PositionHash(SHARD | Random::from_seed(key).next() >> 8)
}

struct Shared {
    blocks: Blocks,
    index: Index,
    lock: Lock,
    is_done: AtomicBool,
}

impl Shared {
    fn new() -> Shared {
        Shared {
            blocks: Blocks::with_frames(32).expect("address space"),
            index: Index::default(),
            lock: Lock::new(),
            is_done: AtomicBool::new(false),
        }
    }

    fn find(&self, key: u64) -> Option<u64> {
        let is_it = |entry: Entry| entry.location().bits() == key;
        let found = self.index.find(&self.blocks, hash(key), is_it);
        found.map(|(_, entry)| entry.location().bits())
    }

    fn insert(&self, key: u64) {
        let location = Location::from_bits(key);
        let entry = Entry::new(location, 0, false);
        let _held = self.lock.lock();
        self.index.insert(&self.blocks, hash(key), entry, None, &Numbers).expect("room");
        assert_eq!(self.find(key), Some(key));
    }

    fn remove(&self, key: u64) {
        let _held = self.lock.lock();
        let is_it = |entry: Entry| entry.location().bits() == key;
        let found = self.index.find(&self.blocks, hash(key), is_it);
        let (frame, _) = found.expect("it was inserted");
        self.index.remove(&self.blocks, frame);
        if self.index.wants_shrink(&self.blocks, hash(key)) {
            self.index.shrink(&self.blocks, hash(key), &Numbers);
        }
    }

    /// Looks without the lock, and may see anything that stood in the index once.
    fn look(&self, key: u64) -> Option<u64> {
        let home = self.index.home(&self.blocks, hash(key));
        home.prefetch(&self.blocks);
        let at = match home.hint(&self.blocks) {
            Hint::Absent => None,
            Hint::At(at) => Some(at),
            Hint::Displaced => {
                self.index.prefetch_displaced(&self.blocks, hash(key));
                self.index.hint_displaced(&self.blocks, hash(key))
            }
        };
        at.map(Location::bits)
    }

    fn look_on(&self, seed: u64) -> u64 {
        let (mut random, mut seen) = (Random::from_seed(seed), 0);
        while !self.is_done.load(Ordering::Relaxed) {
            let key = random.below(KEYS);
            seen += u64::from(self.look(key) == Some(key));
            if random.one_in(16) {
                let _held = self.lock.lock();
                assert!(self.find(key).is_none_or(|found| found == key));
            }
            if cfg!(miri) {
                thread::yield_now();
            }
        }
        seen
    }
}

#[test]
fn looks_without_the_lock_do_no_harm_while_the_index_changes_shape() {
    let shared = Shared::new();
    (0..FIRST).for_each(|key| shared.insert(key));
    thread::scope(|scope| {
        for seed in 0..LOOKERS {
            let shared = &shared;
            scope.spawn(move || shared.look_on(seed));
        }
        for round in 0..ROUNDS {
            let first = if round == 0 { FIRST } else { 0 };
            (first..KEYS).for_each(|key| shared.insert(key));
            (first..KEYS).for_each(|key| assert!(shared.look(key).is_some(), "{key}"));
            if cfg!(miri) {
                break;
            }
            // Every other round empties the index key by key, the others in one go.
            if round % 2 == 0 {
                (0..KEYS).for_each(|key| shared.remove(key));
            }
            let _held = shared.lock.lock();
            assert_eq!(shared.index.len(), if round % 2 == 0 { 0 } else { KEYS });
            shared.index.clear(&shared.blocks);
            assert_eq!(shared.blocks.touched_bytes(), 0);
        }
        shared.is_done.store(true, Ordering::Relaxed);
    });
}
