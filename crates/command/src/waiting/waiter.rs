//! Client that waits for keys, with its request.

use crate::access_modes::AccessModes;
use crate::args::Args;
use crate::database_key::DatabaseKey;
use base::Millis;
use smallvec::SmallVec;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use store::Kind;
use wire::{Protocol, Span};

/// Client that waits for keys. Generic over the type of the client, which refers back to its
/// waiter.
pub struct Waiter<Client> {
    /// Number that rises from one waiter to the next; never zero.
    pub(super) ticket: u64,
    pub(crate) client: Arc<Client>,
    /// Id of its command's row.
    pub(crate) command: usize,
    /// Request, one argument behind the other, and the places of the arguments in it.
    pub(super) request: Vec<u8>,
    pub(super) spans: Vec<Span>,
    pub(super) client_state: ClientState,
    /// The keys that it waits for, from which its request only takes.
    pub(super) keys: SmallVec<[DatabaseKey; 1]>,
    /// Other keys that its request names, to which it may write.
    pub(super) others: Vec<DatabaseKey>,
    pub(super) wants: Wants,
    pub(super) late: Late,
    /// Time at which it stops waiting; `None` for never.
    pub deadline: Option<Millis>,
    /// Its bytes, with a line for each of its keys: they do not change while it waits.
    pub(super) bytes: u64,
    pub(super) state: Mutex<State>,
}

/// What may become of a waiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It is answered when its turn comes, when its time is over, or when its wait is ended.
    Waits,
    /// Its turn has come in a pause: it runs when that is over. Its place among those held back.
    HeldBack(u64),
    /// It was answered, it waits anew as another waiter, or its client is gone.
    Over,
}

/// State of the session that the request depends on, fixed while the client waits.
#[derive(Clone, Copy)]
pub(super) struct ClientState {
    pub(super) database: usize,
    pub(super) protocol: Protocol,
    pub(super) modes: AccessModes,
}

/// Answer to a client that gives up waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Late {
    /// A null array.
    Null,
    /// None: it waits for something that ends by itself.
    Never,
    /// The number of replicas that have acknowledged its changes.
    Replicas,
    /// The same, and before it whether this position of the journal is synced.
    Synced(u64),
}

/// Reply to a client that has waited.
#[derive(Debug)]
pub struct Answer<Client> {
    /// Reply in wire format; empty if what it waited for was sent as a message.
    pub reply: Vec<u8>,
    /// Position of the journal that must be safe before the reply leaves.
    pub position: u64,
    /// The waiter, if its command did not run again, so that nobody has counted it yet.
    pub unserved: Option<Arc<Waiter<Client>>>,
}

impl<Client> Clone for Answer<Client> {
    fn clone(&self) -> Self {
        let Answer { reply, position, unserved } = self;
        Answer { reply: reply.clone(), position: *position, unserved: unserved.clone() }
    }
}

/// Condition that ends the wait of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wants {
    /// Kind of value that it needs.
    pub kind: Kind,
    /// True if the removal of a key, or another kind of value in it, ends the wait too.
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
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if it was answered, or its client is gone.
    pub(crate) fn is_over(&self) -> bool {
        *self.state() == State::Over
    }

    /// Its bytes, with a line for each of its keys.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The answer when its time is over.
    pub(crate) fn late(&self) -> Late {
        self.late
    }

    /// True if its wait may be ended before what it waits for has come.
    pub(crate) fn may_be_late(&self) -> bool {
        self.late != Late::Never
    }

    /// Every key that its request names.
    pub(super) fn all_keys(&self) -> impl Iterator<Item = &DatabaseKey> {
        self.keys.iter().chain(&self.others)
    }

    pub(super) fn args(&self) -> Args<'_> {
        Args::new(&self.request, &self.spans)
    }
}
