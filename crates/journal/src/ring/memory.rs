//! Bytes of the frames.

use crate::chunks::Chunks;
use crate::{CHUNK_BITS, CHUNK_BYTES};
use base::Reservation;
use base::memory::{PAGE_BYTES, prefetch};
use std::io;

/// Parts of limited address space: as many as records have, so that a unit finds room if what it
/// says does.
const PARTS: u64 = 6;
/// Cache lines behind a unit that are brought near for the next one.
const PREFETCHED_LINES: usize = 2;
const CACHE_LINE_BYTES: usize = 64;

/// Bytes of all frames: address space that takes memory where it was touched.
#[derive(Debug)]
pub(super) struct Memory {
    space: Reservation,
    /// Loom sees races of cells, not of bytes behind pointers: one cell for each byte.
    #[cfg(loom)]
    cells: Vec<loom::cell::UnsafeCell<()>>,
}

impl Memory {
    pub fn of_chunks(chunks: usize) -> io::Result<Memory> {
        let bytes = (chunks << CHUNK_BITS).max(PAGE_BYTES);
        let space = Reservation::up_to(bytes, bytes.min(CHUNK_BYTES * 4), PAGE_BYTES, PARTS)?;
        Ok(Memory {
            space,
            #[cfg(loom)]
            cells: (0..chunks << CHUNK_BITS).map(|_| loom::cell::UnsafeCell::new(())).collect(),
        })
    }

    pub fn frames(&self) -> u32 {
        #[cfg(loom)]
        return narrow::to_u32(self.cells.len() >> CHUNK_BITS);
        #[cfg(not(loom))]
        narrow::to_u32((self.space.bytes() >> CHUNK_BITS).min(1 << 31))
    }

    /// # Safety
    /// Nobody else reads or writes these bytes meanwhile.
    #[inline]
    pub unsafe fn write(&self, frame: u32, offset: usize, bytes: &[u8]) {
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
    pub fn prefetch(&self, frame: u32, offset: usize) {
        for line in 1..=PREFETCHED_LINES {
            let at = ((frame as usize) << CHUNK_BITS) + offset + line * CACHE_LINE_BYTES;
            prefetch(self.space.base().wrapping_add(at));
        }
    }

    /// # Safety
    /// Nobody writes these bytes while they are borrowed.
    pub unsafe fn bytes(&self, frame: u32, offset: usize, bytes: usize) -> &[u8] {
        assert!(offset + bytes <= CHUNK_BYTES && frame < self.frames());
        let at = ((frame as usize) << CHUNK_BITS) + offset;
        #[cfg(loom)]
        self.cells[at..at + bytes].iter().for_each(|cell| cell.with(drop));
        // SAFETY: inside the reservation, all of which is readable; the caller keeps writers away.
        unsafe { std::slice::from_raw_parts(self.space.base().add(at), bytes) }
    }

    pub fn touch(&self, frame: u32) {
        if !cfg!(any(loom, shuttle)) {
            self.space.populate((frame as usize) << CHUNK_BITS, CHUNK_BYTES);
        }
    }

    /// Gives memory of frames back to the system that nobody needed since the last call.
    pub fn give_idle_back(&self, chunks: &Chunks) {
        for _ in 0..chunks.idle() {
            let Some(frame) = chunks.take_warm() else { return };
            // SAFETY: the thread that takes a frame off its stack has it alone.
            unsafe { self.release(frame) };
            chunks.put_cold(frame);
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
