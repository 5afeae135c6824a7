//! View of a running load for other threads, and their means to end it.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// State shared by the threads that make load and those that watch them.
#[derive(Debug, Default)]
pub struct Monitor {
    operations: AtomicU64,
    is_halted: AtomicBool,
}

impl Monitor {
    /// Returns the number of operations answered so far.
    pub fn operations(&self) -> u64 {
        self.operations.load(Ordering::Relaxed)
    }

    /// Ends the run: nothing more is sent, and batches in flight are waited for.
    pub fn halt(&self) {
        self.is_halted.store(true, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn is_halted(&self) -> bool {
        self.is_halted.load(Ordering::Relaxed)
    }

    /// Adds answered operations.
    #[inline]
    pub fn add(&self, operations: u64) {
        self.operations.fetch_add(operations, Ordering::Relaxed);
    }
}
