//! Client that is notified when keys change which it may have cached.

use crate::client::Client;
use crate::message::write_invalidation;
use base::mutex::{Mutex, MutexGuard};
use bitflags::bitflags;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use wire::Reply;

bitflags! {
    /// Options of CLIENT TRACKING.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct TrackingOptions: u8 {
        /// Notified of all changes behind prefixes.
        const BROADCAST = 1 << 0;
        /// Notified of what it has read behind CLIENT CACHING YES.
        const OPT_IN = 1 << 1;
        /// Notified of what it has read, except behind CLIENT CACHING NO.
        const OPT_OUT = 1 << 2;
        /// Not notified of changes by its own commands.
        const NO_LOOP = 1 << 3;
    }
}

/// Client that is notified when keys change.
#[derive(Debug)]
pub struct Tracker {
    /// The client.
    pub(crate) client: Arc<Client>,
    /// What it is notified of.
    pub options: TrackingOptions,
    /// Id of the client that is notified in its place; zero for none.
    pub(crate) redirection: u64,
    /// What its own command at work has changed.
    own: Mutex<Vec<Invalid>>,
    has_own: AtomicBool,
}

/// What a client must not take from its cache any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Invalid {
    Key(Box<[u8]>),
    Everything,
}

impl Invalid {
    /// Writes it as a message of RESP3.
    pub fn write(&self, reply: &mut Reply<'_>) {
        match self {
            Invalid::Key(key) => write_invalidation(reply, Some(&[key])),
            Invalid::Everything => write_invalidation(reply, None),
        }
    }
}

impl Tracker {
    /// A client that begins to be notified; `redirection` is the id of the client that is notified
    /// in its place, zero for none.
    pub fn new(client: Arc<Client>, options: TrackingOptions, redirection: u64) -> Tracker {
        Tracker {
            client,
            options,
            redirection,
            own: Mutex::default(),
            has_own: AtomicBool::new(false),
        }
    }

    /// Returns true if it is notified of all changes behind prefixes, and of nothing else.
    pub(super) fn is_broadcast(&self) -> bool {
        self.options.contains(TrackingOptions::BROADCAST)
    }

    pub(super) fn has_no_loop(&self) -> bool {
        self.options.contains(TrackingOptions::NO_LOOP)
    }

    /// Notes what its own command at work has changed; its thread writes it beside the reply.
    pub(super) fn note_own(&self, invalid: Invalid) {
        self.own().push(invalid);
        self.has_own.store(true, Relaxed);
    }

    /// Returns true if its own command has changed something.
    #[inline]
    pub fn has_own(&self) -> bool {
        self.has_own.load(Relaxed)
    }

    /// Takes what its own command has changed.
    pub fn take_own(&self) -> Vec<Invalid> {
        self.has_own.store(false, Relaxed);
        std::mem::take(&mut *self.own())
    }

    fn own(&self) -> MutexGuard<'_, Vec<Invalid>> {
        self.own.lock()
    }
}
