//! The primary that this server follows, as clients see it. The thread of the link keeps it up to
//! date.

use base::Steady;
use base::mutex::{Mutex, MutexGuard};
use std::sync::atomic::Ordering::Release;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Acquire, Ordering::Relaxed};

/// A server that is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Primary {
    /// Name or address.
    pub host: String,
    /// Port.
    pub port: u16,
}

/// The role that a transaction has asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedRole {
    /// The primary to follow; `None` to be one.
    pub primary: Option<Primary>,
    /// True if a failover ends by that, which the transaction has given up.
    pub gives_up: bool,
}

/// How far the link to the primary has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinkState {
    /// It is about to connect.
    #[default]
    Connect,
    /// It connects.
    Connecting,
    /// It says who it is.
    Handshake,
    /// It takes a snapshot.
    Sync,
    /// It follows the stream.
    Connected,
    /// It has stopped, since something of the stream could not be applied.
    Stopped,
}

impl LinkState {
    /// What ROLE calls it.
    pub fn name(self) -> &'static str {
        match self {
            LinkState::Connect | LinkState::Stopped => "connect",
            LinkState::Connecting => "connecting",
            LinkState::Handshake => "handshake",
            LinkState::Sync => "sync",
            LinkState::Connected => "connected",
        }
    }
}

/// A snapshot on its way here, in bytes; a length of zero is not known.
#[derive(Debug, Default)]
pub struct Transfer {
    /// Bytes of all of it.
    pub total: AtomicU64,
    /// Bytes that have come.
    pub read: AtomicU64,
}

/// The primary, and the link to it.
#[derive(Debug, Default)]
pub struct Upstream {
    state: Mutex<State>,
    is_replica: AtomicBool,
    /// How often the role has changed.
    changes: AtomicU64,
    /// True once its data is that of the primary, as of some time.
    has_synced: AtomicBool,
    /// When the link heard of the primary last.
    pub heard_at: AtomicU64,
    /// Offset up to which the stream was received.
    pub received: AtomicU64,
    /// The snapshot on its way.
    pub transfer: Transfer,
    /// Commands of the stream that were left out, as they were refused.
    pub left_out: AtomicU64,
    /// True if the thread of the link is to close the next link that a change of the role ends, in
    /// its own time; otherwise it is closed at once.
    pub closes_late: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    primary: Option<Primary>,
    link: LinkState,
    down_since: Option<Steady>,
    /// Why the link has stopped.
    stopped: Option<String>,
}

/// What is told of the link.
#[derive(Clone, Debug)]
pub struct UpstreamFacts {
    /// The primary.
    pub primary: Primary,
    /// The link to it.
    pub link: LinkState,
    /// Since when the link is down.
    pub down_since: Option<Steady>,
    /// Why it has stopped, if it has.
    pub stopped: Option<String>,
}

impl Upstream {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Returns true while a primary is followed.
    #[inline]
    pub fn is_replica(&self) -> bool {
        self.is_replica.load(Acquire)
    }

    /// Number of changes of the role so far.
    pub fn changes(&self) -> u64 {
        self.changes.load(Acquire)
    }

    /// What is told; `None` of a primary.
    pub fn facts(&self) -> Option<UpstreamFacts> {
        let state = self.state();
        let primary = state.primary.clone()?;
        let (link, down_since) = (state.link, state.down_since);
        Some(UpstreamFacts { primary, link, down_since, stopped: state.stopped.clone() })
    }

    /// Changes the role. To be called while the gate is closed.
    pub fn set(&self, primary: Option<Primary>, now: Steady) {
        let was_replica = self.is_replica.swap(primary.is_some(), Release);
        if !was_replica && self.changes() > 0 {
            self.has_synced.store(false, Release);
        }
        let down_since = primary.is_some().then_some(now);
        *self.state() = State { primary, down_since, ..State::default() };
        self.changes.fetch_add(1, Release);
    }

    /// Takes note of how far the link has come.
    pub fn set_link(&self, link: LinkState, now: Steady) {
        let mut state = self.state();
        if link == LinkState::Connected {
            self.note_synced();
            state.down_since = None;
        } else if state.link == LinkState::Connected {
            state.down_since = Some(now);
        }
        state.link = link;
    }

    /// Takes note that the data is that of a primary, as files of it say.
    pub fn note_synced(&self) {
        self.has_synced.store(true, Release);
    }

    /// Takes note that the data of a primary has gone.
    pub fn note_unsynced(&self) {
        self.has_synced.store(false, Release);
    }

    /// Returns true for a replica that has no data but what a primary is yet to send, or data of
    /// its own: it must not take over.
    pub fn is_unsynced(&self) -> bool {
        self.is_replica() && !self.has_synced.load(Acquire)
    }

    /// Takes note that the link has stopped for good, and why.
    pub fn stop(&self, reason: String, now: Steady) {
        self.set_link(LinkState::Stopped, now);
        self.state().stopped = Some(reason);
    }

    /// Returns true while the link follows the stream.
    pub fn is_up(&self) -> bool {
        self.state().link == LinkState::Connected
    }

    /// Takes note of a sign of life of the primary.
    pub fn hear(&self, now: Steady) {
        self.heard_at.store(now.0, Relaxed);
    }
}
