//! Conditions for a command to run, one bit each. Usually admission is one test of a word: the
//! needs of the row are granted.
//!
//! ```text
//! row.needs  ⊆  granted by the session | by the server | for the batch   ──▶ the handler runs
//!    └── or else ──▶ `command::admission`: one missing need after the other, in the order of bits
//!                    └─▶ the first with a rejection decides: refused, postponed, queued
//! ```
//! A missing need may have no rejection: what it stands for has ended meanwhile, or it lets the
//! command run and be observed (`UNOBSERVED`).

use bitflags::bitflags;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

bitflags! {
    /// Conditions under which a command runs, in the order in which Valkey checks them: the client
    /// gets the error of the first missing one. What happens without one is said by `without` in
    /// the admission of the crate `command`; which rows need it, by `Command::needs` there.
    ///
    /// The order of the bits counts: those that refuse stand before those that postpone or queue.
    ///
    /// Those marked "always" are granted from the start, and nothing withdraws them yet.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Needs: u32 {
        /// The client has logged in, or need not. Granted by the session.
        const AUTHENTICATED = 1 << 0;
        /// The request names a command and has a valid number of arguments. Granted by nobody: only
        /// the row that stands for other requests needs it.
        const NAMED = 1 << 1;
        /// Settings let the client run the command, as the row tells. Granted by nobody: only rows
        /// that let in some clients need it.
        const LET_IN = 1 << 2;
        /// What the script of the request says that it does is granted: the needs for that are
        /// asked for besides. Granted by nobody: only rows that run scripts need it.
        const DECLARED = 1 << 3;
        /// The user may run all commands on all keys. Granted by the session; others are asked for
        /// the rights of their user.
        const PERMITTED = 1 << 4;
        /// The server serves all hash slots. Granted by the server, always.
        const SLOT = 1 << 5;
        /// The client is not to be sent to the primary. Granted by the session, unless its client
        /// can follow there: then the role is looked at.
        const DIRECT = 1 << 6;
        /// There is memory for more data. Granted for a batch.
        const MEMORY = 1 << 7;
        /// The last write to disk succeeded. Granted by the server.
        const DISK = 1 << 8;
        /// At least `min-replicas-to-write` replicas are connected. Granted by the server, always.
        const REPLICAS = 1 << 9;
        /// The server is not a read-only replica. Granted by the server, always.
        const PRIMARY = 1 << 10;
        /// The client has no subscription, or speaks RESP3. Granted by the session.
        const UNSUBSCRIBED = 1 << 11;
        /// The server is not a replica that has lost its primary. Granted by the server, always.
        const FRESH = 1 << 12;
        /// No data is being loaded. Granted by the server.
        const LOADED = 1 << 13;
        /// No data is being loaded that is to take the place of what clients read. Granted by the
        /// server.
        const UNREPLACED = 1 << 14;
        /// No slow script keeps the server busy. Granted by the server.
        const IDLE = 1 << 15;
        /// The client does not run MONITOR. Granted by the session.
        const NO_MONITOR = 1 << 16;
        /// CLIENT PAUSE does not postpone commands that change data. Granted by the server.
        const WRITES_FLOW = 1 << 17;
        /// CLIENT PAUSE does not postpone all commands. Granted by the server.
        const UNPAUSED = 1 << 18;
        /// Commands run at once and are not queued for EXEC. Granted by the session.
        const NO_TRANSACTION = 1 << 19;
        /// No client runs MONITOR. Granted by the server.
        const UNMONITORED = 1 << 20;
        /// The journal has room for what changes: the disk is not far behind. Granted by the
        /// server.
        const JOURNAL_ROOM = 1 << 21;
        /// No worker has more unread letters than its limit. Granted by the server.
        const MAIL_ROOM = 1 << 22;
        /// No worker has more unread keyspace notifications than its limit. Granted by the server.
        const EVENT_ROOM = 1 << 23;
        /// No worker has more unread lines of MONITOR than its limit. Granted by the server.
        const LINE_ROOM = 1 << 24;
        /// The client has not switched on CLIENT TRACKING. Granted by the session.
        const UNTRACKED = 1 << 25;
        /// The queue of the client's transaction may run. Granted by nobody: only EXEC needs it,
        /// besides the needs of all queued commands.
        const QUEUE = 1 << 26;
        /// The thread may wait for locks, for room and for others. Granted for a batch, unless the
        /// thread serves others in the middle of something long.
        const MAY_WAIT = 1 << 27;

        /// Needs that every session grants; `AUTHENTICATED` is not among them.
        const OF_SESSION = Self::PERMITTED.bits()
            | Self::DIRECT.bits()
            | Self::UNSUBSCRIBED.bits()
            | Self::NO_MONITOR.bits()
            | Self::NO_TRANSACTION.bits()
            | Self::UNTRACKED.bits();
        /// Needs whose absence does not stop a command: it runs, and is then shown to MONITOR or to
        /// clients that cache its keys.
        const UNOBSERVED = Self::UNMONITORED.bits() | Self::UNTRACKED.bits();
        /// Needs that only clients have to have granted: who applies what was executed elsewhere
        /// has all others.
        const OF_CLIENTS = Self::NAMED.bits()
            | Self::LET_IN.bits()
            | Self::NO_TRANSACTION.bits()
            | Self::QUEUE.bits()
            | Self::UNMONITORED.bits();
        /// Needs that the server grants at start, with nothing paused or withdrawn.
        const OF_SERVER = Self::SLOT.bits()
            | Self::DISK.bits()
            | Self::REPLICAS.bits()
            | Self::PRIMARY.bits()
            | Self::FRESH.bits()
            | Self::LOADED.bits()
            | Self::UNREPLACED.bits()
            | Self::IDLE.bits()
            | Self::WRITES_FLOW.bits()
            | Self::UNPAUSED.bits()
            | Self::UNMONITORED.bits()
            | Self::JOURNAL_ROOM.bits()
            | Self::MAIL_ROOM.bits()
            | Self::EVENT_ROOM.bits()
            | Self::LINE_ROOM.bits();
    }
}

bitflags! {
    /// Reasons why writes are refused: while there is one, `DISK` is not granted.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Troubles: u32 {
        /// The last snapshot in the background has failed.
        const SNAPSHOT = 1 << 0;
        /// The append-only file cannot be written.
        const JOURNAL = 1 << 1;
    }
}

/// Needs that the server grants at present: one atomic word, read by every request.
#[derive(Debug)]
pub struct Grants(AtomicU32);

impl Default for Grants {
    fn default() -> Grants {
        Grants(AtomicU32::new(Needs::OF_SERVER.bits()))
    }
}

impl Grants {
    /// Returns all granted needs.
    #[inline]
    pub fn get(&self) -> Needs {
        Needs::from_bits_retain(self.0.load(Relaxed))
    }

    /// Withdraws needs.
    pub fn withdraw(&self, needs: Needs) {
        self.0.fetch_and(!needs.bits(), Relaxed);
    }

    /// Grants needs again.
    pub fn restore(&self, needs: Needs) {
        self.0.fetch_or(needs.bits(), Relaxed);
    }
}
