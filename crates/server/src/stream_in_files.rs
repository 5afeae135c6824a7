//! The stream from before a start, as the files that were loaded have it: a replica that lacked
//! some when the server ended goes on with it.
//!
//! ```text
//! file   | unit | unit | #varve line | unit | #gap 14 | unit |
//! spool  | unit | unit               | unit | PING    | unit |  up to the end of the stream
//! ```
//! Where units begin is noted while a file is executed: nobody looks for it in bytes that clients
//! have sent. Nothing is read again before a replica asks for it. Until then a rotation removes
//! none of these files, as far as they may be kept.

use crate::kept_files::{Keeper, KeptFiles};
use base::Spool;
use journal::disk::OpenFile;
use journal::reader::{AofReader, Piece, ReadError};
use replication::spoken;
use std::collections::VecDeque;
use std::io;
use std::ops::Range;
use std::path::Path;

/// Bytes between two places of a file.
const PLACE_BYTES: u64 = 1 << 20;
/// Bytes that are written to a spool at once.
const WRITTEN_BYTES: usize = 256 << 10;
/// Most bytes of one filler, up to twice as many at the end.
const FILLER_BYTES: u64 = 64 << 10;
/// Most files that are open, the newest. A set has one or two, unless rotations have failed.
const FILES_MAX: usize = 8;

/// The stream in the files of a set.
#[derive(Debug, Default)]
pub struct StreamInFiles {
    /// The files in order.
    files: VecDeque<FilePlaces>,
    keeper: Option<Keeper>,
}

/// Where in a file units of the stream begin.
#[derive(Debug)]
pub struct FilePlaces {
    /// Its name.
    pub name: String,
    /// The file.
    pub file: OpenFile,
    /// Offset from which to which it was executed.
    pub executed: Range<u64>,
    /// Offsets at which units begin, and their positions in the stream, in order.
    pub places: Vec<(u64, u64)>,
}

/// Notes that a unit begins at an offset, if that is far enough from the one before.
#[inline]
pub fn note(places: &mut Vec<(u64, u64)>, offset: u64, position: impl FnOnce() -> Option<u64>) {
    let is_next = places.last().is_none_or(|(last, _)| offset - last >= PLACE_BYTES);
    if is_next && let Some(position) = position() {
        places.push((offset, position));
    }
}

impl StreamInFiles {
    /// Adds the next file.
    pub fn push(&mut self, file: FilePlaces) {
        if self.files.len() == FILES_MAX {
            self.files.pop_front();
        }
        self.files.push_back(file);
    }

    /// Has the newest files that are no more than `bytes` together kept from now on.
    pub fn keep(&mut self, kept_files: &KeptFiles, mut bytes: u64) {
        let has_room = |it: &&FilePlaces| {
            let left = bytes.checked_sub(it.executed.end);
            bytes = left.unwrap_or(0);
            left.is_some()
        };
        let with_stream = self.files.iter().rev().filter(|it| !it.executed.is_empty());
        let newest = with_stream.take_while(has_room);
        let names = newest.map(|it| it.name.clone()).collect();
        self.keeper = Some(kept_files.keep(names));
    }

    /// Reads the positions that are wanted, into files that are made in `directory`. There is
    /// nothing in the spool if they are not all there.
    ///
    /// # Errors
    /// Those of the system.
    pub fn read(&self, wanted: Range<u64>, directory: &Path) -> io::Result<Spool> {
        let begins_before =
            |it: &FilePlaces| it.places.first().is_some_and(|it| it.1 <= wanted.start);
        let first = self.files.iter().rposition(begins_before).unwrap_or(0);
        let mut copy =
            Copy { wanted, directory, at: None, bytes: Vec::new(), spool: Spool::default() };
        for it in self.files.iter().skip(first) {
            let before = it.places.iter().rfind(|(_, position)| *position <= copy.wanted.start);
            let (offset, position) =
                before.map_or((it.executed.start, None), |it| (it.0, Some(it.1)));
            copy.at = position;
            copy.read(&mut AofReader::again(&it.file, offset, it.executed.end))?;
        }
        copy.end()
    }
}

/// The stream on its way from files to a spool.
struct Copy<'d> {
    /// What is wanted yet.
    wanted: Range<u64>,
    directory: &'d Path,
    /// Position behind what was read, if it is known.
    at: Option<u64>,
    /// What was taken last: it stands in front of what is wanted yet.
    bytes: Vec<u8>,
    spool: Spool,
}

