//! Memory for blocks: frames of 64 KiB of address space, of which a block touches what it uses.
//!
//! A frame holds nothing but words of buckets for the life of the process, so a look without the
//! lock reads some atomic word, whatever became of the block meanwhile.

use crate::block::Block;
use crate::bucket::Bucket;
use crate::directories::{self, Directories};
use crate::error::OutOfBlocks;
use crate::scratch::Scratch;
use base::Reservation;
use base::memory::PAGE_BYTES;
use base::mutex::{Mutex, MutexGuard};
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// Address space of one block.
pub(crate) const FRAME_BYTES: usize = 64 << 10;
/// Sizes of blocks in buckets, smallest first; a whole number of pages each. The largest one
/// splits.
pub(crate) const SIZES: [u32; 9] = [64, 128, 256, 384, 512, 640, 768, 896, 1024];
/// Buckets that a frame has room for.
pub(crate) const BUCKETS_PER_FRAME: usize = FRAME_BYTES / size_of::<Bucket>();
/// Frames that an entry of a directory can name.
const FRAMES_MAX: usize = 1 << 24;
/// Address space without which there are no blocks.
const BYTES_MIN: usize = 16 << 20;
/// Parts of limited address space.
const PARTS: u64 = 2;
/// Bytes of address space for directories, per frame: they have a word per block, and more only
/// where many keys share the first bits of their hash.
const DIRECTORY_BYTES: usize = 4 << 10;
/// Least address space for directories: the largest one, and the one of half its size that it grows
/// from.
const DIRECTORY_BYTES_MIN: usize = 256 << 10;

/// All blocks of all indexes.
#[derive(Debug)]
pub struct Blocks {
    space: Reservation,
    facts: Reservation,
    pub(crate) directories: Directories,
    free: Mutex<Free>,
    touched: AtomicU64,
    /// Entries and slots of the blocks that grew, each summed at the moment of growth.
    grown: [AtomicU64; 2],
    /// Buffers for rebuilding, kept so that growth allocates nothing.
    scratch: Mutex<Vec<Scratch>>,
}

#[derive(Debug)]
struct Free {
    frames: Vec<u32>,
    fresh: u32,
}

/// Facts about a block besides its buckets.
#[derive(Debug)]
pub(crate) struct Facts {
    /// Number of its entries.
    pub count: AtomicU32,
    /// Number of entries when it last could not be made smaller; zero if that never happened.
    pub stuck: AtomicU32,
    /// Earliest tick of its entries; bit 16 is set if there is one.
    pub tick: AtomicU32,
}

impl Blocks {
    /// Reserves address space for a terabyte of buckets, or for what the system allows.
    ///
    /// # Errors
    /// When the system refuses even 16 MiB.
    pub fn new() -> io::Result<Blocks> {
        Blocks::with_frames(FRAMES_MAX)
    }

    /// Reserves address space for `frames` blocks, or for what the system allows.
    ///
    /// # Errors
    /// When the system refuses even 16 MiB, or `frames` if those are less.
    pub fn with_frames(frames: usize) -> io::Result<Blocks> {
        let bytes = frames.min(FRAMES_MAX) * FRAME_BYTES;
        let space = Reservation::up_to(bytes, bytes.min(BYTES_MIN), FRAME_BYTES, PARTS)?;
        let frames = space.bytes() / FRAME_BYTES;
        let facts_bytes = (frames * size_of::<Facts>()).next_multiple_of(PAGE_BYTES);
        let directory_bytes = (frames * DIRECTORY_BYTES).max(DIRECTORY_BYTES_MIN);
        Ok(Blocks {
            directories: Directories::new(directory_bytes)?,
            space,
            facts: Reservation::new(facts_bytes, PAGE_BYTES)?,
            free: Mutex::new(Free { frames: Vec::new(), fresh: 0 }),
            touched: AtomicU64::new(0),
            grown: [AtomicU64::new(0), AtomicU64::new(0)],
            scratch: Mutex::new(Vec::new()),
        })
    }

    /// Resident bytes of all blocks and directories.
    pub fn touched_bytes(&self) -> u64 {
        self.touched.load(Relaxed)
    }

    /// Share of the slots that was in use when blocks grew, over all growth so far.
    pub fn load_before_growth(&self) -> f64 {
        let [entries, slots] = [0, 1].map(|at| self.grown[at].load(Relaxed) as f64);
        if slots == 0.0 { 0.0 } else { entries / slots }
    }

