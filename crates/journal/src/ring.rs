//! The ring: places are taken by lanes, filled, and read once they are whole.
//!
//! The only unsafe code of the crate: bytes of a place are written through raw pointers, and what
//! is whole is lent as a slice. The invariants are those of the crate's front page.

use crate::chunks::{ChunkNumber, Chunks};
use crate::sync::{AtomicU64, AtomicUsize, Ordering};
use crate::{CHUNK_BITS, CHUNK_BYTES};
use base::Reservation;
use base::memory::{PAGE_BYTES, prefetch};
use crossbeam_utils::CachePadded;
use std::io;
use std::sync::Arc;

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, shuttle))]
mod shuttle_tests;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

/// Parts of limited address space: as many as records have, so that a unit finds room if what it
/// says does.
const PARTS: u64 = 6;
/// Announcement of a lane that has no place open.
const NOTHING: u64 = u64::MAX;
/// Cache lines behind a unit that are brought near for the next one.
const PREFETCHED_LINES: usize = 2;
const CACHE_LINE_BYTES: usize = 64;

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
        Ok((lanes, Reader { ring, whole: start, released: start }))
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
    is_announced: bool,
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
    fn new(ring: &Arc<Ring>, number: usize) -> Lane {
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
        // Releases the announcement: who sees this tail or a later one sees it too, or what came
        // after it.
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

    /// Writes the bytes of a place.
    ///
    /// # Safety
    /// The positions are this lane's alone, were not filled, and the lane's announcement keeps the
    /// reader away until all of them are (invariants 1 to 3).
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
            self.filled = (chunk, self.ring.chunks.frame_of(chunk));
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

/// The end of the stream that is read: what is whole, up to what is whole.
#[derive(Debug)]
pub struct Reader {
    ring: Arc<Ring>,
    whole: u64,
    released: u64,
}

impl Reader {
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

/// Chunk of a position, and its offset in it.
#[inline]
fn split(position: u64) -> (ChunkNumber, usize) {
    (position >> CHUNK_BITS, narrow::to_usize(position) & (CHUNK_BYTES - 1))
}

/// Bytes of all frames: address space that takes memory where it was touched.
#[derive(Debug)]
struct Memory {
    space: Reservation,
    /// Loom sees races of cells, not of bytes behind pointers: one cell for each byte.
    #[cfg(loom)]
    cells: Vec<loom::cell::UnsafeCell<()>>,
}

impl Memory {
    fn of_chunks(chunks: usize) -> io::Result<Memory> {
        let bytes = (chunks << CHUNK_BITS).max(PAGE_BYTES);
        let space = Reservation::up_to(bytes, bytes.min(CHUNK_BYTES * 4), PAGE_BYTES, PARTS)?;
        Ok(Memory {
            space,
            #[cfg(loom)]
            cells: (0..chunks << CHUNK_BITS).map(|_| loom::cell::UnsafeCell::new(())).collect(),
        })
    }

    fn frames(&self) -> u32 {
        #[cfg(loom)]
        return narrow::to_u32(self.cells.len() >> CHUNK_BITS);
        #[cfg(not(loom))]
        narrow::to_u32((self.space.bytes() >> CHUNK_BITS).min(1 << 31))
    }

    /// # Safety
    /// Nobody else reads or writes these bytes meanwhile.
    #[inline]
    unsafe fn write(&self, frame: u32, offset: usize, bytes: &[u8]) {
        debug_assert!(offset + bytes.len() <= CHUNK_BYTES && frame < self.frames());
        let at = ((frame as usize) << CHUNK_BITS) + offset;
        #[cfg(loom)]
        self.cells[at..at + bytes.len()].iter().for_each(|cell| cell.with_mut(drop));
        // SAFETY: a frame lies inside the reservation, `offset` and length inside the frame, and
        // the caller has the bytes alone.
        unsafe {
            let to = self.space.base().add(at);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
    }

    /// Brings the cache lines behind an offset near.
    #[inline]
    fn prefetch(&self, frame: u32, offset: usize) {
        for line in 1..=PREFETCHED_LINES {
            let at = ((frame as usize) << CHUNK_BITS) + offset + line * CACHE_LINE_BYTES;
            prefetch(self.space.base().wrapping_add(at));
        }
    }

    /// # Safety
    /// Nobody writes these bytes while they are borrowed.
    unsafe fn bytes(&self, frame: u32, offset: usize, bytes: usize) -> &[u8] {
        assert!(offset + bytes <= CHUNK_BYTES && frame < self.frames());
        let at = ((frame as usize) << CHUNK_BITS) + offset;
        #[cfg(loom)]
        self.cells[at..at + bytes].iter().for_each(|cell| cell.with(drop));
        // SAFETY: inside the reservation, all of which is readable; the caller keeps writers away.
        unsafe { std::slice::from_raw_parts(self.space.base().add(at), bytes) }
    }

    fn touch(&self, frame: u32) {
        if !cfg!(any(loom, shuttle)) {
            self.space.populate((frame as usize) << CHUNK_BITS, CHUNK_BYTES);
        }
    }

    /// # Safety
    /// The caller has the frame alone.
    unsafe fn release(&self, frame: u32) {
        if !cfg!(any(loom, shuttle)) {
            // SAFETY: as promised; chunks are whole pages.
            unsafe { self.space.release((frame as usize) << CHUNK_BITS, CHUNK_BYTES) };
        }
    }
}
