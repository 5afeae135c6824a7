//! Limits and use of memory: numbers that the controllers of space compare.

use crate::eviction::{AccessHistory, EvictionPolicy};
use heap::ReclaimPolicy;
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Bytes of the index per key: a bucket of 64 bytes serves about five and a half keys.
pub(crate) const INDEX_BYTES_PER_KEY: usize = 12;

/// Settings that bound memory and choose what is removed first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Bytes that the whole process may take; zero for no limit.
    pub maxmemory: u64,
    /// Bytes of the process that are neither records nor index: code, stacks, client buffers.
    pub other_bytes: u64,
    /// Number of threads that append.
    pub workers: u64,
    /// Policy that chooses the keys to evict.
    pub eviction: EvictionPolicy,
    /// Policy that chooses the segments to clean.
    pub reclaim: ReclaimPolicy,
    /// Factor by which LFU counters rise more slowly, as `lfu-log-factor`.
    pub lfu_log_factor: u32,
    /// Minutes after which an LFU counter falls by one.
    pub lfu_decay_minutes: u32,
}

/// The limits, as atomics that all threads read.
#[derive(Debug, Default)]
pub(crate) struct Budget {
    maxmemory: AtomicU64,
    eviction: AtomicU8,
    reclaim: AtomicU8,
    lfu_log_factor: AtomicU32,
    lfu_decay_minutes: AtomicU32,
    /// Live bytes of keyspaces and collections that wait for lazy free.
    dying: AtomicU64,
    /// Bytes by which the budget of the records is larger for the sake of a snapshot.
    lent: AtomicU64,
}

impl Budget {
    /// Stores the settings for eviction and reclaiming.
    pub fn set(&self, limits: &Limits) {
        self.maxmemory.store(limits.maxmemory, Relaxed);
        self.eviction.store(limits.eviction as u8, Relaxed);
        self.reclaim.store(limits.reclaim as u8, Relaxed);
        self.lfu_log_factor.store(limits.lfu_log_factor, Relaxed);
        self.lfu_decay_minutes.store(limits.lfu_decay_minutes, Relaxed);
    }

    pub fn maxmemory(&self) -> u64 {
        self.maxmemory.load(Relaxed)
    }

    pub fn eviction(&self) -> EvictionPolicy {
        EvictionPolicy::ALL[usize::from(self.eviction.load(Relaxed)) % 8]
    }

    pub fn reclaim(&self) -> ReclaimPolicy {
        match self.reclaim.load(Relaxed) {
            0 => ReclaimPolicy::Original,
            1 => ReclaimPolicy::Greedy,
            _ => ReclaimPolicy::Modified,
        }
    }

    #[inline]
    pub fn history(&self) -> AccessHistory {
        if self.eviction().counts_uses() {
            AccessHistory::Frequency { log_factor: self.lfu_log_factor.load(Relaxed) }
        } else {
            AccessHistory::Idleness
        }
    }

    pub fn lfu_decay_minutes(&self) -> u32 {
        self.lfu_decay_minutes.load(Relaxed)
    }

    /// Makes what is lent to a snapshot larger.
    pub fn lend(&self, bytes: u64) {
        self.lent.fetch_add(bytes, Relaxed);
    }

    /// Bytes to lend to a snapshot that holds some, where segments need no more than `needed` of
    /// them. What it holds is lent at once; what it has let go of is taken back only as fast as
    /// segments are cleaned, since who cleans needs room itself.
    pub fn lent(&self, held: u64, needed: u64) -> u64 {
        let lent = self.lent.load(Relaxed).min(needed).max(held);
        self.lent.store(lent, Relaxed);
        lent
    }

    /// Live bytes that no client can reach any more.
    pub fn dying(&self) -> u64 {
        self.dying.load(Relaxed)
    }

    pub fn hand_to_lazy_free(&self, bytes: u64) {
        self.dying.fetch_add(bytes, Relaxed);
    }

    pub fn freed(&self, bytes: u64) {
        self.dying.fetch_sub(bytes, Relaxed);
    }
}
