//! A directory of the system.

use super::stage::BLOCK_BYTES;
use super::{File, Files, write_back};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{self, Advice, AtFlags, Dir, FallocateFlags, Mode, OFlags};
use rustix::io::Errno;
use std::io;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Least bytes that are written past the system's cache: below, a copy costs less than waiting.
const DIRECT_BYTES_MIN: usize = 128 << 10;
/// Bytes after which the system is told that it need not keep what is safe.
const DROP_BYTES: u64 = 1 << 20;
/// Bytes of padding that are written at once.
const PADDING: [u8; 64 << 10] = [b'#'; 64 << 10];

/// A directory of the system; it is kept open, so that it may be renamed meanwhile.
#[derive(Debug)]
pub struct Directory(OwnedFd);

impl Directory {
    /// Opens a directory, which is made if it does not exist.
    ///
    /// # Errors
    /// Those of the system.
    pub fn open(path: &Path) -> io::Result<Directory> {
        match fs::mkdir(path, Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Directory(fs::open(path, flags, Mode::empty())?))
    }

    fn open_file(&self, name: &str, flags: OFlags) -> io::Result<OpenFile> {
        let name = plain(name)?;
        let flags = flags | OFlags::RDWR | OFlags::CLOEXEC;
        let file = fs::openat(&self.0, name, flags, Mode::from_raw_mode(0o644))?;
        let end = length(&file)?;
        Ok(OpenFile {
            direct: open_direct(&self.0, name),
            is_direct: AtomicBool::new(true),
            file,
            end: AtomicU64::new(end),
            dropped: AtomicU64::new(end),
        })
    }
}

/// Opens a file for writes past the system's cache, where it has such.
fn open_direct(directory: &OwnedFd, name: &str) -> Option<OwnedFd> {
    #[cfg(target_os = "linux")]
    return fs::openat(
        directory,
        name,
        OFlags::WRONLY | OFlags::CLOEXEC | OFlags::DIRECT,
        Mode::empty(),
    )
    .ok();
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (directory, name);
        None
    }
}

/// A step with files is about to be made: tests may have it fail.
#[inline(always)]
fn step() -> io::Result<()> {
    #[cfg(debug_assertions)]
    super::faults::step()?;
    Ok(())
}

