//! Syncs of a file: when, and as jobs for any thread.

use super::bounds::Reached;
use crate::disk::File;
use rustix::io::Errno;
use std::io;
use std::sync::Arc;

/// When what was written is synced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncPolicy {
    /// At once: all that wait for it share one sync.
    Always,
    /// Once a second.
    EverySecond,
    /// When the system does it.
    No,
}

/// A sync to be run, on any thread, and then to be handed to `Writer::end_sync`.
#[derive(Debug)]
#[must_use = "clients wait for its outcome"]
pub struct SyncJob<F> {
    pub(super) file: Arc<F>,
    pub(super) reached: Reached,
}

impl<F: File> SyncJob<F> {
    /// Waits until all is on the disk that was written before the job was made.
    ///
    /// # Errors
    /// Those of the system, and that the file was removed: nobody will find what is in it.
    pub fn run(&self) -> io::Result<()> {
        self.file.sync()?;
        if self.file.has_name()? { Ok(()) } else { Err(Errno::NOENT.into()) }
    }
}
