//! Counts of what was done, and the keys that failed.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use text::quote;

/// Failures that are told one by one; further ones are only counted.
const TOLD_MAX: u64 = 1000;

/// Counts that all connections share.
#[derive(Debug, Default)]
pub struct Tally {
    /// Keys that have arrived.
    pub keys: AtomicU64,
    /// Commands that were executed.
    pub commands: AtomicU64,
    /// Keys and commands that failed.
    pub failures: AtomicU64,
}

impl Tally {
    /// Counts a failure and tells of it.
    pub fn fail(&self, database: u64, what: &[u8], why: &str) {
        let before = self.failures.fetch_add(1, Relaxed);
        if before < TOLD_MAX {
            let what = quote(&what[..what.len().min(200)]);
            eprintln!("failed: database {database}, {what}: {why}");
        } else if before == TOLD_MAX {
            eprintln!("failed: more than {TOLD_MAX}; further ones are only counted");
        }
    }

    /// Number of failures.
    pub fn failures(&self) -> u64 {
        self.failures.load(Relaxed)
    }
}
