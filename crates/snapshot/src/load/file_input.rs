//! A file that is read once, from front to back, in pieces as large as its items.

use super::error::LoadError;
use rdb::{Checksum, Input};
use std::io::Read;
use std::ops::Range;

/// Bytes read at once: few enough to stay in the processor's cache until they are loaded.
const PIECE_BYTES: usize = 256 << 10;

/// Bytes of a file, given away.
#[derive(Debug)]
pub(crate) struct Piece {
    bytes: Vec<u8>,
    range: Range<usize>,
    /// Offset in the file of the first of them.
    pub at: u64,
}

impl Piece {
    /// The bytes.
    pub fn input(&self) -> Input<'_> {
        Input::new(&self.bytes[self.range.clone()], self.at)
    }

    /// Number of bytes.
    pub fn len(&self) -> u64 {
        self.range.len() as u64
    }
}

/// Bytes of a file that were read and not yet consumed.
#[derive(Debug)]
pub(crate) struct FileInput<R> {
    file: R,
    buffer: Vec<u8>,
    /// Offset in `buffer` of the first byte that is not consumed.
    from: usize,
    /// Offset of that byte in the file.
    at: u64,
    checksum: Checksum,
}

impl<R: Read> FileInput<R> {
    pub fn new(file: R) -> FileInput<R> {
        FileInput { file, buffer: Vec::new(), from: 0, at: 0, checksum: Checksum::default() }
    }

    /// Offset in the file of the next byte.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Checksum of all bytes that were consumed.
    pub fn checksum(&self) -> u64 {
        self.checksum.value()
    }

    /// The bytes that are there.
    pub fn input(&self) -> Input<'_> {
        Input::new(&self.buffer[self.from..], self.at)
    }

    /// Consumes the bytes up to an offset of the file.
    pub fn consume_to(&mut self, at: u64) {
        self.checksum_to(at);
        self.from += narrow::to_usize(at - self.at);
        self.at = at;
    }

    /// Consumes the bytes up to an offset of the file, and gives them away.
    pub fn take_to(&mut self, at: u64) -> Piece {
        let from = self.at;
        self.checksum_to(at);
        let end = self.from + narrow::to_usize(at - from);
        let mut rest = Vec::with_capacity(PIECE_BYTES + self.buffer.len() - end);
        rest.extend_from_slice(&self.buffer[end..]);
        let bytes = std::mem::replace(&mut self.buffer, rest);
        let range = std::mem::take(&mut self.from)..end;
        self.at = at;
        Piece { bytes, range, at: from }
    }

    fn checksum_to(&mut self, at: u64) {
        let count = narrow::to_usize(at - self.at);
        self.checksum.add(&self.buffer[self.from..self.from + count]);
    }

    /// Reads more bytes: at least as many as are there, so that an item of any length takes few
    /// tries. Returns false at the end of the file.
    pub fn fill(&mut self) -> Result<bool, LoadError> {
        self.buffer.drain(..self.from);
        self.from = 0;
        let begin = self.buffer.len();
        let wanted = PIECE_BYTES.max(begin) as u64;
        let read = self.file.by_ref().take(wanted).read_to_end(&mut self.buffer);
        read.map_err(LoadError::Read)?;
        Ok(self.buffer.len() > begin)
    }
}
