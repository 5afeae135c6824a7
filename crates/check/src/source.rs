//! A file that is only read.

use journal::disk::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::Path;

/// An open file; whatever would change it is refused.
#[derive(Debug)]
pub struct Source(std::fs::File);

impl Source {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// Those of the system.
    pub fn open(path: &Path) -> io::Result<Source> {
        Ok(Source(std::fs::File::open(path)?))
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
