//! A directory of the system.

use super::stage::BLOCK_BYTES;
use super::step::Step;
use super::{File, Files, write_back};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{self, Advice, AtFlags, Dir, FallocateFlags, Mode, OFlags};
use rustix::io::Errno;
use std::io;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Least bytes that are written past the system's cache: below, a copy costs less than waiting.
const DIRECT_BYTES_MIN: usize = 128 << 10;
/// Bytes after which the system is told that it need not keep what is safe.
const DROP_BYTES: u64 = 1 << 20;
/// Bytes of a read from which on more of them follow.
const LARGE_READ_BYTES: usize = 32 << 10;
/// Bytes that the system is asked to read ahead: what was written past its cache is not there.
const AHEAD_BYTES: u64 = 8 << 20;
/// Bytes of a line of padding. Others read a comment in pieces of 1023 bytes, of which each must
/// begin like one.
const PAD_LINE_BYTES: usize = 512;
/// Lines of padding that are written at once.
static PADDING: [u8; 64 << 10] = padding();

const fn padding() -> [u8; 64 << 10] {
    let (mut bytes, line) = ([b'#'; 64 << 10], PAD_LINE_BYTES);
    let mut end = line;
    while end <= bytes.len() {
        bytes[end - 1] = b'\n';
        end += line;
    }
    bytes
}

