//! RDB file on its way to the disk, under another name until it is whole.

use super::job::Sink;
use journal::disk::{Directory, FileWriter, Files};
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use std::io::{self, Write};
use std::path::Path;

/// RDB file that replaces another one when it is whole.
#[derive(Debug)]
pub struct RdbFile<D: Files = Directory> {
    directory: D,
    file: FileWriter<D::File>,
    name: String,
    temporary: String,
    /// True once there is nothing to be removed.
    is_in_place: bool,
}

impl RdbFile {
    /// Creates a file that is to be `name` in a directory.
    ///
    /// # Errors
    /// Those of the system, with what failed.
    pub fn create(path: &Path, name: &str, writes_early: bool) -> io::Result<RdbFile> {
        // A directory that is gone was taken away by somebody who has to know.
        let failed = |what: &str| {
            let place = format!("{what} {}", path.display());
            move |error| with_context(&place, &error)
        };
        std::fs::metadata(path).map_err(failed("looking for the directory"))?;
        let directory = Directory::open(path).map_err(failed("opening the directory"))?;
        RdbFile::create_in(directory, name, writes_early)
            .map_err(failed("creating the temporary file in"))
    }
}

impl<D: Files> RdbFile<D> {
    fn create_in(directory: D, name: &str, writes_early: bool) -> io::Result<RdbFile<D>> {
        let temporary = temporary_name(std::process::id());
        let file = directory.create(&temporary)?;
        Ok(RdbFile {
            directory,
            file: FileWriter::new(file, writes_early),
            name: name.to_owned(),
            temporary,
            is_in_place: false,
        })
    }
}

fn temporary_name(process: u32) -> String {
    format!("temp-{process}.rdb")
}

/// Name of the snapshot of a primary before it becomes the RDB file.
pub fn name_of_sync(process: u32) -> String {
    format!("temp-sync-{process}.rdb")
}

/// Removes what processes have left in a directory that died over a snapshot. What belongs to one
/// that lives stays. Best effort: what cannot be removed takes space and does no harm.
pub fn remove_leftovers(path: &Path) {
    let Ok(entries) = std::fs::read_dir(path) else { return };
    for name in entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()) {
        let digits = name.strip_prefix("temp-").and_then(|rest| rest.strip_suffix(".rdb"));
        let digits = digits.map(|digits| digits.strip_prefix("sync-").unwrap_or(digits));
        let Some(process) = digits.and_then(|digits| digits.parse().ok()) else { continue };
        let is_one = name == temporary_name(process) || name == name_of_sync(process);
        if is_one && !is_another(process) {
            match std::fs::remove_file(path.join(&name)) {
                Ok(()) => tracing::info!("Removed {name}, a snapshot that was never ended"),
                Err(error) => tracing::warn!("Error removing {name}: {error}"),
            }
        }
    }
}

/// True if a process lives, and is not this one.
fn is_another(process: u32) -> bool {
    let Some(pid) = i32::try_from(process).ok().and_then(Pid::from_raw) else { return false };
    process != std::process::id() && test_kill_process(pid) != Err(Errno::SRCH)
}

fn with_context(what: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{what}: {error}"))
}

impl<D: Files> Write for RdbFile<D> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(|error| with_context("writing", &error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush().map_err(|error| with_context("writing", &error))
    }
}

impl<D: Files> Sink for RdbFile<D> {
    fn sync(&mut self) -> io::Result<()> {
        self.file.sync().map_err(|error| with_context("syncing", &error))
    }

    fn put_in_place(mut self: Box<Self>) -> io::Result<()> {
        let what = format!("renaming {} to {}", self.temporary, self.name);
        let renamed = self.directory.rename(&self.temporary, &self.name);
        renamed.map_err(|error| with_context(&what, &error))?;
        self.is_in_place = true;
        self.directory.sync_names().map_err(|error| with_context("syncing the directory", &error))
    }
}

impl<D: Files> Drop for RdbFile<D> {
    fn drop(&mut self) {
        if !self.is_in_place {
            // What is left over of it is overwritten by the next one.
            let _ = self.directory.remove(&self.temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &Path) -> Vec<String> {
        let mut names = Directory::open(path).and_then(|it| it.list()).expect("listed");
        names.sort();
        names
    }

    #[test]
    fn a_file_has_its_name_when_it_is_whole_and_leaves_nothing_if_it_never_is() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path();
        let mut first = RdbFile::create(path, "dump.rdb", true).expect("created");
        let piece = vec![7; 3 << 20];
        (0..3).for_each(|_| first.write_all(&piece).expect("written"));
        assert_eq!(names(path), [first.temporary.clone()]);
        first.sync().expect("synced");
        Box::new(first).put_in_place().expect("renamed");
        assert_eq!(names(path), ["dump.rdb"]);
        let mut second = RdbFile::create(path, "dump.rdb", false).expect("created");
        second.write_all(b"half").expect("written");
        drop(second);
        assert_eq!(names(path), ["dump.rdb"]);
        assert_eq!(std::fs::read(path.join("dump.rdb")).expect("read").len(), 9 << 20);
    }

    #[test]
    fn what_dead_processes_have_left_is_removed() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path();
        let mut child = std::process::Command::new("true").spawn().expect("a process");
        let (dead, own) = (child.id(), std::process::id());
        child.wait().expect("ended");
        let parent = rustix::process::getppid().expect("a parent").as_raw_nonzero().get();
        let stays =
            [format!("temp-{parent}.rdb"), "temp-1x.rdb".into(), format!("temp-0{dead}.rdb")];
        let of_sync = format!("temp-sync-{dead}.rdb");
        let go = [format!("temp-{dead}.rdb"), format!("temp-{own}.rdb"), of_sync];
        for name in go.iter().chain(&stays) {
            std::fs::write(path.join(name), b"half").expect("written");
        }
        remove_leftovers(path);
        let mut stays = stays.to_vec();
        stays.sort();
        assert_eq!(names(path), stays);
    }

    #[test]
    fn an_error_says_what_was_tried() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("gone");
        let error = RdbFile::create(&path, "dump.rdb", true).expect_err("no directory");
        assert!(error.to_string().contains("looking for the directory"), "{error}");
        std::fs::create_dir(directory.path().join("taken")).expect("made");
        let file = RdbFile::create(directory.path(), "taken", true).expect("created");
        let error = Box::new(file).put_in_place().expect_err("a directory is in the way");
        assert!(error.to_string().contains("to taken"), "{error}");
        assert_eq!(names(directory.path()), ["taken"]);
    }
}
