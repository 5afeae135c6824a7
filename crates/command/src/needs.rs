//! What must hold for a command to run. Admission is one test: whether all that the row needs is
//! granted.
//!
//! ```text
//! row.needs  ⊆  granted by the session | by the server | for the batch   ──▶ the handler runs
//!    └── or else ──▶ execute::refuse: the needs that are missing, in the order of their bits
//! ```

use bitflags::bitflags;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

bitflags! {
    /// Conditions under which a command runs, in the order in which Valkey looks at them: the first
    /// that is missing is what the client hears.
    ///
    /// Those of which it is said that they always hold are granted from the start. Whoever can take
    /// one away gives its refusal a place in `execute::refuse`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Needs: u32 {
        /// The client has shown a password, or needs none. By the session.
        const AUTHENTICATED = 1 << 0;
        /// The request names a command and has as many words as it takes. By nobody: the row that
        /// stands for other requests needs it.
        const NAMED = 1 << 1;
        /// The user may run all commands on all keys. By the session; always.
        const PERMITTED = 1 << 2;
        /// The server has all slots. By the server; always.
        const SLOT = 1 << 3;
        /// There is memory for more data. For a batch.
        const MEMORY = 1 << 4;
        /// What was written last could be kept on disk. By the server; always.
        const DISK = 1 << 5;
        /// As many replicas follow as `min-replicas-to-write` asks for. By the server; always.
        const REPLICAS = 1 << 6;
        /// The server is no replica that only reads. By the server; always.
        const PRIMARY = 1 << 7;
        /// The connection is not one that only hears of channels. By the session; always.
        const UNSUBSCRIBED = 1 << 8;
        /// The data is not that of a primary that is gone. By the server; always.
        const FRESH = 1 << 9;
        /// No data is being loaded. By the server; always.
        const LOADED = 1 << 10;
        /// No script has kept the server busy for long. By the server; always.
        const IDLE = 1 << 11;
        /// CLIENT PAUSE holds back no command that changes data. By the server.
        const WRITES_FLOW = 1 << 12;
        /// CLIENT PAUSE does not hold back all commands. By the server.
        const UNPAUSED = 1 << 13;
        /// Commands run at once, and are not queued for EXEC. By the session; always.
        const NO_TRANSACTION = 1 << 14;
        /// Nobody looks on by MONITOR. By the server; always.
        const UNMONITORED = 1 << 15;

        /// What a session grants, but for `AUTHENTICATED`.
        const OF_SESSION =
            Self::PERMITTED.bits() | Self::UNSUBSCRIBED.bits() | Self::NO_TRANSACTION.bits();
        /// What a server grants that nothing keeps from its work.
        const OF_SERVER = Self::SLOT.bits()
            | Self::DISK.bits()
            | Self::REPLICAS.bits()
            | Self::PRIMARY.bits()
            | Self::FRESH.bits()
            | Self::LOADED.bits()
            | Self::IDLE.bits()
            | Self::WRITES_FLOW.bits()
            | Self::UNPAUSED.bits()
            | Self::UNMONITORED.bits();
    }
}

/// What the server grants at present: one word that every request reads.
#[derive(Debug)]
pub struct Grants(AtomicU32);

impl Default for Grants {
    fn default() -> Grants {
        Grants(AtomicU32::new(Needs::OF_SERVER.bits()))
    }
}

impl Grants {
    /// All that is granted.
    #[inline]
    pub fn get(&self) -> Needs {
        Needs::from_bits_retain(self.0.load(Relaxed))
    }

    /// Takes some away.
    pub fn withdraw(&self, needs: Needs) {
        self.0.fetch_and(!needs.bits(), Relaxed);
    }

    /// Grants some again.
    pub fn restore(&self, needs: Needs) {
        self.0.fetch_or(needs.bits(), Relaxed);
    }
}
