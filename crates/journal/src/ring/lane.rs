//! The end of the stream that is written: places are taken and filled.

use super::{NOTHING, Ring, split};
use crate::CHUNK_BYTES;
use crate::chunks::ChunkNumber;
use crate::sync::Ordering;
use std::sync::Arc;

/// Where a thread puts its units. It says once for many units below which position it has none that
/// is not full.
#[derive(Debug)]
pub struct Lane {
    ring: Arc<Ring>,
    id: LaneId,
    /// Which announcement is its own.
    number: usize,
    /// Places taken and not full.
    open: usize,
    pub(super) is_announced: bool,
    /// Chunk that was filled last, and its frame. A chunk keeps its frame while there are places in
    /// it to be taken.
    filled: (ChunkNumber, u32),
}

/// Identity of a lane in the process, so that no place is filled through another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LaneId(u64);

impl LaneId {
    fn new() -> LaneId {
        static NEXT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        LaneId(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// Positions that one unit has taken and that are to be filled, all of them, by the lane that took
/// them.
#[derive(Debug)]
#[must_use = "a place that is not filled holds up the stream"]
pub struct Place {
    lane: LaneId,
    at: u64,
    end: u64,
}

impl Place {
    /// Position of the next byte to be filled.
    pub fn at(&self) -> u64 {
        self.at
    }

    /// Position behind the unit: when everything below it is safe, so is the unit.
    pub fn end(&self) -> u64 {
        self.end
    }
}

impl Lane {
    pub(super) fn new(ring: &Arc<Ring>, number: usize) -> Lane {
        Lane {
            ring: Arc::clone(ring),
            id: LaneId::new(),
            number,
            open: 0,
            is_announced: false,
            filled: (ChunkNumber::MAX, 0),
        }
    }

    /// Takes the next `bytes` positions of the stream. To be called while the locks are held that
    /// order the unit; the bytes may follow after them.
    #[inline]
    pub fn take(&mut self, bytes: u64) -> Place {
        if !self.is_announced {
            self.announce();
        }
        // Releases the announcement: a thread that sees this tail or a later one sees it too, or
        // what came after it.
        let at = self.ring.tail.fetch_add(bytes, Ordering::Release);
        self.open += usize::from(bytes > 0);
        Place { lane: self.id, at, end: at + bytes }
    }

    /// Any place taken from now on begins at the tail of this moment or behind it.
    #[inline]
    fn announce(&mut self) {
        let bound = self.ring.tail.load(Ordering::Relaxed);
        // Releases the bytes of earlier places, for who sees this instead of their withdrawal.
        self.ring.announced[self.number].store(bound, Ordering::Release);
        self.is_announced = true;
    }

    /// Fills the next bytes of a place.
    ///
    /// # Panics
    /// When the place is another lane's, or has less room.
    pub fn fill(&mut self, place: &mut Place, bytes: &[u8]) {
        let has_room = bytes.len() as u64 <= place.end - place.at;
        assert!(place.lane == self.id && has_room, "not this place");
        // SAFETY: the place is this lane's alone, and its bytes from `at` on were not filled.
        unsafe { self.write(place.at, bytes) };
        place.at += bytes.len() as u64;
        if place.at == place.end && !bytes.is_empty() {
            self.open -= 1;
        }
    }

    /// Takes a place, fills it and withdraws the announcement. Returns the position behind it.
    #[inline]
    pub(crate) fn put(&mut self, bytes: &[u8]) -> u64 {
        assert!(self.open == 0, "a place was not filled");
        self.announce();
        let at = self.ring.tail.fetch_add(bytes.len() as u64, Ordering::Release);
        // SAFETY: the place was taken by this lane, and is filled here alone.
        unsafe { self.write(at, bytes) };
        self.withdraw_announcement();
        let end = at + bytes.len() as u64;
        self.prefetch(end);
        end
    }

    /// Puts bytes that are no data: consumers get them, and files leave them out. Returns the
    /// position behind them. The announcement is withdrawn.
    ///
    /// # Panics
    /// When a place is not full.
    pub fn put_aside(&mut self, bytes: &[u8]) -> u64 {
        assert!(self.open == 0, "a place was not filled");
        let mut place = self.take(bytes.len() as u64);
        // Before the announcement goes: who sees these bytes as whole sees that they are none.
        self.ring.gaps.lock().add(place.at..place.end);
        self.fill(&mut place, bytes);
        self.withdraw();
        place.end
    }

    /// Writes the bytes of a place.
    ///
    /// # Safety
    /// The positions are this lane's alone, were not filled, and the lane's announcement keeps the
    /// consumer away until all of them are (invariants 1 to 3).
    #[inline]
    unsafe fn write(&mut self, at: u64, bytes: &[u8]) {
        let (chunk, offset) = split(at);
        if chunk == self.filled.0 && offset + bytes.len() <= CHUNK_BYTES {
            // SAFETY: as promised.
            unsafe { self.ring.memory.write(self.filled.1, offset, bytes) };
        } else {
            // SAFETY: as promised.
            unsafe { self.write_pieces(at, bytes) };
        }
    }

    /// Writes the bytes of a place that may lie in several chunks.
    ///
    /// # Safety
    /// As for `write`.
    #[cold]
    unsafe fn write_pieces(&mut self, mut at: u64, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            let (chunk, offset) = split(at);
            let (piece, behind) = rest.split_at(rest.len().min(CHUNK_BYTES - offset));
            let frame = self.frame_of(chunk);
            // SAFETY: as promised.
            unsafe { self.ring.memory.write(frame, offset, piece) };
            at += piece.len() as u64;
            rest = behind;
        }
    }

    #[inline]
    fn frame_of(&mut self, chunk: ChunkNumber) -> u32 {
        if self.filled.0 != chunk {
            self.filled = (chunk, self.ring.frame_of(chunk));
        }
        self.filled.1
    }

    /// Has the memory behind a position brought near, as the next unit will most likely lie there:
    /// the next atomic operation waits for its bytes.
    #[inline]
    pub(crate) fn prefetch(&self, end: u64) {
        let (chunk, offset) = split(end);
        if chunk == self.filled.0 {
            self.ring.memory.prefetch(self.filled.1, offset);
        }
    }

    /// Withdraws the announcement, so that what this lane has filled can be whole. To be called
    /// when a batch has ended.
    ///
    /// # Panics
    /// When a place is not full.
    #[inline]
    pub fn withdraw(&mut self) {
        assert!(self.open == 0, "a place was not filled");
        if self.is_announced {
            self.withdraw_announcement();
        }
    }

    #[inline]
    fn withdraw_announcement(&mut self) {
        // Releases the bytes that were filled.
        self.ring.announced[self.number].store(NOTHING, Ordering::Release);
        self.is_announced = false;
    }

    /// The ring.
    pub fn ring(&self) -> &Arc<Ring> {
        &self.ring
    }
}

impl Drop for Lane {
    /// A lane with a place that is not full leaves its announcement: better nothing more is whole
    /// than a hole.
    fn drop(&mut self) {
        if self.open == 0 {
            self.withdraw();
        }
    }
}
