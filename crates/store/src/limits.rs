//! Application of the settings that bound memory.

use crate::budget::Limits;
use crate::eviction::EvictionPolicy;
use crate::store::Store;

/// Divisor of `maxmemory`: this part, up to a maximum, is left free for what grows between two
/// readings of the process's memory: buffers of clients, the index.
const MARGIN_PART: u64 = 16;
const MARGIN_BYTES_MAX: u64 = 32 << 20;
/// Least divisor of `maxmemory` that gives the extent at which a head is sealed.
const HEADS_PER_BUDGET: u64 = 64;
/// Below so many bytes heads are smaller: what they have not filled, and what is kept free for the
/// cleaner, would be a large part of the whole.
const SMALL_BYTES: u64 = 64 << 20;
const HEADS_PER_SMALL_BUDGET: u64 = 256;
/// Heads' worth of memory that writes leave to the cleaner.
const HEADS_OF_CLEANER: u64 = 2;

impl Store {
    /// Applies limits. To be called whenever one of them changes, or the memory outside the store
    /// does.
    pub fn set_limits(&self, limits: &Limits) {
        let budget = &self.shards.budget;
        budget.set(limits);
        if limits.maxmemory == 0 {
            self.lent_to_snapshot(u64::MAX);
            self.shards.heap.set_budget(u64::MAX, base::units::SEGMENT_BYTES);
            return;
        }
        let outside = limits.other_bytes + self.index_bytes();
        let is_small = limits.maxmemory < SMALL_BYTES;
        let margin = (limits.maxmemory / MARGIN_PART).min(MARGIN_BYTES_MAX);
        let records = limits.maxmemory.saturating_sub(outside + margin);
        let heads = match is_small {
            true => HEADS_PER_SMALL_BUDGET,
            false => HEADS_PER_BUDGET.max(8 * limits.workers),
        };
        let head_bytes = u32::try_from(limits.maxmemory / heads).unwrap_or(u32::MAX);
        let lent = self.lent_to_snapshot(records);
        self.shards.heap.set_budget(records + lent, head_bytes);
    }

    /// Returns the least `maxmemory` with which so many threads can write keys, where `outside`
    /// bytes of the process are no records.
    pub fn least_maxmemory(outside: u64, threads: u64) -> u64 {
        let records = (threads + HEADS_OF_CLEANER) * u64::from(heap::HEAD_BYTES_MIN);
        (outside + records) * MARGIN_PART / (MARGIN_PART - 1)
    }

    /// Bytes of records beyond a budget, which only a snapshot retains, or retained until it let go
    /// of them: the cleaner comes to those first.
    fn lent_to_snapshot(&self, budget: u64) -> u64 {
        let heap = &self.shards.heap;
        let goal = heap.committed_bytes().saturating_sub(u64::from(heap.head_bytes()));
        self.shards.budget.lent(self.retained_in_records(), goal.saturating_sub(budget))
    }

    /// Policy that chooses the keys to evict.
    pub fn eviction_policy(&self) -> EvictionPolicy {
        self.shards.budget.eviction()
    }

    /// Memory that keys take: live bytes of records that can be reached, and bytes of the index.
    pub fn used_bytes(&self) -> u64 {
        self.live_bytes().saturating_sub(self.shards.budget.dying()) + self.index_bytes()
    }
}
