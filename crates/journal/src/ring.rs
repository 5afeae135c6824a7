//! The ring: places are taken by lanes, filled, and read once they are whole.
//!
//! Its folder has the unsafe code: bytes of a place are written through raw pointers, and what is
//! whole is lent as a slice. The invariants are those of the crate's front page.

mod consumer;
mod consumers;
mod gaps;
mod lane;
mod memory;

pub use consumer::{Consumer, ReadFromError};
pub use consumers::{ConsumerId, Slowest};
pub use lane::{Lane, Place};

use crate::chunks::{ChunkNumber, Chunks};
use crate::sync::{AtomicU64, AtomicUsize, Ordering, relax};
use crate::{CHUNK_BITS, CHUNK_BYTES};
use base::mutex::{Mutex, MutexGuard};
use consumers::Consumers;
use crossbeam_utils::CachePadded;
use gaps::Gaps;
use memory::Memory;
use std::io;
use std::ops::Range;
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
    /// First position of which the memory was not given up. Changes under the lock of the
    /// consumers.
    released: CachePadded<AtomicU64>,
    /// Lanes never wait for it.
    consumers: Mutex<Consumers>,
    /// Bytes that are no data, from what was not yet released on.
    gaps: Mutex<Gaps>,
    /// Database in which units stand bare. Changes while no lane puts anything.
    selected: AtomicUsize,
    chunks: Chunks,
    memory: Memory,
}

impl Ring {
    /// Creates a stream whose first position is `start`, with `lanes` lanes and no consumer. The
    /// distance from the oldest position that was not released to the tail may come to
    /// `span_bytes`, or to half of that or a quarter, as the system has address space.
    ///
    /// # Errors
    /// When it has not even enough for a few chunks.
    pub fn with_lanes(
        start: u64,
        lanes: usize,
        span_bytes: usize,
    ) -> io::Result<(Vec<Lane>, Arc<Ring>)> {
        let chunks = (span_bytes.div_ceil(CHUNK_BYTES)).next_power_of_two().max(4);
        let memory = Memory::of_chunks(chunks)?;
        let ring = Arc::new(Ring {
            tail: CachePadded::new(AtomicU64::new(start)),
            announced: (0..lanes).map(|_| CachePadded::new(AtomicU64::new(NOTHING))).collect(),
            released: CachePadded::new(AtomicU64::new(start)),
            consumers: Mutex::new(Consumers::default()),
            gaps: Mutex::new(Gaps::default()),
            selected: AtomicUsize::new(0),
            chunks: Chunks::new(memory.frames()),
            memory,
        });
        let lanes = (0..lanes).map(|number| Lane::new(&ring, number)).collect();
        Ok((lanes, ring))
    }

    /// Makes `position` the first of the stream, in which nothing was put yet and which nobody
    /// reads, and a database the selected one.
    ///
    /// # Panics
    /// When something was put, or there is a consumer.
    pub fn begin_at(&self, position: u64, selected: usize) {
        let consumers = self.consumers();
        let tail = self.tail.swap(position, Ordering::AcqRel);
        let is_new = tail == self.released() && consumers.slowest().is_none();
        assert!(is_new, "the stream has begun");
        self.released.store(position, Ordering::Release);
        self.set_selected_database(selected);
    }

    /// Position behind the last place taken.
    pub fn tail(&self) -> u64 {
        self.tail.load(Ordering::Acquire)
    }

    /// Number of the selected database, the one whose units need no SELECT.
    #[inline]
    pub fn selected_database(&self) -> usize {
        self.selected.load(Ordering::Relaxed)
    }

    pub(crate) fn set_selected_database(&self, selected: usize) {
        self.selected.store(selected, Ordering::Relaxed);
    }

    /// Bytes from the first that was not released to the tail, which some consumer still pins.
    pub fn pending_bytes(&self) -> u64 {
        self.tail().saturating_sub(self.released())
    }

    /// What of the first bytes that are no data lies from `from` on and before `to`, where all is
    /// whole and not released.
    pub fn first_gap(&self, from: u64, to: u64) -> Option<Range<u64>> {
        self.gaps.lock().first(from, to)
    }

    /// Bytes of memory that the stream takes, for chunks in use and those ready for use.
    pub fn resident_bytes(&self) -> u64 {
        self.chunks.resident_bytes()
    }

    /// The consumer that is furthest behind; none if there is no consumer.
    pub fn slowest(&self) -> Option<Slowest> {
        let (consumer, position) = self.consumers().slowest()?;
        Some(Slowest { consumer, position, behind_bytes: self.tail().saturating_sub(position) })
    }

    /// Asks a consumer to end, as one that is too far behind. What it pins stays until its owner
    /// has seen that and drops it, since the owner may be reading a slice at this moment. Returns
    /// false if it has ended already.
    pub fn dismiss(&self, consumer: ConsumerId) -> bool {
        self.consumers().dismiss(consumer)
    }

    /// Gives memory back to the system that was not needed since the last call.
    pub fn trim(&self) {
        self.memory.give_idle_back(&self.chunks);
    }

    /// First position of which the memory was not given up.
    fn released(&self) -> u64 {
        self.released.load(Ordering::Acquire)
    }

    /// Position up to which all places are full, and from which on nothing was released. A later
    /// call may return less: a lane may announce less than was whole before, where it has no place
    /// (invariant 4).
    fn whole(&self) -> u64 {
        // First what was released: what is whole in the end is never below it.
        let released = self.released();
        // Then the tail: places taken since are not counted, and of those below it the
        // announcements are seen.
        let tail = self.tail();
        let bounds = self.announced.iter().map(|bound| bound.load(Ordering::Acquire));
        bounds.fold(tail, u64::min).max(released)
    }

    fn consumers(&self) -> MutexGuard<'_, Consumers> {
        self.consumers.lock()
    }

    /// Gives up the memory of all that no consumer needs, up to what is whole. What is below
    /// `whole` is known to be.
    fn release_passed(&self, consumers: &Consumers, whole: u64) {
        let lowest = consumers.slowest().map_or(u64::MAX, |(_, position)| position);
        let to = if lowest <= whole { lowest } else { self.whole().max(whole).min(lowest) };
        let from = self.released();
        if to > from {
            (split(from).0..split(to).0).for_each(|chunk| self.chunks.retire(chunk));
            self.released.store(to, Ordering::Release);
            self.gaps.lock().forget(to);
        }
    }

    /// Gives up the memory of what is whole where there is no consumer, so that nothing grows for
    /// nobody. If others add, move or remove a consumer, they see to it.
    fn release_unread(&self) {
        if let Some(consumers) = self.consumers.try_lock()
            && consumers.slowest().is_none()
        {
            self.release_passed(&consumers, 0);
        }
    }

    /// The frame of a chunk in which a lane has places, installed if there is none. A lane that is
    /// a whole table ahead of what was released waits for that.
    fn frame_of(&self, chunk: ChunkNumber) -> u32 {
        loop {
            self.release_unread();
            if let Some(frame) = self.chunks.install(chunk) {
                return frame.number;
            }
            relax();
        }
    }
}

/// Chunk of a position, and its offset in it.
#[inline]
fn split(position: u64) -> (ChunkNumber, usize) {
    (position >> CHUNK_BITS, narrow::to_usize(position) & (CHUNK_BYTES - 1))
}
