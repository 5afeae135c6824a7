//! Filter in front of a table of keys: at the price of one word it tells of most keys that they are
//! not in the table.
//!
//! ```text
//! hash ─▶ word ──▶ bits    ....1......1..1.........1.......   read without a lock: four of a key
//!           └────▶ counts  0 0 0 0 2 0 0 1 0 0 1 ...          one for each bit, behind a lock
//! ```
//! The bits are few, so that they stay in the cache of a core whatever else it touches.

use crate::mutex::{Mutex, MutexGuard};
use crate::units::PositionHash;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bits of a word.
const WORD_BITS: usize = 64;
/// Locks of the counts: word after word has another one.
const STRIPES: usize = 64;
/// Lowest bit of a hash that chooses the word; those from `IN_WORD` on choose bits in it.
const OF_WORD: u32 = 24;
/// First of the four times six bits of a hash that choose bits in a word.
const IN_WORD: u32 = 40;
/// Most words: as many as the bits of a hash between the two can choose.
const WORDS_MAX: usize = 1 << (IN_WORD - OF_WORD);

/// Numbers of the keys whose bit is that one. A count that has come to its highest value keeps it.
type Counts = [u8; WORD_BITS];

/// Numbers of the keys of a table, by a part of their hashes: a counting Bloom filter whose four
/// places for a key are in one word. The places are made by the first key.
///
/// Bits are not ordered with what else threads do: threads that add a key or ask for it hold the
/// lock of its shard, or order it by a counter of their own.
#[derive(Debug)]
pub struct KeyFilter {
    words: usize,
    places: OnceLock<Places>,
}

#[derive(Debug)]
struct Places {
    bits: Box<[AtomicU64]>,
    /// Counts of the bits of each word, those of a stripe behind one lock.
    counts: Box<[Mutex<Box<[Counts]>>]>,
}

impl KeyFilter {
    /// Returns a filter without keys, with a power of two of places of nine bits each: ten times as
    /// many as there are keys mostly, of which two in a hundred that are not in the table go
    /// through.
    pub const fn new(places: usize) -> KeyFilter {
        let words = places / WORD_BITS;
        assert!(words.is_power_of_two() && words <= WORDS_MAX, "a hash chooses the word");
        KeyFilter { words, places: OnceLock::new() }
    }

    /// Adds a key, before it is in the table.
    pub fn add(&self, hash: PositionHash) {
        let places = self.places.get_or_init(|| Places::new(self.words));
        places.change(self.word_of(hash), hash, |count| *count = count.saturating_add(1));
    }

    /// Removes a key that was added, once it has left the table.
    pub fn remove(&self, hash: PositionHash) {
        let subtract = |count: &mut u8| {
            if *count != u8::MAX {
                *count = count.saturating_sub(1);
            }
        };
        if let Some(places) = self.places.get() {
            places.change(self.word_of(hash), hash, subtract);
        }
    }

    /// Returns false if the table does not have the key.
    #[inline]
    pub fn may_have(&self, hash: PositionHash) -> bool {
        let Some(places) = self.places.get() else { return false };
        let word = places.bits.get(self.word_of(hash)).map_or(0, |word| word.load(Relaxed));
        let bits = bits_of(hash).into_iter().fold(0, |bits, bit| bits | 1 << bit);
        word & bits == bits
    }

    #[inline]
    fn word_of(&self, hash: PositionHash) -> usize {
        narrow::to_usize(hash.0 >> OF_WORD) & (self.words - 1)
    }
}

/// Returns the bits of a key in its word.
#[inline]
fn bits_of(hash: PositionHash) -> [usize; 4] {
    [0, 6, 12, 18].map(|at| narrow::to_usize(hash.0 >> (IN_WORD + at)) % WORD_BITS)
}

impl Places {
    fn new(words: usize) -> Places {
        let stripes = words.min(STRIPES);
        let stripe = || vec![[0; WORD_BITS]; words / stripes].into_boxed_slice();
        Places {
            bits: (0..words).map(|_| AtomicU64::new(0)).collect(),
            counts: (0..stripes).map(|_| Mutex::new(stripe())).collect(),
        }
    }

    /// Changes the counts of a key, and the bits with them.
    fn change(&self, word: usize, hash: PositionHash, change: impl Fn(&mut u8)) {
        let mut stripe = lock(&self.counts[word % self.counts.len()]);
        let counts = &mut stripe[word / self.counts.len()];
        let mut bits = self.bits[word].load(Relaxed);
        for bit in bits_of(hash) {
            let count = &mut counts[bit];
            change(count);
            bits = bits & !(1 << bit) | u64::from(*count > 0) << bit;
        }
        // Nobody else writes the word: its counts are locked.
        self.bits[word].store(bits, Relaxed);
    }
}

fn lock<T>(counts: &Mutex<T>) -> MutexGuard<'_, T> {
    counts.lock()
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::KeyFilter;
    use crate::units::PositionHash;

    #[test]
    fn what_was_added_may_be_there_until_it_was_removed_as_often() {
        let filter = KeyFilter::new(256);
        let in_word = |bits: u64| PositionHash(bits << 40);
        let (key, same_bits) = (in_word(0o10203), PositionHash(in_word(0o10203).0 | 4 << 24));
        let (sharing, other) = (in_word(0o10204), PositionHash(key.0 | 1 << 24));
        filter.remove(key);
        assert!(!filter.may_have(key));
        [key, same_bits, sharing].into_iter().for_each(|it| filter.add(it));
        assert!(filter.may_have(key) && filter.may_have(same_bits) && !filter.may_have(other));
        filter.remove(key);
        filter.remove(sharing);
        assert!(filter.may_have(same_bits) && !filter.may_have(sharing));
        filter.remove(same_bits);
        assert!(!filter.may_have(key));
    }

    #[test]
    fn of_keys_that_are_not_there_few_go_through() {
        let filter = KeyFilter::new(1 << 12);
        let hash = |number: u64| PositionHash(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let others = 400..if cfg!(miri) { 1_400 } else { 10_400 };
        (0..400).for_each(|key| filter.add(hash(key)));
        assert!((0..400).all(|key| filter.may_have(hash(key))));
        let through = others.clone().filter(|key| filter.may_have(hash(*key))).count();
        assert!(through * 33 < others.clone().count(), "{through}");
        (0..400).for_each(|key| filter.remove(hash(key)));
        assert!(!(0..others.end).any(|key| filter.may_have(hash(key))));
    }

    #[test]
    fn a_count_that_was_full_is_never_taken_for_none() {
        let (filter, key) = (KeyFilter::new(64), PositionHash(7));
        (0..300).for_each(|_| filter.add(key));
        (0..300).for_each(|_| filter.remove(key));
        assert!(filter.may_have(key));
    }

    #[test]
    fn threads_that_add_and_remove_keys_of_the_same_words_lose_none() {
        let filter = KeyFilter::new(128);
        let hash = |number: u64| PositionHash(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let turns = if cfg!(miri) { 20 } else { 2_000 };
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let filter = &filter;
                scope.spawn(move || {
                    for key in (0..turns).map(|turn| hash(turn * 4 + thread)) {
                        filter.add(key);
                        assert!(filter.may_have(key));
                        filter.remove(key);
                    }
                });
            }
        });
        assert!(!(0..turns * 4).any(|key| filter.may_have(hash(key))));
    }
}