/// Refuses names that lead elsewhere.
fn plain(name: &str) -> io::Result<&str> {
    let is_plain = !name.contains('/') && !matches!(name, "" | "." | "..");
    if is_plain { Ok(name) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

impl Files for Directory {
    type File = OpenFile;

    fn create(&self, name: &str) -> io::Result<OpenFile> {
        step()?;
        self.open_file(name, OFlags::CREATE | OFlags::TRUNC)
    }

    fn open(&self, name: &str) -> io::Result<OpenFile> {
        self.open_file(name, OFlags::empty())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        step()?;
        Ok(fs::renameat(&self.0, plain(from)?, &self.0, plain(to)?)?)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        step()?;
        Ok(fs::unlinkat(&self.0, plain(name)?, AtFlags::empty())?)
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            if let Ok(name) = entry?.file_name().to_str()
                && plain(name).is_ok()
            {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    fn sync_names(&self) -> io::Result<()> {
        step()?;
        Ok(fs::fsync(&self.0)?)
    }
}

fn length(file: &OwnedFd) -> io::Result<u64> {
    u64::try_from(fs::fstat(file)?.st_size).map_err(io::Error::other)
}

/// A file of the system, which only one writes to.
#[derive(Debug)]
pub struct OpenFile {
    file: OwnedFd,
    /// The same file, for writes past the system's cache.
    direct: Option<OwnedFd>,
    /// True until such a write is refused.
    is_direct: AtomicBool,
    /// Where bytes are appended. The system's own way of appending would do it for all writes.
    end: AtomicU64,
    /// Up to where the system was told that it need not keep the file in memory.
    dropped: AtomicU64,
}

impl File for OpenFile {
    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        step()?;
        let end = self.end.load(Ordering::Relaxed);
        let (way, bytes) = self.way(bytes, end);
        let written = match rustix::io::pwrite(way, bytes, end) {
            Err(Errno::INVAL) if self.is_direct.swap(false, Ordering::Relaxed) => {
                rustix::io::pwrite(&self.file, bytes, end)?
            }
            outcome => outcome?,
        };
        self.end.store(end + written as u64, Ordering::Relaxed);
        Ok(written)
    }

    fn pad(&self, bytes: u64) -> io::Result<()> {
        step()?;
        let mut at = self.end.load(Ordering::Relaxed);
        let end = (at + bytes).next_multiple_of(BLOCK_BYTES as u64);
        while at < end {
            let piece = narrow::to_usize(end - at).min(PADDING.len());
            at += rustix::io::pwrite(&self.file, &PADDING[..piece], at)? as u64;
        }
        Ok(())
    }

    fn write_again(&self, at: u64, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::pwrite(&self.file, bytes, at)?)
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::retry_on_intr(|| rustix::io::pread(&self.file, &mut *into, at))?)
    }

    fn bytes(&self) -> io::Result<u64> {
        length(&self.file)
    }

    fn sync(&self) -> io::Result<()> {
        step()?;
        let end = self.end.load(Ordering::Relaxed);
        fs::fdatasync(&self.file)?;
        // What is safe is not read again soon: its memory serves what comes next, which costs less
        // than memory that the system has to find.
        let from = self.dropped.load(Ordering::Relaxed).min(end);
        if let Some(bytes) = NonZeroU64::new(end - from).filter(|bytes| bytes.get() >= DROP_BYTES) {
            let _ = fs::fadvise(&self.file, from, Some(bytes), Advice::DontNeed);
            self.dropped.store(end, Ordering::Relaxed);
        }
        Ok(())
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        step()?;
        fs::ftruncate(&self.file, bytes)?;
        self.end.store(bytes, Ordering::Relaxed);
        Ok(())
    }

    fn allocate(&self, from: u64, bytes: u64) {
        let _ = fs::fallocate(&self.file, FallocateFlags::KEEP_SIZE, from, bytes);
    }

    fn write_back(&self, from: u64, bytes: u64) {
        write_back::begin(self.file.as_fd(), from, bytes);
    }
}

impl OpenFile {
    /// How these bytes get to the end of the file, or the first of them: whole blocks past the
    /// cache if there are many, what is before and behind them through it. No block goes both ways
    /// at a time.
    fn way<'b>(&self, bytes: &'b [u8], end: u64) -> (&OwnedFd, &'b [u8]) {
        let Some(direct) = self.direct.as_ref().filter(|_| self.is_direct.load(Ordering::Relaxed))
        else {
            return (&self.file, bytes);
        };
        let (block, offset) = (BLOCK_BYTES, narrow::to_usize(end % BLOCK_BYTES as u64));
        let lies_as_in_file = bytes.as_ptr().addr() % block == offset;
        let before = (block - offset) % block;
        if !lies_as_in_file || bytes.len() < before + DIRECT_BYTES_MIN {
            return (&self.file, bytes);
        }
        match before {
            0 => (direct, &bytes[..bytes.len() / block * block]),
            _ => (&self.file, &bytes[..before]),
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle, miri))))]
mod tests {
    use super::*;
    use crate::disk::{append_all, read_all};

    #[test]
    fn files_are_appended_to_cut_renamed_and_removed() {
        let parent = tempfile::tempdir().expect("a directory");
        let directory = Directory::open(&parent.path().join("appendonlydir")).expect("made");
        let file = directory.create("a").expect("created");
        file.allocate(0, 1 << 16);
        append_all(&file, b"hello, world").expect("appended");
        file.write_back(0, 12);
        file.sync().expect("synced");
        assert_eq!(file.bytes().expect("a length"), 12, "allocation does not show");
        file.truncate(5).expect("cut");
        append_all(&file, b"!").expect("appended");
        assert_eq!(file.write_again(1, b"el").expect("written"), 2);
        directory.rename("a", "b").expect("renamed");
        directory.sync_names().expect("synced");
        let again = directory.open("b").expect("opened");
        assert_eq!(read_all(&again, 100).expect("read"), b"hello!");
        assert!(read_all(&again, 5).is_err());
        assert_eq!(directory.list().expect("listed"), ["b"]);
        directory.remove("b").expect("removed");
        assert!(directory.open("b").is_err());
    }

    #[test]
    fn names_do_not_lead_elsewhere() {
        let parent = tempfile::tempdir().expect("a directory");
        let directory = Directory::open(parent.path()).expect("opened");
        for name in ["", ".", "..", "../a", "/tmp/a", "a/b"] {
            assert!(directory.create(name).is_err(), "{name}");
            assert!(directory.rename("a", name).is_err(), "{name}");
        }
    }
}
