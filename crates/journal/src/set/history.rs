//! Removal of the files that a newer base has replaced, a piece at a time: the system takes
//! milliseconds for a large one. Some are kept for a while: replicas may need the stream in them.

use super::{Set, SetError, failed};
use crate::disk::{File, Files};
use crate::manifest::Entry;
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
    /// There are none left, but for those that are kept.
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
    /// Goes on to remove files that are not needed and not kept, each at most `bytes` at a time.
    /// What the step before has returned was run.
    ///
    /// # Errors
    /// Those of the disk; the next call goes on.
    pub fn delete_step(
        &mut self,
        bytes: u64,
        is_kept: impl Fn(&str) -> bool,
    ) -> Result<Deletion<F::File>, SetError> {
        self.retry_sync_of_names()?;
        let is_next = |it: &&Entry| !self.removed.contains(&it.name) && !is_kept(&it.name);
        let Some(entry) = self.manifest.history.iter().find(is_next) else {
            self.forget_removed()?;
            return Ok(Deletion::Done);
        };
        match self.shorten_or_remove(&entry.name, bytes) {
            Ok(Some(shortening)) => return Ok(Deletion::Shorten(shortening)),
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(failed("remove", &entry.name, error)),
        }
        self.removed.insert(entry.name.clone());
        Ok(Deletion::Removed)
    }

    /// Takes out of the manifest what was removed.
    fn forget_removed(&mut self) -> Result<(), SetError> {
        if self.removed.is_empty() {
            return Ok(());
        }
        let mut manifest = self.manifest.clone();
        manifest.history.retain(|it| !self.removed.contains(&it.name));
        let replaced = self.replace_manifest(manifest);
        replaced.inspect_err(|_| drop(self.remove(&self.temporary_manifest())))
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