impl Copy<'_> {
    fn read(&mut self, reader: &mut AofReader<'_, OpenFile>) -> io::Result<()> {
        while !self.wanted.is_empty() {
            match reader.next_piece() {
                Ok(Some(Piece::Stream(bytes))) => self.take(bytes)?,
                Ok(Some(Piece::Gap(bytes))) => self.fill(bytes)?,
                Ok(Some(Piece::Line)) => {
                    let told = reader.verified().line.map(|line| line.position);
                    self.at = self.at.or(told);
                }
                // What is torn was cut off.
                Ok(None) | Err(ReadError::Broken { .. }) => return Ok(()),
                Err(ReadError::Disk(error)) => return Err(error),
            }
        }
        Ok(())
    }

    /// Takes of what stands next in the stream what is wanted.
    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        // In front of the first line of a file a database is selected, which is not in the stream.
        let Some(at) = self.at else { return Ok(()) };
        self.at = Some(at.saturating_add(bytes.len() as u64));
        // Behind a hole nothing is of use.
        let Some(skipped) = self.wanted.start.checked_sub(at) else { return Ok(()) };
        let skipped = narrow::to_usize(skipped).min(bytes.len());
        let left = narrow::to_usize(self.wanted.end - self.wanted.start);
        let taken = left.min(bytes.len() - skipped);
        self.bytes.extend_from_slice(&bytes[skipped..skipped + taken]);
        self.wanted.start += taken as u64;
        if self.bytes.len() >= WRITTEN_BYTES { self.write() } else { Ok(()) }
    }

    /// Takes bytes that are in no file. Replicas get others of the same length, which change
    /// nothing either.
    fn fill(&mut self, mut bytes: u64) -> io::Result<()> {
        let is_over = |at: u64| at.saturating_add(bytes) <= self.wanted.start;
        if self.at.is_none_or(is_over) {
            self.at = self.at.map(|at| at.saturating_add(bytes));
            return Ok(());
        }
        while bytes > 0 && !self.wanted.is_empty() {
            let next = if bytes < 2 * FILLER_BYTES { bytes } else { FILLER_BYTES };
            match spoken::filler(narrow::to_usize(next)) {
                Some(filler) => self.take(&filler)?,
                None => self.at = self.at.map(|at| at.saturating_add(next)),
            }
            bytes -= next;
        }
        Ok(())
    }

    fn write(&mut self) -> io::Result<()> {
        if !self.bytes.is_empty() {
            let at = self.wanted.start - self.bytes.len() as u64;
            self.spool.push(self.directory, at, &self.bytes)?;
            self.bytes.clear();
        }
        Ok(())
    }

    fn end(mut self) -> io::Result<Spool> {
        self.write()?;
        if !self.wanted.is_empty() {
            self.spool.clear();
        }
        Ok(self.spool)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use journal::disk::{Directory, File, Files};
    use journal::sync_line::{Checksum, ReplicationId};

    const FIRST: u64 = 1000;

    /// A file with `units` from a position on, as the server writes and executes it; the stream
    /// that it has is added to `stream`. There is no unit number 7, but a gap.
    fn file(
        directory: &Directory,
        name: &str,
        units: Range<u64>,
        stream: &mut Vec<u8>,
    ) -> FilePlaces {
        let id = ReplicationId::parse(&[b'c'; 40]).expect("digits");
        let (mut bytes, mut sum, mut places) = (Vec::new(), Checksum::default(), Vec::new());
        let put = |bytes: &mut Vec<u8>, sum: &mut Checksum, text: &[u8]| {
            bytes.extend_from_slice(text);
            sum.update(text);
        };
        let position = |stream: &Vec<u8>| FIRST + stream.len() as u64;
        put(&mut bytes, &mut sum, b"*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n");
        for unit in units {
            if unit.is_multiple_of(3) {
                let line = sum.line(position(stream), id, 0, true);
                bytes.extend_from_slice(line.as_bytes());
            }
            if unit == 7 {
                put(&mut bytes, &mut sum, b"#gap 300000\r\n");
                for size in [65_536, 65_536, 65_536, 103_392] {
                    stream.extend(spoken::filler(size).expect("long enough"));
                }
                continue;
            }
            if unit.is_multiple_of(2) {
                places.push((bytes.len() as u64, position(stream)));
            }
            let text = format!("*2\r\n$4\r\nINCR\r\n$1\r\n{unit}\r\n");
            put(&mut bytes, &mut sum, text.as_bytes());
            stream.extend_from_slice(text.as_bytes());
        }
        let file = directory.create(name).expect("made");
        file.append(&bytes).expect("written");
        let executed = 0..bytes.len() as u64;
        FilePlaces { name: name.to_owned(), file, executed, places }
    }

    #[test]
    fn the_stream_is_read_again_from_any_place_to_any_other() {
        let folder = tempfile::tempdir().expect("a directory");
        let directory = Directory::open(folder.path()).expect("opened");
        let (mut in_files, mut stream) = (StreamInFiles::default(), Vec::new());
        in_files.push(file(&directory, "a", 0..5, &mut stream));
        in_files.push(file(&directory, "b", 6..10, &mut stream));
        let end = FIRST + stream.len() as u64;
        let about = |place: u64| place.saturating_sub(2)..place + 3;
        let begins = about(FIRST + 30).chain(about(FIRST + 125)).chain(about(end - 60));
        for begin in begins.chain([FIRST, FIRST + 70_000, end - 1]) {
            // Small files have no places.
            in_files.files[0].places.retain(|_| begin % 2 == 0);
            for until in [begin + 1, begin + 40, end - 1, end]
                .into_iter()
                .filter(|it| (begin + 1..=end).contains(it))
            {
                let spool = in_files.read(begin..until, folder.path()).expect("read");
                assert_eq!(spool.end(), Some(until), "{begin} to {until}");
                let mut found = Vec::new();
                while begin + (found.len() as u64) < until {
                    let mut room = [0; 9000];
                    let read = spool.read(begin + found.len() as u64, &mut room).expect("there");
                    found.extend_from_slice(&room[..read]);
                }
                let at = narrow::to_usize(begin - FIRST);
                assert!(found == stream[at..at + found.len()], "{begin} to {until}");
            }
        }
        for lacks in [FIRST - 1..end, end - 1..end + 1] {
            assert_eq!(in_files.read(lacks, folder.path()).expect("read").end(), None);
        }
    }
}
