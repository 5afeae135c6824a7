//! How far it is with moving clients.

use std::time::Instant;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nobody has asked for it.
    Following,
    /// Writes are held back, and what came before is on its way.
    Draining {
        /// When it began.
        since: Instant,
        /// Up to where the target is to have the stream.
        to: u64,
        /// True if this program holds writes back.
        pauses: bool,
    },
    /// Both sides have the same, and the operator is asked whether clients are to be moved.
    Asking {
        /// When it began.
        since: Instant,
        /// True if this program holds writes back.
        pauses: bool,
    },
}
