//! What other threads see of a run, and how they end it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Shared by the threads that make load and those that watch them.
#[derive(Debug, Default)]
pub struct Monitor {
    operations: AtomicU64,
    is_halted: AtomicBool,
}

impl Monitor {
    /// Operations answered so far.
    pub fn operations(&self) -> u64 {
        self.operations.load(Ordering::Relaxed)
    }

    /// Ends the run: what is in flight is waited for, and nothing more is sent.
    pub fn halt(&self) {
        self.is_halted.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn is_halted(&self) -> bool {
        self.is_halted.load(Ordering::Relaxed)
    }

    /// Notes operations that were answered.
    #[inline]
    pub fn add(&self, operations: u64) {
        self.operations.fetch_add(operations, Ordering::Relaxed);
    }
}
