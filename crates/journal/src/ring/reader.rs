//! The end of the stream that is read.

use super::{Ring, split};
use crate::CHUNK_BYTES;
use crate::sync::Ordering;
use std::sync::Arc;

/// The end of the stream that is read: what is whole, up to what is whole.
#[derive(Debug)]
pub struct Reader {
    pub(super) ring: Arc<Ring>,
    whole: u64,
    released: u64,
}

impl Reader {
    pub(super) fn new(ring: Arc<Ring>, start: u64) -> Reader {
        Reader { ring, whole: start, released: start }
    }

    /// Makes `position` the first of the stream, in which nothing was put yet, and a database the
    /// home.
    ///
    /// # Panics
    /// When something was.
    pub fn begin_at(&mut self, position: u64, home: usize) {
        let tail = self.ring.tail.swap(position, Ordering::AcqRel);
        assert!(tail == self.released, "the stream has begun");
        (self.whole, self.released) = (position, position);
        self.ring.released.store(position, Ordering::Release);
        self.ring.set_home(home);
    }

    /// Position up to which all places are full. It is the end of a unit.
    pub fn whole(&mut self) -> u64 {
        // First the tail: places taken since are not counted, and of those below it the
        // announcements are seen.
        let tail = self.ring.tail.load(Ordering::Acquire);
        let bounds = self.ring.announced.iter().map(|bound| bound.load(Ordering::Acquire));
        // A lane may announce less than was whole before: it has no place there (invariant 4).
        self.whole = bounds.fold(tail, u64::min).max(self.whole);
        self.whole
    }

    /// The first of the bytes of `from..to`, as many as lie in one chunk; empty only if there are
    /// none.
    ///
    /// # Panics
    /// When not all of them are whole, or some were released.
    pub fn slice(&self, from: u64, to: u64) -> &[u8] {
        assert!(self.released <= from && from <= to && to <= self.whole, "not to be read");
        let (chunk, offset) = split(from);
        let bytes = narrow::to_usize(to - from).min(CHUNK_BYTES - offset);
        if bytes == 0 {
            return &[];
        }
        let frame = self.ring.chunks.installed(chunk).expect("whole chunks have a frame");
        // SAFETY: the bytes are full, and who filled them has released them to `whole`; they are
        // not written again before `release`, which borrows the reader exclusively.
        unsafe { self.ring.memory.bytes(frame, offset, bytes) }
    }

    /// First position that was not released.
    pub fn released(&self) -> u64 {
        self.released
    }

    /// Gives back the memory of all positions below `to`.
    ///
    /// # Panics
    /// When not all of them are whole.
    pub fn release(&mut self, to: u64) {
        assert!(self.released <= to && to <= self.whole, "not to be released");
        for chunk in split(self.released).0..split(to).0 {
            self.ring.chunks.retire(chunk);
        }
        self.released = to;
        self.ring.released.store(to, Ordering::Release);
    }

    /// Makes the chunk behind the tail ready, so that no lane has to touch new memory while the
    /// stream flows as fast as this is called.
    pub fn prepare(&mut self) {
        let frame = self.ring.chunks.install(split(self.ring.tail()).0 + 1);
        if frame.is_cold {
            self.ring.memory.touch(frame.number);
        }
    }

    /// Gives memory back to the system that was not needed since the last call.
    pub fn trim(&mut self) {
        for _ in 0..self.ring.chunks.idle() {
            let Some(frame) = self.ring.chunks.take_warm() else { return };
            // SAFETY: whoever takes a frame off its stack has it alone.
            unsafe { self.ring.memory.release(frame) };
            self.ring.chunks.put_cold(frame);
        }
    }

    /// The ring.
    pub fn ring(&self) -> &Arc<Ring> {
        &self.ring
    }
}
