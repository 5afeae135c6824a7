//! How keys are loaded.

use super::progress::Progress;
use crate::limits::Limits;
use base::Millis;
use rdb::{Dialect, KeyFacts};
use store::Store;

/// What all loaders of a file have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules<'a> {
    pub store: &'a Store,
    pub limits: Limits,
    pub now: Millis,
    pub drops_expired: bool,
    pub replaces: bool,
    pub dialect: Dialect,
    pub progress: &'a Progress,
}

impl Rules<'_> {
    /// True if a key is past its deadline, and such are left out.
    pub fn drops(&self, facts: &KeyFacts<'_>) -> bool {
        self.drops_expired && facts.deadline.is_some_and(|deadline| deadline <= self.now.0)
    }
}
