//! State of the cleaners between their steps: a victim each, and the head of its survivors.

use crate::eviction::Quantile;
use base::mutex::{Mutex, MutexGuard};
use heap::{Head, Victim};
use std::sync::atomic::AtomicUsize;

/// One cleaner: a victim, and the head of its survivors.
#[derive(Debug, Default)]
pub(crate) struct Cleaner {
    pub survivors: Head,
    pub victim: Option<Victim>,
    pub evicts: bool,
    /// True if records are moved without growth room.
    pub trims: bool,
    pub coldest: Quantile,
}

/// Most cleaners that may be at work at the same time; small heaps use one.
pub(crate) const CLEANERS: usize = 8;
#[derive(Debug, Default)]
pub(crate) struct Cleaners {
    pub(crate) all: [Mutex<Cleaner>; CLEANERS],
    /// Cleaners from this number on have neither a victim nor a head.
    pub(crate) opened: AtomicUsize,
}

impl Cleaners {
    pub(crate) fn try_lock(&self, number: usize) -> Option<MutexGuard<'_, Cleaner>> {
        self.all[number].try_lock()
    }
}
