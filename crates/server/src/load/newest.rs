//! The newest bytes of the stream, as the files that were loaded have them: a replica that lacked
//! some when the server ended goes on with them.
//!
//! ```text
//! file   | unit | unit | #varve line | unit | #gap 14 | unit |
//! spool  | unit | unit               | unit | PING    | unit |  up to the end of the stream
//! ```
//! Where units begin is noted while a file is executed: nobody looks for it in bytes that clients
//! have sent.

use crate::spool::Spool;
use journal::disk::{Files, OpenFile};
use journal::reader::{AofReader, Piece, ReadError};
use replication::spoken;
use std::io;
use std::ops::Range;
use std::path::Path;

/// Bytes between two places of a file.
const PLACE_BYTES: u64 = 1 << 20;
/// Bytes that are written to a spool at once.
const WRITTEN_BYTES: usize = 256 << 10;

/// Where in the files units of the stream begin.
#[derive(Debug, Default)]
pub struct Places {
    /// The files in order.
    files: Vec<FilePlaces>,
}

/// Where in one file they do.
#[derive(Debug)]
pub struct FilePlaces {
    /// Its name.
    pub name: String,
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

impl Places {
    /// Adds those of the next file.
    pub fn push(&mut self, file: FilePlaces) {
        self.files.push(file);
    }

    /// Reads the stream again from `wanted`, or as near to it as it can be had, up to its end.
    /// There is nothing in the spool, whose files are made in `directory`, if it cannot be had.
    ///
    /// # Errors
    /// Those of the system.
    pub fn read<F: Files<File = OpenFile>>(
        &self,
        files: &F,
        wanted: Range<u64>,
        directory: &Path,
    ) -> io::Result<Spool> {
        let begins_before =
            |it: &FilePlaces| it.places.first().is_some_and(|it| it.1 <= wanted.start);
        let first = self.files.iter().rposition(begins_before).unwrap_or(0);
        let mut copy =
            Copy { wanted, directory, at: None, bytes: Vec::new(), spool: Spool::default() };
        for it in &self.files[first.min(self.files.len())..] {
            let before = it.places.iter().rfind(|(_, position)| *position <= copy.wanted.start);
            let (offset, position) =
                before.map_or((it.executed.start, None), |it| (it.0, Some(it.1)));
            let file = files.open(&it.name)?;
            copy.at = position;
            copy.read(&mut AofReader::between(&file, offset, it.executed.end))?;
        }
        copy.end()
    }
}

/// The stream on its way from files to a spool.
struct Copy<'d> {
    wanted: Range<u64>,
    directory: &'d Path,
    /// Position behind what was read, if it is known.
    at: Option<u64>,
    /// What was read last, up to there.
    bytes: Vec<u8>,
    spool: Spool,
}

impl Copy<'_> {
    fn read(&mut self, reader: &mut AofReader<'_, OpenFile>) -> io::Result<()> {
        loop {
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
    }

    /// Takes what stands next in the stream.
    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        // In front of the first line of a file a database is selected, which is not in the stream.
        let Some(at) = self.at else { return Ok(()) };
        let end = at + bytes.len() as u64;
        self.at = Some(end);
        if end <= self.wanted.start {
            return Ok(());
        }
        let follows = self.spool.end().is_none_or(|it| it + self.bytes.len() as u64 == at);
        if !follows {
            self.forget();
        }
        let skipped = narrow::to_usize(self.wanted.start.saturating_sub(at));
        self.bytes.extend_from_slice(&bytes[skipped..]);
        if self.bytes.len() >= WRITTEN_BYTES { self.write() } else { Ok(()) }
    }

    /// Takes bytes that are in no file. Replicas get others of the same length, which change
    /// nothing either.
    fn fill(&mut self, bytes: u64) -> io::Result<()> {
        let is_short = bytes <= self.wanted.end - self.wanted.start;
        match is_short.then(|| spoken::filler(narrow::to_usize(bytes))).flatten() {
            Some(filler) => self.take(&filler),
            None => {
                self.forget();
                self.at = self.at.map(|at| at.saturating_add(bytes));
                Ok(())
            }
        }
    }

    fn write(&mut self) -> io::Result<()> {
        if let Some(at) = self.at.filter(|_| !self.bytes.is_empty()) {
            self.spool.push(self.directory, at - self.bytes.len() as u64, &self.bytes)?;
            self.bytes.clear();
        }
        Ok(())
    }

    /// Forgets what was read so far: what follows does not stand behind it.
    fn forget(&mut self) {
        self.bytes.clear();
        self.spool.clear();
    }

    fn end(mut self) -> io::Result<Spool> {
        self.write()?;
        if self.spool.end() != Some(self.wanted.end) {
            self.spool.clear();
        }
        Ok(self.spool)
    }
}
