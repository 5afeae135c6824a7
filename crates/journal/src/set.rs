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

use crate::disk::{File, Files, append_all, read_all, read_pieces};
use crate::manifest::{Entry, Kind, Manifest, ManifestError};
use crate::sync_line::LINE_BYTES_MAX;
use std::collections::HashSet;
use std::io;

mod history;
mod switch;
#[cfg(all(test, not(any(loom, shuttle, miri))))]
mod tests;

pub use history::{Deletion, Shortening};

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
    /// The directory is another one, with a set of its own.
    #[error("another set of files was put in the place of the one that is written; move it away")]
    Replaced,
    /// A file that the manifest names is not there.
    #[error("{0}: named in the manifest, and not there")]
    Missing(String),
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
    removed: HashSet<String>,
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
        let trace = set.temporary_manifest();
        let is_traced = names.contains(&trace);
        let temporary = [
            trace,
            set.temporary_incremental(),
            set.temporary_base(),
            set.restored_manifest(),
            set.rehearsal(),
        ];
        let mut left = Vec::new();
        if names.contains(&manifest) {
            set.manifest = set.read_manifest(&manifest)?;
        } else if is_traced {
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
            removed: HashSet::new(),
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

    /// Returns true if there are no data.
    pub fn is_empty(&self) -> bool {
        self.manifest.to_load().next().is_none()
    }

    /// What is not there of what a start would load: the directory, the manifest, or a file.
    ///
    /// # Errors
    /// Those of the system.
    pub fn find_lost(&self) -> io::Result<Option<String>> {
        if !self.files.is_in_place()? {
            return Ok(Some("the directory".to_owned()));
        }
        let manifest = (!self.is_empty()).then(|| self.manifest_name());
        let apart = self.is_apart.then(|| self.temporary_incremental());
        let loaded = self.manifest.to_load().map(|entry| entry.name.clone());
        for name in manifest.into_iter().chain(loaded).chain(apart) {
            if !self.files.has(&name)? {
                return Ok(Some(name));
            }
        }
        Ok(None)
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
    /// Those of the disk. Nothing in the file is safe before `retry_sync_of_names` succeeds.
    pub fn begin_incremental(&mut self, header: &[u8]) -> Result<F::File, SetError> {
        self.retry_sync_of_names()?;
        let entry = self.next_incremental();
        let file = self.create(&entry.name, header)?;
        let named = self.sync_names().and_then(|()| self.add_incremental(entry.clone()));
        named.inspect_err(|_| {
            // What cannot be removed is overwritten by the next try.
            let _ = self.remove(&entry.name).and_then(|()| self.remove(&self.temporary_manifest()));
            // Those of the set were safe before.
            self.has_unsafe_names = false;
        })?;
        self.is_last_bare = false;
        Ok(file)
    }

    fn add_incremental(&mut self, entry: Entry) -> Result<(), SetError> {
        let mut manifest = self.manifest.clone();
        if self.is_last_bare {
            manifest.history.extend(manifest.incrementals.pop());
        }
        manifest.incrementals.push(entry);
        self.replace_manifest(manifest)
    }

    /// Opens the last incremental file, so that the stream goes on in it. All of it must be safe.
    ///
    /// # Errors
    /// Those of the disk, and that there is no such file.
    pub fn reopen_last(&mut self) -> Result<F::File, SetError> {
        let name = self.manifest.incrementals.last().map_or("", |last| &last.name);
        let file = self.files.open(name).map_err(|error| failed("open", name, error))?;
        // The process that created the file may have died before its name was synced.
        self.sync_names()?;
        Ok(file)
    }

    /// Notes that nothing of the stream is in the last file to be loaded: if it is an incremental
    /// one, the next stands in its place.
    pub fn note_last_is_bare(&mut self) {
        self.is_last_bare = !self.manifest.incrementals.is_empty();
    }

    /// Creates an incremental file that is no part of the set before the next base, and then the
    /// only one: what it follows is that base. Until then a start loads what is in the set, so a
    /// manifest that is gone is written again.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn begin_apart(&mut self, header: &[u8]) -> Result<F::File, SetError> {
        self.retry_sync_of_names()?;
        self.restore_manifest()?;
        // One that is written to goes on without a name, and is not emptied.
        self.remove(&self.temporary_incremental())?;
        let file = self.create(&self.temporary_incremental(), header)?;
        self.sync_names().inspect_err(|_| {
            let _ = self.remove(&self.temporary_incremental());
            self.has_unsafe_names = false;
        })?;
        self.is_apart = true;
        Ok(file)
    }

    /// Writes the manifest of a set with data again, if somebody has removed it.
    fn restore_manifest(&mut self) -> Result<(), SetError> {
        let name = self.manifest_name();
        let has = self.files.has(&name).map_err(|error| failed("look for", &name, error))?;
        if has || self.is_empty() {
            return Ok(());
        }
        // The usual temporary name is the trace of a first switch, after which data is removed.
        self.create(&self.restored_manifest(), self.manifest.to_string().as_bytes())?;
        self.rename(&self.restored_manifest(), &name)?;
        self.sync_names()
    }

    /// Returns true if the last file that was begun is no part of the set yet.
    pub fn is_apart(&self) -> bool {
        self.is_apart
    }

    fn create(&self, name: &str, header: &[u8]) -> Result<F::File, SetError> {
        let file = self.files.create(name).map_err(|error| failed("create", name, error))?;
        let written = append_all(&file, header).and_then(|()| file.sync());
        written.map_err(|error| {
            let _ = self.remove(name);
            failed("write", name, error)
        })?;
        Ok(file)
    }

    fn next_incremental(&self) -> Entry {
        let sequence = self.manifest.last_sequence(Kind::Incremental) + 1;
        Entry { name: format!("{}.{sequence}.incr.aof", self.prefix), sequence }
    }

    /// Makes what is whole of the last file to be loaded safe, and truncates the rest: only then
    /// may another file follow. What is not known to be safe is written again: a sync may have
    /// failed before the process died, and the system then takes bytes for written that it has
    /// dropped.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn make_last_safe(&self, whole: u64, safe: u64) -> Result<(), SetError> {
        let Some(last) = self.manifest.to_load().last() else { return Ok(()) };
        let make_safe = || {
            let file = self.files.open(&last.name)?;
            file.truncate(whole)?;
            write_again(&file, safe, whole)?;
            file.sync()
        };
        make_safe().map_err(|error| failed("settle", &last.name, error))
    }

    /// Copies what is behind `whole` of the last file to be loaded to a file beside it, which no
    /// manifest names: `NAME.cut-off`, or with a number where there is one. Returns its name.
    ///
    /// # Errors
    /// Those of the disk.
    pub fn keep_truncated(&self, whole: u64) -> Result<Option<String>, SetError> {
        let Some(last) = self.manifest.to_load().last() else { return Ok(None) };
        let keep = || {
            let taken = self.files.list()?;
            let numbered = |number: u32| match number {
                1 => format!("{}.cut-off", last.name),
                _ => format!("{}.cut-off.{number}", last.name),
            };
            let free = (1..).map(numbered).find(|name| !taken.contains(name));
            let name = free.ok_or(io::ErrorKind::AlreadyExists)?;
            let file = self.files.open(&last.name)?;
            let (bytes, kept) = (file.bytes()?, self.files.create(&name)?);
            let copied = read_pieces(&file, whole, bytes, |piece| append_all(&kept, piece));
            let copied = copied.and_then(|()| kept.sync());
            copied.and_then(|()| self.files.sync_names()).inspect_err(|_| {
                let _ = self.files.remove(&name);
            })?;
            Ok(Some(name))
        };
        keep().map_err(|error| failed("keep the end of", &last.name, error))
    }

    /// Number of the last incremental file; zero if there is none.
    pub fn last_incremental(&self) -> u64 {
        self.manifest.incrementals.last().map_or(0, |last| last.sequence)
    }

    fn rename(&self, from: &str, to: &str) -> Result<(), SetError> {
        self.files.rename(from, to).map_err(|error| failed("rename", from, error))
    }

    /// Makes names safe that a failed sync has left in doubt.
    ///
    /// # Errors
    /// Those of the disk: nothing in the last incremental file is safe.
    pub fn retry_sync_of_names(&mut self) -> Result<(), SetError> {
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
        let name = self.manifest_name();
        let renamed = self.rename(&self.temporary_manifest(), &name);
        // Over a network a rename may be told to have failed though it was done.
        renamed.or_else(|error| match self.read_manifest(&name) {
            Ok(found) if found == manifest => Ok(()),
            _ => Err(error),
        })?;
        (self.manifest, self.removed) = (manifest, HashSet::new());
        // From here on the files are what the manifest says; a failure is left to
        // `retry_sync_of_names`.
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

    fn restored_manifest(&self) -> String {
        format!("temp-{}.restored", self.prefix)
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

fn failed(doing: &'static str, name: &str, error: io::Error) -> SetError {
    SetError::Disk { doing, name: name.to_owned(), error }
}