    pub(crate) fn note_growth(&self, entries: u32, slots: u32) {
        self.grown[0].fetch_add(entries.into(), Relaxed);
        self.grown[1].fetch_add(slots.into(), Relaxed);
    }

    /// Takes a frame and counts `bytes` of it as touched. It reads as zeros.
    pub(crate) fn take(&self, bytes: usize) -> Result<u32, OutOfBlocks> {
        let mut free = lock(&self.free);
        let frames = narrow::to_u32(self.space.bytes() / FRAME_BYTES);
        let frame = match free.frames.pop() {
            Some(frame) => frame,
            None if free.fresh < frames => {
                free.fresh += 1;
                free.fresh - 1
            }
            None => return Err(OutOfBlocks),
        };
        self.touched.fetch_add(bytes as u64, Relaxed);
        self.facts(frame).count.store(0, Relaxed);
        self.facts(frame).stuck.store(0, Relaxed);
        self.facts(frame).tick.store(0, Relaxed);
        Ok(frame)
    }

    /// Returns a frame of which `bytes` were touched.
    pub(crate) fn give_back(&self, frame: u32, bytes: usize) {
        self.resize_frame(frame, bytes, 0);
        lock(&self.free).frames.push(frame);
    }

    /// Takes a directory and counts it as touched.
    pub(crate) fn take_directory(&self, depth: u32) -> Result<u32, OutOfBlocks> {
        let unit = self.directories.take(depth)?;
        self.touched.fetch_add(directories::bytes_of(depth) as u64, Relaxed);
        Ok(unit)
    }

    /// Returns a directory.
    pub(crate) fn give_back_directory(&self, unit: u32, depth: u32) {
        self.directories.give_back(unit, depth);
        self.touched.fetch_sub(directories::bytes_of(depth) as u64, Relaxed);
    }

    /// Changes the counted bytes of a frame from `from` to `to`, and gives back to the system
    /// whatever a rebuild touched beyond them.
    pub(crate) fn resize_frame(&self, frame: u32, from: usize, to: usize) {
        // SAFETY: nothing refers to these buckets but hints, which are atomic loads.
        unsafe { self.space.release(frame as usize * FRAME_BYTES + to, FRAME_BYTES - to) };
        self.touched.fetch_add(to as u64, Relaxed);
        self.touched.fetch_sub(from as u64, Relaxed);
    }

    /// The buckets of the block in `frame`, of which there are `SIZES[size]`.
    #[inline]
    pub(crate) fn block(&self, frame: u32, size: u32) -> Block<'_> {
        let buckets = SIZES[size as usize];
        debug_assert!((frame as usize + 1) * FRAME_BYTES <= self.space.bytes());
        // SAFETY: inside the reservation, which is zeroed memory: zeros are a valid bucket, and all
        // access is through atomics.
        let buckets = unsafe {
            let first = self.space.base().add(frame as usize * FRAME_BYTES).cast::<Bucket>();
            std::slice::from_raw_parts(first, buckets as usize)
        };
        Block::new(buckets)
    }

    /// The bucket with this number among those of all frames.
    #[inline]
    pub(crate) fn bucket(&self, number: usize) -> Option<&Bucket> {
        let is_inside = number < self.space.bytes() / size_of::<Bucket>();
        // SAFETY: inside the reservation, and as for `block`.
        is_inside.then(|| unsafe { &*self.bucket_address(number) })
    }

    /// Address of the bucket with this number, for prefetching; valid only if there is such a
    /// bucket.
    #[inline]
    pub(crate) fn bucket_address(&self, number: usize) -> *const Bucket {
        self.space.base().cast::<Bucket>().wrapping_add(number)
    }

    /// Returns true if `frame` lies inside the reservation; a hint read without the lock may not.
    #[inline]
    pub(crate) fn has(&self, frame: u32) -> bool {
        (frame as usize) < self.space.bytes() / FRAME_BYTES
    }

    #[inline]
    pub(crate) fn facts(&self, frame: u32) -> &Facts {
        assert!((frame as usize) < self.space.bytes() / FRAME_BYTES);
        // SAFETY: one per frame; zeros are valid; accessed through atomics.
        unsafe { &*self.facts.base().cast::<Facts>().add(frame as usize) }
    }

    pub(crate) fn borrow_scratch(&self) -> Scratch {
        lock(&self.scratch).pop().unwrap_or_default()
    }

    pub(crate) fn return_scratch(&self, mut scratch: Scratch) {
        scratch.moved.clear();
        scratch.kept.clear();
        lock(&self.scratch).push(scratch);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}
