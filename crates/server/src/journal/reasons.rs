//! Why units are put into the stream: there are files, or replicas that read it.
//!
//! Without a reason nothing is copied. Each is added and dropped in the closed gate, so no thread
//! is in the middle of a change, and what came before is in the stream whole or not at all.

use bitflags::bitflags;
use std::sync::atomic::{
    AtomicBool, AtomicU8, Ordering::AcqRel, Ordering::Acquire, Ordering::Release,
};
use store::Store;

bitflags! {
    /// Who reads the stream.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Reason: u8 {
        /// The append-only file.
        const FILES = 1 << 0;
        /// Replicas, or a backlog that is kept for those that come back.
        const REPLICAS = 1 << 1;
    }
}

/// Reasons why units are put.
#[derive(Debug, Default)]
pub struct Reasons {
    bits: AtomicU8,
    /// True while a primary is followed: then its bytes are the stream, and no thread puts units of
    /// its own.
    follows: AtomicBool,
}

impl Reasons {
    /// Adds a reason. To be called while the gate is closed.
    pub fn add(&self, store: &Store, reason: Reason) {
        self.bits.fetch_or(reason.bits(), AcqRel);
        self.resume(store);
    }

    /// Drops a reason. To be called while the gate is closed.
    pub fn drop(&self, store: &Store, reason: Reason) {
        self.bits.fetch_and(!reason.bits(), AcqRel);
        self.resume(store);
    }

    /// Has no units put meanwhile, since data is changed that is not to be in the stream. To be
    /// called while the gate is closed.
    pub fn suspend(&self, store: &Store) {
        store.set_journal(false);
    }

    /// Has units put if there is a reason. To be called while the gate is closed.
    pub fn resume(&self, store: &Store) {
        store.set_journal(!self.all().is_empty() && !self.follows());
    }

    /// Begins or ends that a primary is followed. To be called while the gate is closed.
    pub fn follow(&self, store: &Store, follows: bool) {
        self.follows.store(follows, Release);
        self.resume(store);
    }

    /// Returns true while a primary is followed.
    #[inline]
    pub fn follows(&self) -> bool {
        self.follows.load(Acquire)
    }

    /// Who reads the stream.
    pub fn all(&self) -> Reason {
        Reason::from_bits_truncate(self.bits.load(Acquire))
    }

    /// Returns true if units are put for this reader, or are about to be.
    #[inline]
    pub fn has(&self, reason: Reason) -> bool {
        self.all().contains(reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::testing::instance;

    #[test]
    fn units_are_put_while_there_is_any_reason() {
        let (reasons, instance) = (Reasons::default(), instance());
        let store = &instance.store;
        reasons.add(store, Reason::FILES);
        reasons.add(store, Reason::REPLICAS);
        reasons.drop(store, Reason::FILES);
        assert!(store.has_journal() && !reasons.has(Reason::FILES));
        reasons.suspend(store);
        assert!(!store.has_journal());
        reasons.resume(store);
        assert!(store.has_journal());
        reasons.drop(store, Reason::REPLICAS);
        assert!(!store.has_journal());
        reasons.resume(store);
        assert!(!store.has_journal());
    }
}
