//! The set of files that make up the data, on the disk at every moment.
//!
//! ```text
//! begin_incremental   file with its header, synced ─▶ names synced ─▶ manifest
//! switch_base         synced base, renamed ─▶ names synced ─▶ manifest
//! begin_apart         file with its header, synced, under another name until the base is switched
//! delete_step         history files, a piece at a time ─▶ manifest
//!
//! manifest            temporary file ─▶ synced ─▶ renamed ─▶ names synced
//! ```
//! A manifest names no file that is not there, whichever of these steps the machine's death
//! follows: so each is safe before the next begins.

use crate::disk::{File, Files, append_all, read_all};
use crate::manifest::{Entry, Kind, Manifest, ManifestError};
use crate::sync_line::LINE_BYTES_MAX;
use std::collections::HashSet;
use std::io;

#[cfg(all(test, not(any(loom, shuttle, miri))))]
mod tests;

/// Longest manifest that is read.
const MANIFEST_BYTES_MAX: usize = 4 << 20;
/// Longest header of an incremental file: a SELECT and a sync line.
const HEADER_BYTES_MAX: u64 = 64 + LINE_BYTES_MAX as u64;
/// Bytes that are written again at once.
const PIECE_BYTES: usize = 256 << 10;

/// A set of files that cannot be used; the operator has to act.
#[derive(Debug, thiserror::Error)]
pub enum SetError {
    /// The disk has failed.
    #[error("{doing} {name}: {error}")]
    Disk {
        /// What was done.
        doing: &'static str,
        /// With which file.
        name: String,
        /// What went wrong.
        #[source]
        error: io::Error,
    },
    /// The manifest cannot be read.
    #[error("{name}: {error}")]
    Manifest {
        /// Name of the manifest.
        name: String,
        /// The line that is wrong.
        #[source]
        error: ManifestError,
    },
    /// There are files of a set and no manifest. A new set would overwrite them.
    #[error("{0}: there is no manifest that names it; move the file away, or restore the manifest")]
    NoManifest(String),
    /// A file that the manifest names is not there.
    #[error("{0}: named in the manifest, and not there")]
    Missing(String),
}

impl SetError {
    /// True if the disk has no room.
    pub fn is_full(&self) -> bool {
        matches!(self, SetError::Disk { error, .. } if error.kind() == io::ErrorKind::StorageFull)
    }
}

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

/// Form of a base.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseForm {
    /// A snapshot.
    Rdb,
    /// Commands.
    Commands,
}

/// The files of the journal.
#[derive(Debug)]
pub struct Set<F> {
    files: F,
    /// What all names begin with: `appendfilename`.
    prefix: String,
    manifest: Manifest,
    /// True if names were changed and a sync of them has failed.
    has_unsafe_names: bool,
    /// History files that were removed and that the manifest still names.
    removed: usize,
    /// True if there is an incremental file that becomes part of the set with the next base.
    is_apart: bool,
    /// True if the next incremental file stands in the place of the last one.
    is_last_bare: bool,
}

impl<F: Files> Set<F> {
    /// Opens the set of a directory, which may be empty. What was left of an interrupted change is
    /// removed.
    ///
    /// # Errors
    /// Those of the disk and of the manifest, and files that are missing.
    pub fn open(files: F, prefix: &str) -> Result<Set<F>, SetError> {
        let (set, left) = Set::find(files, prefix)?;
        left.iter().try_for_each(|name| set.remove(name))?;
        Ok(set)
    }

    /// Finds out whether a set could be opened and written to now. All files stay as they are, also
    /// those of somebody who writes the set.
    ///
    /// # Errors
    /// Those of `open`, and those of the disk when a file is written.
    pub fn rehearse(files: F, prefix: &str) -> Result<(), SetError> {
        let (set, _) = Set::find(files, prefix)?;
        let name = set.rehearsal();
        let write = || append_all(&set.files.create(&name)?, &[b'#'; LINE_BYTES_MAX]);
        let written = write().map_err(|error| failed("write", &name, error));
        let removed = set.remove(&name);
        written.and(removed)
    }

