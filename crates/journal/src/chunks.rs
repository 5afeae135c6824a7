//! Frames of memory for the chunks of the stream that are on their way.
//!
//! ```text
//! position ─▶ chunk number ─▶ table[number % frames]: lap:32 | frame + 1:32 ─▶ frame of memory
//!
//! cold ──install──▶ in the table ──retire──▶ warm ──install──▶ in the table
//!   ▲                                          │ newest first
//!   └───────────────────trim───────────────────┘
//! ```
//! A thread that fills bytes of a chunk without a frame installs one. Two threads that do so at
//! once both take a frame, and one of them gives it back, so nobody waits for another thread.
//! Memory of warm frames is resident; the rest of the address space takes none.
//!
//! The lap tells a chunk from the one that had its entry before, a whole table ago. A lane that is
//! a whole table ahead gets no frame; writers are stalled long before that.

use crate::CHUNK_BITS;
use crate::stack::{Links, Stack};
use crate::sync::{AtomicU64, AtomicUsize, Ordering};

/// Number of a chunk: its first position divided by its size.
pub(crate) type ChunkNumber = u64;

/// Table of chunks and pool of frames. It deals in numbers; the bytes are the ring's.
#[derive(Debug)]
pub(crate) struct Chunks {
    table: Box<[AtomicU64]>,
    links: Links,
    /// Frames that hold no chunk and have memory.
    warm: Stack,
    /// Frames that hold no chunk and have none.
    cold: Stack,
    warm_count: AtomicUsize,
    /// Smallest number of warm frames since the last `idle`.
    warm_least: AtomicUsize,
    /// Frames that are not cold.
    resident: AtomicUsize,
}

/// Frame taken from the pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub number: u32,
    /// True if its memory has to be touched first.
    pub is_cold: bool,
}

impl Chunks {
    /// A table of `frames` chunks, a power of two.
    pub fn new(frames: u32) -> Chunks {
        assert!(frames.is_power_of_two());
        let (links, cold) = (Links::new(frames), Stack::new());
        (0..frames).rev().for_each(|frame| cold.push(&links, frame));
        Chunks {
            table: (0..frames).map(|_| AtomicU64::new(0)).collect(),
            links,
            warm: Stack::new(),
            cold,
            warm_count: AtomicUsize::new(0),
            warm_least: AtomicUsize::new(0),
            resident: AtomicUsize::new(0),
        }
    }

    /// The frame of a chunk, if it has one.
    #[inline]
    pub fn installed(&self, chunk: ChunkNumber) -> Option<u32> {
        self.frame_in(self.entry(chunk).load(Ordering::Acquire), chunk)
    }

    /// Gives a frame to a chunk. Returns the one that it has then, which may be another thread's;
    /// none if the chunk before it has not left the entry, or frames are on their way between
    /// others.
    #[cold]
    pub fn install(&self, chunk: ChunkNumber) -> Option<Frame> {
        let entry = self.entry(chunk);
        let mut word = entry.load(Ordering::Acquire);
        if word == 0 {
            let frame = self.take()?;
            let new = self.lap(chunk) << 32 | u64::from(frame.number + 1);
            match entry.compare_exchange(0, new, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(frame),
                Err(other) => word = other,
            }
            self.put(frame.number);
        }
        self.frame_in(word, chunk).map(|number| Frame { number, is_cold: false })
    }

    /// The frame that a word of the table has for a chunk.
    #[inline]
    fn frame_in(&self, word: u64, chunk: ChunkNumber) -> Option<u32> {
        if word >> 32 == self.lap(chunk) { narrow::low_u32(word).checked_sub(1) } else { None }
    }

    /// Takes the frame away from a chunk whose bytes nobody reads or writes any more.
    pub fn retire(&self, chunk: ChunkNumber) {
        let word = self.entry(chunk).swap(0, Ordering::AcqRel);
        assert!(word >> 32 == self.lap(chunk) && narrow::low_u32(word) != 0, "a chunk never used");
        self.put(narrow::low_u32(word) - 1);
    }

