//! Flags of a client.

use bitflags::bitflags;

bitflags! {
    /// Flags of a client, shown by CLIENT LIST as letters.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ClientFlags: u32 {
        /// Connected through a unix socket.
        const UNIX_SOCKET = 1 << 0;
        /// Never closed for taking too much memory.
        const NO_EVICT = 1 << 1;
        /// Leaves the access bits of keys unchanged.
        const NO_TOUCH = 1 << 2;
        /// Loads data in import mode, and sees keys whose deadline has passed.
        const IMPORT_SOURCE = 1 << 3;
        /// Will be closed once its replies are written.
        const CLOSING = 1 << 4;
        /// Waits for keys; set in `shown_flags` only.
        const BLOCKED = 1 << 5;
        /// Postponed by CLIENT PAUSE.
        const PAUSED = 1 << 6;
        /// Queues commands for EXEC.
        const MULTI = 1 << 7;
        /// A key that it watches has changed.
        const CHANGED = 1 << 8;
        /// Has subscribed to something.
        const PUBSUB = 1 << 9;
        /// Is notified when keys change that it may have cached.
        const TRACKING = 1 << 10;
        /// The client that was to be notified in its place is gone.
        const TRACKING_BROKEN = 1 << 11;
        /// Is notified of all changes behind prefixes.
        const BROADCAST = 1 << 12;
        /// Runs MONITOR.
        const MONITOR = 1 << 13;
        /// Has sent READONLY.
        const READONLY = 1 << 14;
        /// Follows the stream of changes, or takes a snapshot.
        const REPLICA = 1 << 15;
        /// Is the primary that this server follows.
        const PRIMARY = 1 << 16;
    }
}
