//! Invalidations that clients are to get, until a thread without locks sends it.

use super::tracker::{Invalid, Tracker};
use base::Outbox;
use smallvec::SmallVec;
use std::sync::Arc;

/// An invalidation that clients are to get.
#[derive(Debug)]
pub(super) enum PendingInvalidation {
    /// These clients have read what is not valid any more.
    Read { invalid: Invalid, trackers: SmallVec<[Arc<Tracker>; 1]> },
    /// A key has changed that begins with a prefix, by a command of the client with this id; zero:
    /// of nobody.
    Changed { key: Box<[u8]>, author: u64 },
}

/// All invalidations that are to be sent.
pub(super) type Pending = Outbox<PendingInvalidation>;
