//! The ring: places are taken by lanes, filled, and read once they are whole.
//!
//! Its folder has the unsafe code: bytes of a place are written through raw pointers, and what is
//! whole is lent as a slice. The invariants are those of the crate's front page.

mod lane;
mod memory;
mod reader;

pub use lane::{Lane, Place};
pub use reader::Reader;

use crate::chunks::{ChunkNumber, Chunks};
use crate::sync::{AtomicU64, AtomicUsize, Ordering};
use crate::{CHUNK_BITS, CHUNK_BYTES};
use crossbeam_utils::CachePadded;
use memory::Memory;
use std::io;
use std::sync::Arc;

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, shuttle))]
mod shuttle_tests;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

/// Announcement of a lane that has no place open.
const NOTHING: u64 = u64::MAX;

/// Stream of bytes in memory, from what was not yet released to the tail.
#[derive(Debug)]
pub struct Ring {
    /// First position that was not taken.
    tail: CachePadded<AtomicU64>,
    /// For each lane a bound below its places, or `NOTHING`.
    announced: Box<[CachePadded<AtomicU64>]>,
    /// First position that the reader has not released.
    released: CachePadded<AtomicU64>,
    /// Database in which units stand bare. Changes while no lane puts anything.
    home: AtomicUsize,
    chunks: Chunks,
    memory: Memory,
}

impl Ring {
    /// Creates a stream whose first position is `start`, with `lanes` lanes and the reader. The
    /// distance from the oldest position that was not released to the tail may come to
    /// `span_bytes`, or to half of that or a quarter, as the system has address space.
    ///
    /// # Errors
    /// When it has not even enough for a few chunks.
    pub fn with_lanes(
        start: u64,
        lanes: usize,
        span_bytes: usize,
    ) -> io::Result<(Vec<Lane>, Reader)> {
        let chunks = (span_bytes.div_ceil(CHUNK_BYTES)).next_power_of_two().max(4);
        let memory = Memory::of_chunks(chunks)?;
        let ring = Arc::new(Ring {
            tail: CachePadded::new(AtomicU64::new(start)),
            announced: (0..lanes).map(|_| CachePadded::new(AtomicU64::new(NOTHING))).collect(),
            released: CachePadded::new(AtomicU64::new(start)),
            home: AtomicUsize::new(0),
            chunks: Chunks::new(memory.frames()),
            memory,
        });
        let lanes = (0..lanes).map(|number| Lane::new(&ring, number)).collect();
        Ok((lanes, Reader::new(ring, start)))
    }

    /// Position behind the last place taken.
    pub fn tail(&self) -> u64 {
        self.tail.load(Ordering::Acquire)
    }

    /// Number of the home database.
    #[inline]
    pub fn home(&self) -> usize {
        self.home.load(Ordering::Relaxed)
    }

    pub(crate) fn set_home(&self, home: usize) {
        self.home.store(home, Ordering::Relaxed);
    }

    /// Bytes from the first that was not released to the tail: what writers are held back by.
    pub fn pending_bytes(&self) -> u64 {
        self.tail().saturating_sub(self.released.load(Ordering::Acquire))
    }

    /// Bytes of memory that the stream takes, for chunks in use and those ready for use.
    pub fn resident_bytes(&self) -> u64 {
        self.chunks.resident_bytes()
    }
}

/// Chunk of a position, and its offset in it.
#[inline]
fn split(position: u64) -> (ChunkNumber, usize) {
    (position >> CHUNK_BITS, narrow::to_usize(position) & (CHUNK_BYTES - 1))
}
