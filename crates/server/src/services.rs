//! Threads beside the workers that others ask for work.

use crate::journal::Journal;
use crate::saver::Saver;
use std::sync::Arc;

/// What threads beside the workers do for others.
#[derive(Clone)]
pub struct Services {
    /// Writes the journal.
    pub journal: Arc<Journal>,
    /// Makes snapshots.
    pub saver: Arc<Saver>,
}
