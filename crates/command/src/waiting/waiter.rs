//! One client that waits, with its request.

use super::database_key::DatabaseKey;
use crate::args::Args;
use base::Millis;
use smallvec::SmallVec;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::Kind;
use wire::{Protocol, Span};

/// One client that waits. Generic over the client, which knows what it waits for.
pub struct Waiter<Client> {
    /// Rises from one to the next; never zero.
    pub(super) ticket: u64,
    pub(super) client: Arc<Client>,
    /// Id of its command's row.
    pub(super) command: usize,
    /// Its request, argument by argument, and where the arguments lie in it.
    pub(super) request: Vec<u8>,
    pub(super) spans: Vec<Span>,
    pub(super) client_state: ClientState,
    /// The keys that it waits for.
    pub(super) keys: SmallVec<[DatabaseKey; 1]>,
    /// Other keys that its request names.
    pub(super) others: Vec<DatabaseKey>,
    pub(super) wants: Wants,
    /// When it gives up.
    pub deadline: Option<Millis>,
    /// Whether it was answered.
    pub(super) is_answered: Mutex<bool>,
}

/// How the client speaks, which does not change while it waits.
#[derive(Clone, Copy)]
pub(super) struct ClientState {
    pub(super) database: usize,
    pub(super) protocol: Protocol,
    pub(super) no_touch: bool,
    pub(super) import_source: bool,
}

/// What a client waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wants {
    /// The kind of value that it needs.
    pub kind: Kind,
    /// Whether a key that is gone, or has become something else, ends the waiting too.
    pub minds_loss: bool,
}

impl<Client: fmt::Debug> fmt::Debug for Waiter<Client> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Waiter")
            .field("client", &self.client)
            .field("command", &self.command)
            .finish()
    }
}

impl<Client> Waiter<Client> {
    pub(super) fn is_answered(&self) -> MutexGuard<'_, bool> {
        self.is_answered.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Every key that its request names.
    pub(super) fn all_keys(&self) -> impl Iterator<Item = &DatabaseKey> {
        self.keys.iter().chain(&self.others)
    }

    pub(super) fn args(&self) -> Args<'_> {
        Args::new(&self.request, &self.spans)
    }
}
