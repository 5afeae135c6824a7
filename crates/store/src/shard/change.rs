//! What changes, and who listens.

use super::Guard;
use super::append::Found;
use crate::key::Key;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Why a key goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// A command removed it, or its last element.
    Deleted,
    /// Its deadline has passed.
    Expired,
    /// Its room was needed.
    Evicted,
    /// Its value has another name.
    Moved,
    /// Its database was emptied before.
    Flushed,
}

/// A bit for each who listens.
pub(super) type Word = u32;

/// Who hears of changes.
#[derive(Debug, Default)]
pub(crate) struct Listeners {
    word: AtomicU32,
}

impl Listeners {
    #[inline(always)]
    pub(super) fn word(&self) -> Word {
        self.word.load(Relaxed)
    }
}

impl Guard<'_> {
    /// For before the first byte of a value changes, and before a key comes to be: the old record,
    /// entry and nodes can still be read.
    #[inline(always)]
    pub(super) fn before_writing(&mut self, _key: &Key<'_>, _found: Option<&Found<'_>>) {
        self.is_changed = true;
        if self.listeners != 0 {
            // told
        }
    }

    /// For before a key goes.
    #[inline]
    pub(super) fn before_removal(&mut self, _key: &Key<'_>, _found: &Found<'_>, reason: Reason) {
        if reason != Reason::Flushed {
            self.is_changed = true;
        }
    }
}
