//! What is known of servers that ended by themselves.

use std::sync::{Arc, Mutex, PoisonError};

/// Servers that ended though nobody had asked them to, in words.
#[derive(Clone, Debug, Default)]
pub(super) struct Ended(Arc<Mutex<Vec<String>>>);

impl Ended {
    /// Those that were added since this was asked last.
    pub(super) fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn add(&self, words: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(words);
    }
}