    /// The set of a directory, and the files that were left of an interrupted change.
    fn find(files: F, prefix: &str) -> Result<(Set<F>, Vec<String>), SetError> {
        let names = files.list().map_err(|error| failed("list files of", prefix, error))?;
        let names: HashSet<String> = names.into_iter().collect();
        let mut set = Set::empty(files, prefix);
        let manifest = set.manifest_name();
        let temporary = [
            set.temporary_manifest(),
            set.temporary_incremental(),
            set.temporary_base(),
            set.rehearsal(),
        ];
        let mut left = Vec::new();
        if names.contains(&manifest) {
            set.manifest = set.read_manifest(&manifest)?;
        } else if temporary[..2].iter().any(|name| names.contains(name)) {
            // The first switch was interrupted: there was no set before it.
            left.extend(names.iter().filter(|name| set.is_named(name)).cloned());
        } else {
            names.iter().try_for_each(|name| set.refuse_data(name))?;
        }
        if let Some(missing) = set.manifest.to_load().find(|entry| !names.contains(&entry.name)) {
            return Err(SetError::Missing(missing.name.clone()));
        }
        // Last, as they are the trace of an interrupted switch.
        left.extend(temporary.into_iter().filter(|name| names.contains(name)));
        Ok((set, left))
    }

    /// Opens the set of a directory to read it, while somebody else may be writing it: nothing is
    /// removed. Files that are missing show when they are opened.
    ///
    /// # Errors
    /// Those of the disk and of the manifest, also where there is none.
    pub fn look(files: F, prefix: &str) -> Result<Set<F>, SetError> {
        let mut set = Set::empty(files, prefix);
        set.manifest = set.read_manifest(&set.manifest_name())?;
        Ok(set)
    }

    fn empty(files: F, prefix: &str) -> Set<F> {
        Set {
            files,
            prefix: prefix.to_owned(),
            manifest: Manifest::default(),
            has_unsafe_names: false,
            removed: 0,
            is_apart: false,
            is_last_bare: false,
        }
    }

