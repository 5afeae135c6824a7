//! Filter in front of a table of keys: at the price of one cache line it tells of most keys that
//! they are not in the table.

use crate::memory::prefetch;
use crate::units::PositionHash;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// A place that has come to this count keeps it.
const FULL: u8 = u8::MAX;

/// Numbers of the keys of a table, by a part of their hashes: a counting Bloom filter whose two
/// places for a key are in one cache line. The places are made by the first key.
///
/// Counts are not ordered with what else threads do: who adds a key and who asks for it hold the
/// lock of its shard.
#[derive(Debug)]
pub struct KeyFilter {
    places: usize,
    counts: OnceLock<Box<[AtomicU8]>>,
}

impl KeyFilter {
    /// Returns a filter without keys, with a power of two of places of one byte each: ten times as
    /// many as there are keys mostly, of which three in a hundred that are not in the table go
    /// through.
    pub const fn new(places: usize) -> KeyFilter {
        assert!(places.is_power_of_two(), "a place is chosen by bits of a hash");
        KeyFilter { places, counts: OnceLock::new() }
    }

    /// Adds a key, before it is in the table.
    pub fn add(&self, hash: PositionHash) {
        let make = || (0..self.places).map(|_| AtomicU8::new(0)).collect();
        let counts = self.counts.get_or_init(make);
        let add = |count: u8| count.checked_add(1);
        for place in self.places_of(hash) {
            let _ = counts[place].fetch_update(Relaxed, Relaxed, add);
        }
    }

    /// Removes a key that was added, once it has left the table.
    pub fn remove(&self, hash: PositionHash) {
        let Some(counts) = self.counts.get() else { return };
        let subtract = |count: u8| if count == FULL { None } else { count.checked_sub(1) };
        for place in self.places_of(hash) {
            let _ = counts[place].fetch_update(Relaxed, Relaxed, subtract);
        }
    }

    /// Returns false if the table does not have the key.
    #[inline]
    pub fn may_have(&self, hash: PositionHash) -> bool {
        let is_counted = |place: usize| {
            let count = self.counts.get().and_then(|counts| counts.get(place));
            count.is_some_and(|count| count.load(Relaxed) != 0)
        };
        self.places_of(hash).into_iter().all(is_counted)
    }

    /// Prefetches the places of a key.
    pub fn prefetch(&self, hash: PositionHash) {
        let [place, _] = self.places_of(hash);
        let count = self.counts.get().and_then(|counts| counts.get(place));
        count.into_iter().for_each(|count| prefetch(count));
    }

    /// Returns the places of a key, by bits below those that choose its shard. The second is
    /// another one of the 64 around the first, where there are so many.
    #[inline]
    fn places_of(&self, hash: PositionHash) -> [usize; 2] {
        let place = narrow::to_usize(hash.0 >> 24);
        let beside = place ^ (narrow::to_usize(hash.0 >> 50) & 63 | 1);
        [place, beside].map(|place| place & (self.places - 1))
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::KeyFilter;
    use crate::units::PositionHash;

    #[test]
    fn what_was_added_may_be_there_until_it_was_removed_as_often() {
        let filter = KeyFilter::new(16);
        let (key, same_place, other) =
            (PositionHash(1 << 24), PositionHash(1 << 40 | 1 << 24), PositionHash(2 << 24));
        filter.remove(key);
        assert!(!filter.may_have(key));
        filter.add(key);
        filter.add(same_place);
        assert!(filter.may_have(key) && filter.may_have(same_place) && !filter.may_have(other));
        filter.remove(key);
        assert!(filter.may_have(same_place));
        filter.remove(same_place);
        assert!(!filter.may_have(key));
    }

    #[test]
    fn of_keys_that_are_not_there_few_go_through() {
        let filter = KeyFilter::new(1 << 12);
        let hash = |number: u64| PositionHash(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        (0..400).for_each(|key| filter.add(hash(key)));
        let through = (400..10_400).filter(|key| filter.may_have(hash(*key))).count();
        assert!((0..400).all(|key| filter.may_have(hash(key))) && through < 600, "{through}");
    }

    #[test]
    fn a_place_that_was_full_is_never_taken_for_empty() {
        let (filter, key) = (KeyFilter::new(1), PositionHash(7));
        (0..300).for_each(|_| filter.add(key));
        (0..300).for_each(|_| filter.remove(key));
        assert!(filter.may_have(key));
    }
}
