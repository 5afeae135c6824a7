//! Read access to long strings, part by part.

use super::{CHUNK_BYTES, ZEROS, node_of};
use crate::shard::ReadNodes;
use heap::Pinned;
use std::ops::Range;

/// A long string, for reading.
#[derive(Clone, Copy, Debug)]
pub struct LongView<'a> {
    nodes: ReadNodes<'a>,
    len: usize,
}

/// A part of a long string, at most one chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'a> {
    /// Bytes stored in a chunk.
    Bytes(&'a [u8]),
    /// Number of zeros that are not stored.
    Zeros(usize),
}

impl<'a> Part<'a> {
    /// Number of bytes.
    pub fn len(self) -> usize {
        match self {
            Part::Bytes(bytes) => bytes.len(),
            Part::Zeros(len) => len,
        }
    }

    /// Always false: a part has bytes.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns the stored bytes; none for zeros.
    pub(crate) fn stored_bytes(self) -> &'a [u8] {
        match self {
            Part::Bytes(bytes) => bytes,
            Part::Zeros(_) => &[],
        }
    }

    /// Returns the bytes, zeros included.
    pub fn bytes(self) -> &'a [u8] {
        match self {
            Part::Bytes(bytes) => bytes,
            Part::Zeros(len) => &ZEROS[..len],
        }
    }
}

impl<'a> LongView<'a> {
    pub(crate) fn new(nodes: ReadNodes<'a>, len: usize) -> LongView<'a> {
        LongView { nodes, len }
    }

    /// Its length in bytes.
    pub fn len(self) -> usize {
        self.len
    }

    /// Always false: a long string has bytes.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Iterates over the parts of a range, up to the end of the string.
    pub fn parts(self, range: Range<usize>) -> impl Iterator<Item = Part<'a>> + use<'a> {
        let end = range.end.min(self.len);
        let mut at = range.start;
        std::iter::from_fn(move || {
            let part = (at < end).then(|| self.part(at, end))?;
            at += part.len();
            Some(part)
        })
    }

    /// Pins the bytes of a range, up to the end of the string: they can be read when the lock of
    /// the key was given back, and are what they are now whatever becomes of the string. `None` if
    /// bytes of this store cannot be pinned.
    pub fn pin(self, range: Range<usize>) -> Option<Pinned> {
        let (mut pinned, end) = (self.nodes.pinned()?, range.end.min(self.len));
        let mut at = range.start;
        while at < end {
            let (chunk, from) = (at / CHUNK_BYTES, at % CHUNK_BYTES);
            let to = CHUNK_BYTES.min(end - chunk * CHUNK_BYTES);
            let stored = self.nodes.pin(node_of(chunk), from..to, &mut pinned);
            pinned.push_static(&ZEROS[from + stored..to]);
            at += to - from;
        }
        Some(pinned)
    }

    /// Returns the part from `at` on, up to `end` or the end of the chunk.
    fn part(self, at: usize, end: usize) -> Part<'a> {
        let (chunk, from) = (at / CHUNK_BYTES, at % CHUNK_BYTES);
        let to = CHUNK_BYTES.min(end - chunk * CHUNK_BYTES);
        let bytes = self.nodes.find(node_of(chunk)).unwrap_or(&[]);
        match bytes.get(from..to.min(bytes.len())) {
            Some(bytes) if !bytes.is_empty() => Part::Bytes(bytes),
            _ => Part::Zeros(to - from),
        }
    }

    /// Returns the byte at a position; `None` beyond the end.
    pub fn byte(self, at: usize) -> Option<u8> {
        self.parts(at..at.saturating_add(1)).next().map(|part| part.bytes()[0])
    }

    /// Copies the bytes from `at` on into `to`, with zeros for bytes beyond the end.
    pub fn copy_to(self, at: usize, to: &mut [u8]) {
        let mut done = 0;
        for part in self.parts(at..at.saturating_add(to.len())) {
            to[done..done + part.len()].copy_from_slice(part.bytes());
            done += part.len();
        }
        to[done..].fill(0);
    }
}
