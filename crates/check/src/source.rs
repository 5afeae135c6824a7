//! A file that is only read.

use journal::disk::File;
use std::fs::Metadata;
use std::io::{self, Read};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// An open file; whatever would change it is refused.
#[derive(Debug)]
pub struct Source(std::fs::File);

/// What tells a file that was read from one that has taken its name, or was written since.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    device: u64,
    inode: u64,
    bytes: u64,
    modified: (i64, i64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Stamp {
        Stamp {
            device: metadata.dev(),
            inode: metadata.ino(),
            bytes: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }

    /// Makes sure that this is the file that was read.
    ///
    /// # Errors
    /// When it is another, or has changed: offsets in the one mean nothing in the other.
    pub fn check_unchanged(self, metadata: &Metadata) -> io::Result<()> {
        if self == Stamp::of(metadata) {
            return Ok(());
        }
        Err(io::Error::other(
            "the file has changed since it was read: nothing is written, check it again",
        ))
    }
}

impl Source {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// Those of the system.
    pub fn open(path: &Path) -> io::Result<Source> {
        Ok(Source(std::fs::File::open(path)?))
    }

    /// The stamp of the file as it is now.
    ///
    /// # Errors
    /// Those of the system.
    pub fn stamp(&self) -> io::Result<Stamp> {
        Ok(Stamp::of(&self.0.metadata()?))
    }

    /// The bytes from an offset on, one after the other.
    pub fn from(&self, offset: u64) -> impl Read + '_ {
        Bytes { source: self, at: offset }
    }
}

struct Bytes<'s> {
    source: &'s Source,
    at: u64,
}

impl Read for Bytes<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read_at(self.at, into)?;
        self.at += read as u64;
        Ok(read)
    }
}

fn refused<T>() -> io::Result<T> {
    Err(io::ErrorKind::ReadOnlyFilesystem.into())
}

impl File for Source {
    fn append(&self, _: &[u8]) -> io::Result<usize> {
        refused()
    }

    fn pad(&self, _: u64) -> io::Result<()> {
        refused()
    }

    fn write_again(&self, _: u64, _: &[u8]) -> io::Result<usize> {
        refused()
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read_at(into, at) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }

    fn bytes(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn sync(&self) -> io::Result<()> {
        refused()
    }

    fn has_name(&self) -> io::Result<bool> {
        Ok(true)
    }

    fn truncate(&self, _: u64) -> io::Result<()> {
        refused()
    }

    fn allocate(&self, _: u64, _: u64) {}

    fn write_back(&self, _: u64, _: u64) {}
}
