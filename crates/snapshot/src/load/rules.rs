//! How keys are loaded.

use super::progress::Progress;
use crate::limits::Limits;
use base::{KeyspaceId, Millis};
use rdb::{Dialect, KeyFacts};
use store::{Beside, Store};

/// What becomes of keys that are past their deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expired {
    /// They are loaded, as others tell which of them go.
    Stay,
    /// They are left out.
    Go,
    /// They are left out, but where the file tells of which stream it is: who follows that has them
    /// too, and is to be told of each.
    GoUntold,
}

/// What all loaders of a file have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules<'a> {
    pub store: &'a Store,
    pub limits: Limits,
    pub now: Millis,
    pub expired: Expired,
    pub replaces: bool,
    pub beside: Option<&'a Beside>,
    pub dialect: Dialect,
    pub progress: &'a Progress,
}

impl Rules<'_> {
    /// The keyspace that the keys of a database go to; `None` if there is no such database.
    pub fn keyspace(&self, database: usize) -> Option<KeyspaceId> {
        match self.beside {
            Some(beside) => self.store.keyspace_beside(beside, database),
            None => self.store.keyspace(database),
        }
    }

    /// True if a key is past its deadline, and such are left out.
    pub fn drops(&self, facts: &KeyFacts<'_>) -> bool {
        let is_expired = facts.deadline.is_some_and(|deadline| deadline <= self.now.0);
        is_expired
            && match self.expired {
                Expired::Stay => false,
                Expired::Go => true,
                Expired::GoUntold => !self.progress.stream.lock().is_told(),
            }
    }
}