/// A directory of the system; it is kept open, and files are reached through it.
#[derive(Debug)]
pub struct Directory {
    fd: OwnedFd,
    /// Where it was opened.
    path: PathBuf,
}

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
        Ok(Directory { fd: fs::open(path, flags, Mode::empty())?, path: path.to_owned() })
    }

    fn open_file(&self, name: &str, flags: OFlags) -> io::Result<OpenFile> {
        let name = plain(name)?;
        let flags = flags | OFlags::RDWR | OFlags::CLOEXEC;
        let file = fs::openat(&self.fd, name, flags, Mode::from_raw_mode(0o644))?;
        let end = length(&file)?;
        Ok(OpenFile {
            direct: open_direct(&self.fd, name),
            is_direct: AtomicBool::new(true),
            file,
            end: AtomicU64::new(end),
            padded: AtomicU64::new(end),
            ahead: AtomicU64::new(0),
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
fn about_to(step: Step) -> io::Result<()> {
    #[cfg(debug_assertions)]
    super::faults::about_to(step)?;
    #[cfg(not(debug_assertions))]
    let _ = step;
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
        about_to(Step::Create)?;
        self.open_file(name, OFlags::CREATE | OFlags::TRUNC)
    }

    fn open(&self, name: &str) -> io::Result<OpenFile> {
        self.open_file(name, OFlags::empty())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        about_to(Step::Rename)?;
        Ok(fs::renameat(&self.fd, plain(from)?, &self.fd, plain(to)?)?)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        about_to(Step::Remove)?;
        Ok(fs::unlinkat(&self.fd, plain(name)?, AtFlags::empty())?)
    }

    fn has(&self, name: &str) -> io::Result<bool> {
        match fs::statat(&self.fd, plain(name)?, AtFlags::empty()) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn is_in_place(&self) -> io::Result<bool> {
        let own = fs::fstat(&self.fd)?;
        match fs::stat(&self.path) {
            Ok(found) => Ok((found.st_dev, found.st_ino) == (own.st_dev, own.st_ino)),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.fd)? {
            if let Ok(name) = entry?.file_name().to_str()
                && plain(name).is_ok()
            {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    fn sync_names(&self) -> io::Result<()> {
        about_to(Step::SyncNames)?;
        Ok(fs::fsync(&self.fd)?)
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
    /// Up to where there is padding, in lines that end at multiples of their length.
    padded: AtomicU64,
    /// Up to where the system was asked to read ahead.
    ahead: AtomicU64,
    /// Up to where the system was told that it need not keep the file in memory.
    dropped: AtomicU64,
}

impl File for OpenFile {
    fn append(&self, bytes: &[u8]) -> io::Result<usize> {
        about_to(Step::Append)?;
        let end = self.end.load(Ordering::Relaxed);
        self.join_pad_line(end + bytes.len() as u64)?;
        let written = rustix::io::pwrite(&self.file, bytes, end)?;
        self.end.store(end + written as u64, Ordering::Relaxed);
        Ok(written)
    }

    fn append_past_cache(&self, bytes: &[u8]) -> io::Result<usize> {
        let end = self.end.load(Ordering::Relaxed);
        let (blocks, before) = (self.whole_blocks(bytes, end), bytes.len().min(to_block(end)));
        let (Some(direct), Some(blocks)) = (&self.direct, blocks) else {
            return self.append(bytes);
        };
        if before > 0 {
            return self.append(&bytes[..before]);
        }
        about_to(Step::Append)?;
        let written = match rustix::io::pwrite(direct, blocks, end) {
            Err(Errno::INVAL | Errno::OPNOTSUPP) => {
                self.is_direct.store(false, Ordering::Relaxed);
                return self.append(blocks);
            }
            written => written?,
        };
        self.end.store(end + written as u64, Ordering::Relaxed);
        Ok(written)
    }

    fn pad(&self, bytes: u64) -> io::Result<()> {
        about_to(Step::Pad)?;
        let mut at = self.end.load(Ordering::Relaxed);
        let end = (at + bytes).next_multiple_of(BLOCK_BYTES as u64);
        while at < end {
            let padding = &PADDING[narrow::to_usize(at % PAD_LINE_BYTES as u64)..];
            let piece = narrow::to_usize(end - at).min(padding.len());
            at += rustix::io::pwrite(&self.file, &padding[..piece], at)? as u64;
        }
        self.padded.store(end, Ordering::Relaxed);
        Ok(())
    }

    fn write_again(&self, at: u64, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::pwrite(&self.file, bytes, at)?)
    }

    fn read_at(&self, at: u64, into: &mut [u8]) -> io::Result<usize> {
        if into.len() >= LARGE_READ_BYTES {
            self.read_ahead(at + into.len() as u64);
        }
        Ok(rustix::io::retry_on_intr(|| rustix::io::pread(&self.file, &mut *into, at))?)
    }

    fn bytes(&self) -> io::Result<u64> {
        length(&self.file)
    }

    fn sync(&self) -> io::Result<()> {
        about_to(Step::Sync)?;
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

    fn has_name(&self) -> io::Result<bool> {
        Ok(fs::fstat(&self.file)?.st_nlink > 0)
    }

    fn truncate(&self, bytes: u64) -> io::Result<()> {
        about_to(Step::Truncate)?;
        fs::ftruncate(&self.file, bytes)?;
        self.end.store(bytes, Ordering::Relaxed);
        self.padded.store(bytes, Ordering::Relaxed);
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
    /// Makes the line of padding that would be nothing but its end, where bytes are appended up to
    /// it, a part of the next line: an empty line is no comment.
    fn join_pad_line(&self, end: u64) -> io::Result<()> {
        let line = PAD_LINE_BYTES as u64;
        if end % line == line - 1 && end < self.padded.load(Ordering::Relaxed) {
            rustix::io::pwrite(&self.file, b"#", end)?;
        }
        Ok(())
    }

    /// Has the system read what follows an offset, so that the next reads need not wait.
    fn read_ahead(&self, offset: u64) {
        let ahead = self.ahead.load(Ordering::Relaxed);
        if ahead < offset + AHEAD_BYTES / 2 || ahead > offset + 2 * AHEAD_BYTES {
            let bytes = NonZeroU64::new(AHEAD_BYTES);
            let _ = fs::fadvise(&self.file, offset, bytes, Advice::WillNeed);
            self.ahead.store(offset + AHEAD_BYTES, Ordering::Relaxed);
        }
    }

    /// The whole blocks among bytes that are to be appended, if they are many enough to go past the
    /// cache. What is before and behind them goes through it, so that no block goes both ways.
    fn whole_blocks<'b>(&self, bytes: &'b [u8], end: u64) -> Option<&'b [u8]> {
        let address = bytes.as_ptr().addr() as u64;
        let lies_as_in_file = address % BLOCK_BYTES as u64 == end % BLOCK_BYTES as u64;
        let rest = bytes.get(to_block(end)..)?;
        let blocks = &rest[..rest.len() / BLOCK_BYTES * BLOCK_BYTES];
        let is_worth_it = lies_as_in_file && blocks.len() >= DIRECT_BYTES_MIN;
        (is_worth_it && self.is_direct.load(Ordering::Relaxed)).then_some(blocks)
    }
}

/// Bytes from an offset to the begin of a block.
fn to_block(offset: u64) -> usize {
    narrow::to_usize(offset.next_multiple_of(BLOCK_BYTES as u64) - offset)
}

#[cfg(all(test, not(any(loom, shuttle, miri))))]
mod tests {
    use super::*;
    use crate::disk::{Stage, append_all, append_all_past_cache, read_all};

    #[test]
    fn files_are_appended_to_truncated_renamed_and_removed() {
        let parent = tempfile::tempdir().expect("a directory");
        let directory = Directory::open(&parent.path().join("appendonlydir")).expect("made");
        let file = directory.create("a").expect("created");
        file.allocate(0, 1 << 16);
        append_all(&file, b"hello, world").expect("appended");
        file.write_back(0, 12);
        file.sync().expect("synced");
        assert_eq!(file.bytes().expect("a length"), 12, "allocation does not show");
        file.truncate(5).expect("truncated");
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
    fn what_is_appended_takes_the_place_of_padding_that_others_read_as_comments() {
        let parent = tempfile::tempdir().expect("a directory");
        let file = Directory::open(parent.path()).and_then(|it| it.create("a")).expect("created");
        let mut text = Vec::new();
        for piece in [1, 509, 1, 1, 512, 4096, 700, 511, 3000] {
            file.pad(piece as u64 + 256).expect("padded");
            append_all(&file, &vec![b'x'; piece]).expect("appended");
            text.extend(vec![b'x'; piece]);
            let all = read_all(&file, 1 << 20).expect("read");
            assert!(all.starts_with(&text) && all.len().is_multiple_of(BLOCK_BYTES), "{piece}");
            assert_eq!(all.last(), Some(&b'\n'), "the next command of others begins a line");
            for line in all[text.len()..].split_inclusive(|byte| *byte == b'\n') {
                assert!(line.starts_with(b"#") && line.len() < 1023, "{piece}: {line:?}");
            }
        }
        file.truncate(text.len() as u64).expect("truncated");
        append_all(&file, b"y").expect("appended");
        assert_eq!(file.bytes().expect("a length"), text.len() as u64 + 1);
    }

    #[test]
    fn many_bytes_go_past_the_cache_and_lie_where_they_should() {
        let parent = tempfile::tempdir().expect("a directory");
        let file = Directory::open(parent.path()).and_then(|it| it.create("a")).expect("created");
        let (mut stage, mut text) = (Stage::default(), Vec::new());
        for (at, piece) in [10, 300_000, 4096, 1 << 20, 131_072, 135_167, 5].iter().enumerate() {
            let bytes: Vec<u8> = (0..*piece).map(|byte| (byte % 251 + at) as u8).collect();
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                stage.begin_at(text.len() as u64);
                let taken = stage.push(rest);
                append_all_past_cache(&file, stage.bytes()).expect("appended");
                text.extend_from_slice(&rest[..taken]);
                rest = &rest[taken..];
            }
            assert!(read_all(&file, 4 << 20).expect("read") == text, "{piece}");
        }
    }

    #[test]
    fn what_was_taken_away_is_missed() {
        let parent = tempfile::tempdir().expect("a directory");
        let path = parent.path().join("appendonlydir");
        let directory = Directory::open(&path).expect("made");
        let file = directory.create("a").expect("created");
        let seen = || [directory.is_in_place(), directory.has("a"), file.has_name()];
        let told = |found: [io::Result<bool>; 3]| found.map(|it| it.expect("told"));
        assert_eq!(told(seen()), [true, true, true]);
        std::fs::rename(&path, parent.path().join("elsewhere")).expect("moved");
        assert_eq!(told(seen()), [false, true, true]);
        std::fs::create_dir(&path).expect("made");
        assert_eq!(told(seen()), [false, true, true]);
        std::fs::remove_dir_all(parent.path().join("elsewhere")).expect("removed");
        assert_eq!(told(seen()), [false, false, false]);
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