    /// Takes a warm frame, whose memory is to be given back before it is handed to `put_cold`.
    pub fn take_warm(&self) -> Option<u32> {
        let frame = self.warm.pop(&self.links)?;
        self.warm_count.fetch_sub(1, Ordering::Relaxed);
        Some(frame)
    }

    /// Number of warm frames that nobody needed since the last call.
    pub fn idle(&self) -> usize {
        let count = self.warm_count.load(Ordering::Relaxed);
        self.warm_least.swap(count, Ordering::Relaxed).min(count)
    }

    /// Puts away a frame whose memory was given back.
    pub fn put_cold(&self, frame: u32) {
        self.resident.fetch_sub(1, Ordering::Relaxed);
        self.cold.push(&self.links, frame);
    }

    /// Bytes of frames that have memory, in use or warm.
    pub fn resident_bytes(&self) -> u64 {
        (self.resident.load(Ordering::Relaxed) as u64) << CHUNK_BITS
    }

    fn take(&self) -> Option<Frame> {
        if let Some(number) = self.warm.pop(&self.links) {
            // Another thread may have pushed what it has not yet counted; the sum comes right.
            let before = self.warm_count.fetch_sub(1, Ordering::Relaxed);
            self.warm_least.fetch_min(before.wrapping_sub(1), Ordering::Relaxed);
            return Some(Frame { number, is_cold: false });
        }
        let number = self.cold.pop(&self.links)?;
        self.resident.fetch_add(1, Ordering::Relaxed);
        Some(Frame { number, is_cold: true })
    }

    fn put(&self, frame: u32) {
        // Counted first, so that the count is never below zero.
        self.warm_count.fetch_add(1, Ordering::Relaxed);
        self.warm.push(&self.links, frame);
    }

    #[inline]
    fn entry(&self, chunk: ChunkNumber) -> &AtomicU64 {
        &self.table[narrow::to_usize(chunk) & (self.table.len() - 1)]
    }

    #[inline]
    fn lap(&self, chunk: ChunkNumber) -> u64 {
        (chunk >> self.table.len().trailing_zeros()) & u64::from(u32::MAX)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn frame_of(chunks: &Chunks, chunk: ChunkNumber) -> u32 {
        chunks.install(chunk).expect("a frame").number
    }

    #[test]
    fn a_chunk_keeps_its_frame_until_it_is_retired() {
        let chunks = Chunks::new(4);
        let first = frame_of(&chunks, 9);
        assert_eq!((frame_of(&chunks, 9), chunks.installed(9)), (first, Some(first)));
        assert_ne!(frame_of(&chunks, 10), first);
        chunks.retire(9);
        assert_eq!(chunks.installed(9), None);
    }

    #[test]
    fn the_frame_retired_last_is_used_next() {
        let chunks = Chunks::new(4);
        let frames = [0, 1, 2].map(|chunk| frame_of(&chunks, chunk));
        chunks.retire(0);
        chunks.retire(1);
        let newest = Frame { number: frames[1], is_cold: false };
        assert_eq!(chunks.install(3), Some(newest));
        assert_eq!(chunks.resident_bytes(), 3 << CHUNK_BITS);
    }

    #[test]
    fn the_chunk_that_had_the_entry_before_is_another() {
        let chunks = Chunks::new(2);
        frame_of(&chunks, 5);
        assert_eq!((chunks.installed(7), chunks.install(7)), (None, None));
        chunks.retire(5);
        frame_of(&chunks, 7);
        assert_eq!(chunks.installed(5), None);
        assert!(chunks.installed(7).is_some());
    }

    #[test]
    fn frames_that_nobody_needed_are_idle() {
        let chunks = Chunks::new(4);
        for chunk in 0..3 {
            frame_of(&chunks, chunk);
        }
        (0..3).for_each(|chunk| chunks.retire(chunk));
        assert_eq!(chunks.idle(), 0, "they were in use a moment ago");
        frame_of(&chunks, 3);
        chunks.retire(3);
        assert_eq!(chunks.idle(), 2, "one of the three was used");
        assert_eq!(chunks.idle(), 3);
        let frame = chunks.take_warm().expect("a warm frame");
        chunks.put_cold(frame);
        assert_eq!(chunks.resident_bytes(), 2 << CHUNK_BITS);
    }
}
