//! Tracking of one client, as its own thread knows it.

use super::prefixes::Prefix;
use super::tracker::{Tracker, TrackingOptions};
use std::sync::Arc;

/// Tracking of one client.
#[derive(Debug)]
pub struct OwnTracking {
    /// What other threads see of it.
    pub tracker: Arc<Tracker>,
    /// Prefixes behind which it is notified of all changes.
    pub prefixes: Vec<Prefix>,
    /// True behind CLIENT CACHING, until the next command has run.
    pub is_exception: bool,
}

impl OwnTracking {
    /// Returns true if what the next command reads is entered into the table.
    pub(crate) fn enters_reads(&self) -> bool {
        let options = self.tracker.options;
        if options.contains(TrackingOptions::OPT_IN) {
            return self.is_exception;
        }
        let is_out = options.contains(TrackingOptions::OPT_OUT) && self.is_exception;
        !is_out && !options.contains(TrackingOptions::BROADCAST)
    }
}
