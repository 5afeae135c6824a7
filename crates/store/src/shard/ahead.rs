//! Prefetching for the keys of a batch, without locks: what the looks find are hints alone.
//!
//! ```text
//! keys      | burst 1 | burst 2 | burst 3 |
//! buckets       1         2         3            prefetched together, burst by burst
//! records                 1         2       3    one burst behind: their buckets have come
//! locks     four commands before each is taken   another core may take it in between
//! ```
//! A prefetch of a far address occupies the processor until the address is translated. Prefetches
//! that follow each other closely are translated together; with the instructions of a look between
//! them, few are. Too many at once are worse again: the processor drops those that it has no room
//! for.

use super::shards::{RECORD_BYTES_MAX, Shards};
use crate::key::Key;
use base::{KeyspaceId, Location, PositionHash};
use index::{Hint, Home, Index, prefetch};
use smallvec::SmallVec;
use std::sync::atomic::Ordering::Relaxed;

/// Number of keys whose buckets are prefetched together. With two prefetches for each record of the
/// burst before, that makes as many as a processor has in flight (24 on Zen 4).
const BURST: usize = 8;

/// Number of commands between the prefetch of a lock and its use: enough for the lock to come from
/// another core, and so few that hardly one is lost to that core again.
pub const LOCKS_AHEAD: usize = 4;

/// Keys of one command for which is looked ahead at once: while those of one window are worked on,
/// those of the next are on their way.
pub const WINDOW: usize = 32;

/// Keyspace and position hash of a key to look for.
pub type Sought = (KeyspaceId, PositionHash);

impl Shards {
    /// Prefetches index buckets and first bytes of the records of `keys`, and the first locks.
    #[inline]
    pub fn prefetch_keys(&self, keys: &[Sought]) {
        let reach = self.reach.0.load(Relaxed);
        let (mut before, mut homes_before) = (&[][..], [Home::NOWHERE; BURST]);
        for burst in keys.chunks(BURST) {
            let homes = self.prefetch_buckets(burst);
            self.prefetch_records(before, &homes_before, reach);
            (before, homes_before) = (burst, homes);
        }
        self.prefetch_records(before, &homes_before, reach);
        keys.iter().take(LOCKS_AHEAD).for_each(|key| self.prefetch_lock(key.1));
    }

    /// Prefetches the same for keys of one command, [`WINDOW`] of them at most.
    pub fn prefetch_window(&self, keys: &[Key<'_>]) {
        let keys = keys.iter().take(WINDOW).map(|key| (key.keyspace, key.hash));
        let sought: SmallVec<[Sought; WINDOW]> = keys.collect();
        self.prefetch_keys(&sought);
    }

    /// Prefetches the lock of the shard in which `hash` stands.
    #[inline]
    pub fn prefetch_lock(&self, hash: PositionHash) {
        self.locks.prefetch(hash.shard());
    }

    /// Prefetches index buckets of `keys`.
    pub fn prefetch_all_buckets(&self, keys: &[Sought]) {
        for burst in keys.chunks(BURST) {
            self.prefetch_buckets(burst);
        }
    }

    /// Sets the average length of records, so that no more is prefetched of short ones than there
    /// is. To be called now and then.
    pub fn learn_record_bytes(&self, average: u64) {
        let reach = average.clamp(1, RECORD_BYTES_MAX) - 1;
        self.reach.0.store(narrow::to_usize(reach), Relaxed);
    }

    /// Distance in bytes from the first byte of a record to the last one that is prefetched.
    #[cfg(test)]
    pub fn reach(&self) -> usize {
        self.reach.0.load(Relaxed)
    }

    #[inline]
    fn prefetch_buckets(&self, keys: &[Sought]) -> [Home; BURST] {
        let mut homes = [Home::NOWHERE; BURST];
        for (home, key) in homes.iter_mut().zip(keys) {
            *home = self.index_of(key).home(&self.blocks, key.1);
        }
        homes[..keys.len()].iter().for_each(|home| home.prefetch(&self.blocks));
        homes
    }

    #[inline]
    fn prefetch_records(&self, keys: &[Sought], homes: &[Home; BURST], reach: usize) {
        let mut displaced = 0_u32;
        for (at, (key, home)) in keys.iter().zip(homes).enumerate() {
            match home.hint(&self.blocks) {
                Hint::At(record) => self.prefetch_record(record, reach),
                Hint::Absent => {}
                Hint::Displaced => {
                    self.index_of(key).prefetch_displaced(&self.blocks, key.1);
                    displaced |= 1 << at;
                }
            }
        }
        while displaced != 0 {
            let key = &keys[displaced.trailing_zeros() as usize];
            let record = self.index_of(key).hint_displaced(&self.blocks, key.1);
            record.into_iter().for_each(|record| self.prefetch_record(record, reach));
            displaced &= displaced - 1;
        }
    }

    #[inline]
    fn index_of(&self, (keyspace, hash): &Sought) -> &Index {
        self.indexes.get(*keyspace, hash.shard())
    }

    #[inline]
    fn prefetch_record(&self, at: Location, reach: usize) {
        let address = self.heap.address(at);
        prefetch(address);
        prefetch(address.wrapping_add(reach));
    }
}
