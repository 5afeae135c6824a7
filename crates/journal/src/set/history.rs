//! Removal of the files that a newer base has replaced, a piece at a time: the system takes
//! milliseconds for a large one.

use super::{Set, SetError, failed};
use crate::disk::{File, Files};
use crate::manifest::Manifest;
use std::io;

/// Length up to which a file is removed at once.
const SMALL_BYTES: u64 = if cfg!(test) { 40 } else { 1 << 20 };

/// What comes next in the removal of files that are not needed.
#[derive(Debug)]
pub enum Deletion<F> {
    /// A file is to be made shorter before the next step.
    Shorten(Shortening<F>),
    /// A file was removed.
    Removed,
    /// There are none left.
    Done,
}

/// Removal of the end of a file, to be run on any thread: the system takes milliseconds for it.
#[derive(Debug)]
#[must_use = "the file stays as long as it is"]
pub struct Shortening<F> {
    file: F,
    /// Bytes that it is to have.
    bytes: u64,
}

impl<F: File> Shortening<F> {
    /// Does it.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn run(&self) -> io::Result<()> {
        self.file.truncate(self.bytes)
    }
}

impl<F: Files> Set<F> {
    /// Goes on to remove files that are not needed, each at most `bytes` at a time. What the step
    /// before has returned was run.
    ///
    /// # Errors
    /// Those of the disk; the next call goes on.
    pub fn delete_step(&mut self, bytes: u64) -> Result<Deletion<F::File>, SetError> {
        self.retry_sync_of_names()?;
        let Some(entry) = self.manifest.history.get(self.removed) else {
            if !self.manifest.history.is_empty() {
                let history = Vec::new();
                let replaced = self.replace_manifest(Manifest { history, ..self.manifest.clone() });
                replaced.inspect_err(|_| drop(self.remove(&self.temporary_manifest())))?;
            }
            return Ok(Deletion::Done);
        };
        match self.shorten_or_remove(&entry.name, bytes) {
            Ok(Some(shortening)) => return Ok(Deletion::Shorten(shortening)),
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed("remove", &entry.name, error)),
        }
        self.removed += 1;
        Ok(Deletion::Removed)
    }

    /// How a file is to be made shorter; a small one is removed.
    fn shorten_or_remove(&self, name: &str, bytes: u64) -> io::Result<Option<Shortening<F::File>>> {
        let file = self.files.open(name)?;
        let length = file.bytes()?;
        if length > SMALL_BYTES {
            return Ok(Some(Shortening { file, bytes: length.saturating_sub(bytes) }));
        }
        self.files.remove(name).map(|()| None)
    }
}
