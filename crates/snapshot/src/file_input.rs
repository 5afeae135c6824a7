//! A file that is read once, from front to back, in pieces as large as its items.

use crate::load_error::LoadError;
use rdb::{Checksum, Input};
use std::io::Read;

/// Bytes read at once.
const PIECE_BYTES: usize = 1 << 20;

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
        let count = narrow::to_usize(at - self.at);
        self.checksum.add(&self.buffer[self.from..self.from + count]);
        self.from += count;
        self.at = at;
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
