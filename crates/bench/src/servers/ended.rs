//! Servers that ended by themselves.

use std::sync::{Arc, Mutex, PoisonError};

/// Messages about servers that ended without a request.
#[derive(Clone, Debug, Default)]
pub(super) struct Ended(Arc<Mutex<Vec<String>>>);

impl Ended {
    /// Returns the messages since the last call.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn add(&self, words: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(words);
    }
}
