//! Bytes that only a snapshot retains: it keeps them, and to everybody else they are gone.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Counts of such bytes beside the copies that were handed over.
#[derive(Debug, Default)]
pub(in crate::shard) struct Retained {
    /// Sets of noted position hashes.
    noted: AtomicU64,
    /// Records of nodes that only a frozen table names, or whose key is gone.
    nodes: AtomicU64,
    /// Records of keyspaces that were flushed and kept.
    flushed: AtomicU64,
}

impl Retained {
    /// Bytes on the general heap.
    pub fn beside_records(&self) -> u64 {
        self.noted.load(Relaxed)
    }

    /// Bytes of records.
    pub fn in_records(&self) -> u64 {
        self.nodes.load(Relaxed) + self.flushed.load(Relaxed)
    }

    /// Counts records of nodes that from now on only the snapshot retains, or that it has let go
    /// of.
    pub fn count_nodes(&self, gained: i64) {
        self.nodes.fetch_add(gained.cast_unsigned(), Relaxed);
    }

    /// Counts the records of keyspaces that were flushed and are kept.
    pub fn count_flushed(&self, bytes: u64) {
        self.flushed.fetch_add(bytes, Relaxed);
    }

    /// Counts no keyspace as kept any more.
    pub fn forget_flushed(&self) {
        self.flushed.store(0, Relaxed);
    }

    /// Counts sets that have grown or shrunk.
    pub fn count_noted(&self, gained: i64) {
        self.noted.fetch_add(gained.cast_unsigned(), Relaxed);
    }
}
