//! Bytes of a stream that are kept until somebody has taken them: in files without a name.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Size from which on another file follows, so that what nobody needs can be given back.
const FILE_BYTES: u64 = if cfg!(test) { 1000 } else { 64 << 20 };

/// A range of positions, in files.
#[derive(Debug, Default)]
pub struct Spool {
    parts: VecDeque<Part>,
}

#[derive(Debug)]
struct Part {
    first: u64,
    end: u64,
    file: File,
}

impl Spool {
    /// First position that is here; `None` if there is none.
    pub fn first(&self) -> Option<u64> {
        self.parts.front().map(|part| part.first)
    }

    /// Position behind what is here; `None` if there is nothing.
    pub fn end(&self) -> Option<u64> {
        self.parts.back().map(|part| part.end)
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.end - part.first).sum()
    }

    /// Adds what stands at a position: the end of what is here, if something is. Files are made in
    /// `directory`.
    ///
    /// # Errors
    /// Those of the system; nothing was added then.
    pub fn push(&mut self, directory: &Path, position: u64, bytes: &[u8]) -> io::Result<()> {
        let is_full = |part: &Part| part.end - part.first >= FILE_BYTES;
        if self.parts.back().is_none_or(is_full) {
            let file = tempfile::tempfile_in(directory)?;
            self.parts.push_back(Part { first: position, end: position, file });
        }
        let Some(part) = self.parts.back_mut() else { return Ok(()) };
        assert_eq!(part.end, position, "a spool has no holes");
        part.file.write_all_at(bytes, position - part.first)?;
        part.end += bytes.len() as u64;
        Ok(())
    }

    /// Puts in front what ends where this begins; `end` is where that is if there is nothing here.
    /// Nothing changes if that is not so.
    pub fn put_before(&mut self, earlier: Spool, end: u64) {
        if earlier.end() == Some(self.first().unwrap_or(end)) {
            let later = std::mem::replace(self, earlier);
            self.parts.extend(later.parts);
        }
    }

    /// Reads what stands from a position on, into as much of `room` as is here.
    ///
    /// # Errors
    /// Those of the system, and when the position is not here.
    pub fn read(&self, position: u64, room: &mut [u8]) -> io::Result<usize> {
        let at = self.parts.partition_point(|part| part.end <= position);
        let part = self.parts.get(at).filter(|part| part.first <= position);
        let part = part.ok_or(io::ErrorKind::NotFound)?;
        let left = usize::try_from(part.end - position).unwrap_or(usize::MAX);
        let bytes = left.min(room.len());
        part.file.read_exact_at(&mut room[..bytes], position - part.first)?;
        Ok(bytes)
    }

    /// Forgets what stands before a position, file by file.
    pub fn forget(&mut self, before: u64) {
        while self.parts.front().is_some_and(|part| part.end <= before) {
            self.parts.pop_front();
        }
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.parts.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "files")]
    fn what_was_pushed_is_read_again_until_it_is_forgotten() {
        let directory = tempfile::tempdir().expect("a directory");
        let (mut spool, piece) = (Spool::default(), vec![7; 600]);
        let size = piece.len() as u64;
        for number in 0..3 {
            spool.push(directory.path(), 100 + number * size, &piece).expect("room");
        }
        let end = 100 + 3 * size;
        spool.push(directory.path(), end, b"end").expect("room");
        assert_eq!((spool.first(), spool.bytes()), (Some(100), 3 * size + 3));
        assert_eq!(std::fs::read_dir(directory.path()).expect("read").count(), 0, "no names");
        let mut room = [0; 8];
        let border = 100 + 2 * size;
        assert_eq!(spool.read(border - 2, &mut room).expect("there"), 2, "up to its file's end");
        assert_eq!(spool.read(end, &mut room).expect("there"), 3);
        assert_eq!(&room[..3], b"end");
        spool.forget(100 + size);
        assert_eq!(spool.first(), Some(100), "a file goes as a whole");
        spool.forget(end);
        assert_eq!(spool.first(), Some(100 + 2 * size), "the last file is needed");
        assert!(spool.read(100, &mut room).is_err());
        assert!(spool.read(end + 3, &mut room).is_err());
    }

    #[test]
    #[cfg_attr(miri, ignore = "files")]
    fn what_stands_right_before_is_put_in_front_and_nothing_else() {
        let directory = tempfile::tempdir().expect("a directory");
        let spool = |position, bytes: &[u8]| {
            let mut spool = Spool::default();
            spool.push(directory.path(), position, bytes).expect("room");
            spool
        };
        let mut kept = Spool::default();
        kept.put_before(spool(100, b"far"), 110);
        assert_eq!(kept.first(), None, "there would be a hole");
        kept.put_before(spool(107, b"cde"), 110);
        kept.put_before(spool(100, b"far"), 110);
        assert_eq!(kept.first(), Some(107));
        kept.put_before(spool(105, b"ab"), 110);
        let mut room = [0; 8];
        assert_eq!((kept.first(), kept.end(), kept.bytes()), (Some(105), Some(110), 5));
        assert_eq!(kept.read(105, &mut room).expect("there"), 2, "up to its file's end");
        assert_eq!(kept.read(107, &mut room).expect("there"), 3);
        assert_eq!(&room[..3], b"cde");
    }
}