    /// Removes a file that was left, unless somebody else does.
    fn remove(&self, name: &str) -> Result<(), SetError> {
        match self.files.remove(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failed("remove", name, error))
            }
            _ => Ok(()),
        }
    }

    /// Returns true if a file is named like one of a set.
    fn is_named(&self, name: &str) -> bool {
        let rest = name.strip_prefix(&self.prefix).and_then(|rest| rest.strip_prefix('.'));
        let kind = rest.and_then(|rest| rest.split_once('.'));
        kind.is_some_and(|(number, kind)| {
            let is_number = text::parse_u64(number.as_bytes()).is_some();
            is_number && matches!(kind, "incr.aof" | "base.aof" | "base.rdb")
        })
    }

    /// Refuses a file that is named like one of a set, unless it has no more than the header of
    /// the first one, whose manifest was never written.
    fn refuse_data(&self, name: &str) -> Result<(), SetError> {
        if !self.is_named(name) {
            return Ok(());
        }
        let file = self.files.open(name).and_then(|file| file.bytes());
        let bytes = file.map_err(|error| failed("open", name, error))?;
        if bytes > HEADER_BYTES_MAX { Err(SetError::NoManifest(name.to_owned())) } else { Ok(()) }
    }

    fn read_manifest(&self, name: &str) -> Result<Manifest, SetError> {
        let file = self.files.open(name).map_err(|error| failed("open", name, error))?;
        let bytes =
            read_all(&file, MANIFEST_BYTES_MAX).map_err(|error| failed("read", name, error))?;
        Manifest::parse(&bytes).map_err(|error| SetError::Manifest { name: name.to_owned(), error })
    }

    /// The directory.
    pub fn files(&self) -> &F {
        &self.files
    }

    /// The files of the set.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Creates the next incremental file with what it begins with, and adds it to the set. The one
    /// before it must be whole and safe.
    ///
    /// # Errors
    /// Those of the disk. Nothing in the file is safe before `settle` succeeds.
    pub fn begin_incremental(&mut self, header: &[u8]) -> Result<F::File, SetError> {
        self.settle()?;
        let entry = self.next_incremental();
        let file = self.create(&entry.name, header)?;
        self.sync_names()?;
        let mut manifest = self.manifest.clone();
        if std::mem::take(&mut self.is_last_bare) {
            manifest.history.extend(manifest.incrementals.pop());
        }
        manifest.incrementals.push(entry);
        self.replace_manifest(manifest)?;
        Ok(file)
    }

    /// Notes that nothing of the stream is in the last file to be loaded: if it is an incremental
    /// one, the next stands in its place.
    pub fn note_last_is_bare(&mut self) {
        self.is_last_bare = !self.manifest.incrementals.is_empty();
    }

    /// Creates an incremental file that is no part of the set before the next base, and then the
    /// only one: what it follows is that base.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn begin_apart(&mut self, header: &[u8]) -> Result<F::File, SetError> {
        self.settle()?;
        let file = self.create(&self.temporary_incremental(), header)?;
        self.sync_names()?;
        self.is_apart = true;
        Ok(file)
    }

    /// Returns true if the last file that was begun is no part of the set yet.
    pub fn is_apart(&self) -> bool {
        self.is_apart
    }

    fn create(&self, name: &str, header: &[u8]) -> Result<F::File, SetError> {
        let file = self.files.create(name).map_err(|error| failed("create", name, error))?;
        append_all(&file, header)
            .and_then(|()| file.sync())
            .map_err(|error| failed("write", name, error))?;
        Ok(file)
    }

    fn next_incremental(&self) -> Entry {
        let sequence = self.manifest.last_sequence(Kind::Incremental) + 1;
        Entry { name: format!("{}.{sequence}.incr.aof", self.prefix), sequence }
    }

    /// Makes what is whole of the last file to be loaded safe, and cuts off the rest: only then may
    /// another file follow. What is not known to be safe is written again: a sync may have failed
    /// before the process died, and the system then takes bytes for written that it has dropped.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn settle_last(&self, whole: u64, safe: u64) -> Result<(), SetError> {
        let Some(last) = self.manifest.to_load().last() else { return Ok(()) };
        let settle = || {
            let file = self.files.open(&last.name)?;
            file.truncate(whole)?;
            write_again(&file, safe, whole)?;
            file.sync()
        };
        settle().map_err(|error| failed("settle", &last.name, error))
    }

    /// Copies what is behind `whole` of the last file to be loaded to a file beside it, which no
    /// manifest names: `NAME.cut-off`, or with a number where there is one. Returns its name.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn keep_cut_off(&self, whole: u64) -> Result<Option<String>, SetError> {
        let Some(last) = self.manifest.to_load().last() else { return Ok(None) };
        let keep = || {
            let taken = self.files.list()?;
            let numbered = |number: u32| match number {
                1 => format!("{}.cut-off", last.name),
                _ => format!("{}.cut-off.{number}", last.name),
            };
            let free = (1..).map(numbered).find(|name| !taken.contains(name));
            let name = free.ok_or(io::ErrorKind::AlreadyExists)?;
            let (file, kept) = (self.files.open(&last.name)?, self.files.create(&name)?);
            let copied = copy(&file, whole, &kept).and_then(|()| kept.sync());
            if let Err(error) = copied {
                // A part of it would be taken for all.
                let _ = self.files.remove(&name);
                return Err(error);
            }
            self.files.sync_names()?;
            Ok(Some(name))
        };
        keep().map_err(|error| failed("keep the end of", &last.name, error))
    }

    /// Number of the last incremental file; zero if there is none.
    pub fn last_incremental(&self) -> u64 {
        self.manifest.incrementals.last().map_or(0, |last| last.sequence)
    }

    /// Creates the file for a base under a temporary name. Its writer has to sync it.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn create_base(&self) -> Result<F::File, SetError> {
        let name = self.temporary_base();
        // Whoever writes to one that was given up goes on with a file that has no name.
        self.drop(&name)?;
        self.files.create(&name).map_err(|error| failed("create", &name, error))
    }

    /// Removes the files that would have become part of the set with the next base. Whoever writes
    /// to one goes on with a file that has no name.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn drop_begun(&self) -> Result<(), SetError> {
        self.drop(&self.temporary_base())?;
        self.drop(&self.temporary_incremental())
    }

    fn drop(&self, name: &str) -> Result<(), SetError> {
        match self.files.remove(name) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(failed("remove", name, error))
            }
            _ => Ok(()),
        }
    }

    /// Gives a set without a base one with these bytes, which stand for what was there before its
    /// incremental files: nothing.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn put_base(&mut self, form: BaseForm, bytes: &[u8]) -> Result<(), SetError> {
        let file = self.create_base()?;
        append_all(&file, bytes)
            .and_then(|()| file.sync())
            .map_err(|error| failed("write", &self.temporary_base(), error))?;
        self.switch_base(form, 0)
    }

    /// Makes the file of `create_base` the base of the set. It stands for the base before it and
    /// for the incremental files below the number `first`, which become history.
    ///
    /// # Errors
    /// Those of the disk, after which the old base is the base.
    pub fn switch_base(&mut self, form: BaseForm, first: u64) -> Result<(), SetError> {
        self.settle()?;
        let sequence = self.manifest.last_sequence(Kind::Base) + 1;
        let ending = if form == BaseForm::Rdb { "rdb" } else { "aof" };
        let name = format!("{}.{sequence}.base.{ending}", self.prefix);
        if self.is_apart {
            // The trace of a first switch that is interrupted: without one, files without a
            // manifest are not touched.
            self.write_manifest(&self.manifest)?;
            self.sync_names()?;
        }
        self.rename(&self.temporary_base(), &name)?;
        let mut manifest = self.manifest.clone();
        let before = manifest.base.replace(Entry { name, sequence });
        let is_apart = self.is_apart;
        let replaced = |entry: &mut Entry| is_apart || entry.sequence < first;
        manifest.history.extend(before);
        manifest.history.extend(manifest.incrementals.extract_if(.., replaced));
        if is_apart {
            let entry = self.next_incremental();
            self.rename(&self.temporary_incremental(), &entry.name)?;
            manifest.incrementals.push(entry);
        }
        self.sync_names()?;
        self.replace_manifest(manifest)?;
        self.is_apart = false;
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), SetError> {
        self.files.rename(from, to).map_err(|error| failed("rename", from, error))
    }

    /// Goes on to remove files that are not needed, each at most `bytes` at a time. What the step
    /// before has returned was run.
    ///
    /// # Errors
    /// Those of the disk; the next call goes on.
    pub fn delete_step(&mut self, bytes: u64) -> Result<Deletion<F::File>, SetError> {
        self.settle()?;
        let Some(entry) = self.manifest.history.get(self.removed) else {
            if !self.manifest.history.is_empty() {
                let history = Vec::new();
                self.replace_manifest(Manifest { history, ..self.manifest.clone() })?;
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

    /// How a file is to be made shorter; one without bytes is removed.
    fn shorten_or_remove(&self, name: &str, bytes: u64) -> io::Result<Option<Shortening<F::File>>> {
        let file = self.files.open(name)?;
        let length = file.bytes()?;
        if length > 0 {
            return Ok(Some(Shortening { file, bytes: length.saturating_sub(bytes) }));
        }
        self.files.remove(name).map(|()| None)
    }

    /// Makes names safe that a failed sync has left in doubt.
    ///
    /// # Errors
    /// Those of the disk: nothing in the last incremental file is safe.
    pub fn settle(&mut self) -> Result<(), SetError> {
        if self.has_unsafe_names { self.sync_names() } else { Ok(()) }
    }

    fn sync_names(&mut self) -> Result<(), SetError> {
        self.has_unsafe_names = true;
        self.files
            .sync_names()
            .map_err(|error| failed("sync directory of", &self.prefix, error))?;
        self.has_unsafe_names = false;
        Ok(())
    }

    fn replace_manifest(&mut self, manifest: Manifest) -> Result<(), SetError> {
        self.write_manifest(&manifest)?;
        self.rename(&self.temporary_manifest(), &self.manifest_name())?;
        (self.manifest, self.removed) = (manifest, 0);
        // From here on the files are what the manifest says; a failure is left to `settle`.
        let _ = self.sync_names();
        Ok(())
    }

    fn write_manifest(&self, manifest: &Manifest) -> Result<(), SetError> {
        self.create(&self.temporary_manifest(), manifest.to_string().as_bytes()).map(drop)
    }

    fn manifest_name(&self) -> String {
        format!("{}.manifest", self.prefix)
    }

    fn temporary_manifest(&self) -> String {
        format!("temp-{}.manifest", self.prefix)
    }

    fn temporary_incremental(&self) -> String {
        format!("temp-{}.incr", self.prefix)
    }

    fn temporary_base(&self) -> String {
        format!("temp-{}.base", self.prefix)
    }

    fn rehearsal(&self) -> String {
        format!("temp-{}.try", self.prefix)
    }
}

fn write_again(file: &impl File, from: u64, to: u64) -> io::Result<()> {
    let (mut at, mut piece) = (from, vec![0; PIECE_BYTES]);
    while at < to {
        let room = usize::try_from(to - at).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
        let read = file.read_at(at, &mut piece[..room])?;
        let written = file.write_again(at, &piece[..read])?;
        if written == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        at += written as u64;
    }
    Ok(())
}

/// Appends all bytes of a file from an offset on to another one.
fn copy(file: &impl File, mut at: u64, to: &impl File) -> io::Result<()> {
    let mut piece = vec![0; PIECE_BYTES];
    loop {
        let read = file.read_at(at, &mut piece)?;
        if read == 0 {
            return Ok(());
        }
        append_all(to, &piece[..read])?;
        at += read as u64;
    }
}

fn failed(doing: &'static str, name: &str, error: io::Error) -> SetError {
    SetError::Disk { doing, name: name.to_owned(), error }
}
