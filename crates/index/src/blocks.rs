//! Memory for blocks: slots of 64 KiB of address space, of which a block touches what it uses.
//!
//! A slot holds nothing but words of lines for the life of the process, so a look without the lock
//! reads some atomic word, whatever became of the block meanwhile.

use crate::block::Block;
use crate::directories::{self, Directories};
use crate::error::OutOfBlocks;
use crate::line::Line;
use crate::scratch::Scratch;
use base::Reservation;
use base::memory::PAGE_BYTES;
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Address space of one block.
pub(crate) const SLOT_BYTES: usize = 64 << 10;
/// Lines of blocks, smallest first; a whole number of pages each. The largest one splits.
pub(crate) const SIZES: [u32; 9] = [64, 128, 256, 384, 512, 640, 768, 896, 1024];
/// Lines that a slot has room for.
pub(crate) const LINES_PER_SLOT: usize = SLOT_BYTES / size_of::<Line>();
/// Slots that an entry of a directory can name.
const SLOTS_MAX: usize = 1 << 24;
/// Address space for directories, per slot: they have a word per block, and more only where keys
/// crowd under one beginning of the hash.
const DIRECTORY_BYTES: usize = 4 << 10;
/// And at least so much: the largest directory, and that half its size from which it grows.
const DIRECTORY_BYTES_MIN: usize = 256 << 10;

/// All blocks of all indexes.
#[derive(Debug)]
pub struct Blocks {
    space: Reservation,
    facts: Reservation,
    pub(crate) directories: Directories,
    free: Mutex<Free>,
    touched: AtomicU64,
    /// Entries and lanes of the blocks that grew, summed at the moment when they did.
    grown: [AtomicU64; 2],
    /// Buffers for rebuilding, kept so that growth allocates nothing.
    scratch: Mutex<Vec<Scratch>>,
}

#[derive(Debug)]
struct Free {
    slots: Vec<u32>,
    fresh: u32,
}

/// What is known of a block besides its lines.
#[derive(Debug)]
pub(crate) struct Facts {
    /// Its entries.
    pub count: AtomicU32,
    /// Entries when it was last tried in vain to make it smaller; zero if it never was.
    pub stuck: AtomicU32,
    /// Its earliest tick, and in bit 16 whether there is one.
    pub tick: AtomicU32,
}

impl Blocks {
    /// Address space for a terabyte of lines, or for what the system allows.
    ///
    /// # Errors
    /// When the system refuses even 64 MiB.
    pub fn new() -> io::Result<Blocks> {
        Blocks::with_slots(SLOTS_MAX)
    }

    /// Address space for `slots` blocks, or for what the system allows.
    ///
    /// # Errors
    /// When the system refuses a thousandth of that.
    pub fn with_slots(slots: usize) -> io::Result<Blocks> {
        let bytes = slots.min(SLOTS_MAX) * SLOT_BYTES;
        let space = Reservation::up_to(bytes, bytes.min(64 << 20), SLOT_BYTES)?;
        let slots = space.bytes() / SLOT_BYTES;
        let facts_bytes = (slots * size_of::<Facts>()).next_multiple_of(PAGE_BYTES);
        let directory_bytes = (slots * DIRECTORY_BYTES).max(DIRECTORY_BYTES_MIN);
        Ok(Blocks {
            directories: Directories::new(directory_bytes)?,
            space,
            facts: Reservation::new(facts_bytes, PAGE_BYTES)?,
            free: Mutex::new(Free { slots: Vec::new(), fresh: 0 }),
            touched: AtomicU64::new(0),
            grown: [AtomicU64::new(0), AtomicU64::new(0)],
            scratch: Mutex::new(Vec::new()),
        })
    }

    /// Resident bytes of all blocks and directories.
    pub fn touched_bytes(&self) -> u64 {
        self.touched.load(Relaxed)
    }

    /// Share of the lanes that was in use when blocks grew, over all growth so far.
    pub fn load_before_growth(&self) -> f64 {
        let [entries, lanes] = [0, 1].map(|at| self.grown[at].load(Relaxed) as f64);
        if lanes == 0.0 { 0.0 } else { entries / lanes }
    }

    pub(crate) fn note_growth(&self, entries: u32, lanes: u32) {
        self.grown[0].fetch_add(entries.into(), Relaxed);
        self.grown[1].fetch_add(lanes.into(), Relaxed);
    }

    /// Takes a slot and counts `bytes` of it as touched. It reads as zeros.
    pub(crate) fn take(&self, bytes: usize) -> Result<u32, OutOfBlocks> {
        let mut free = lock(&self.free);
        let slots = narrow::to_u32(self.space.bytes() / SLOT_BYTES);
        let slot = match free.slots.pop() {
            Some(slot) => slot,
            None if free.fresh < slots => {
                free.fresh += 1;
                free.fresh - 1
            }
            None => return Err(OutOfBlocks),
        };
        self.touched.fetch_add(bytes as u64, Relaxed);
        self.facts(slot).count.store(0, Relaxed);
        self.facts(slot).stuck.store(0, Relaxed);
        self.facts(slot).tick.store(0, Relaxed);
        Ok(slot)
    }

    /// Returns a slot of which `bytes` were touched.
    pub(crate) fn give_back(&self, slot: u32, bytes: usize) {
        self.settle(slot, bytes, 0);
        lock(&self.free).slots.push(slot);
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

    /// Counts that a slot uses `to` bytes where `from` were counted, and gives back to the system
    /// whatever a rebuild touched beyond them.
    pub(crate) fn settle(&self, slot: u32, from: usize, to: usize) {
        // SAFETY: nothing refers to these lines but hints, which are atomic loads.
        unsafe { self.space.release(slot as usize * SLOT_BYTES + to, SLOT_BYTES - to) };
        self.touched.fetch_add(to as u64, Relaxed);
        self.touched.fetch_sub(from as u64, Relaxed);
    }

    /// The lines of the block in `slot`, of which there are `SIZES[size]`.
    #[inline]
    pub(crate) fn block(&self, slot: u32, size: u32) -> Block<'_> {
        let lines = SIZES[size as usize];
        debug_assert!((slot as usize + 1) * SLOT_BYTES <= self.space.bytes());
        // SAFETY: inside the reservation, which is zeroed memory: zeros are a valid line, and all
        // access is through atomics.
        let lines = unsafe {
            let first = self.space.base().add(slot as usize * SLOT_BYTES).cast::<Line>();
            std::slice::from_raw_parts(first, lines as usize)
        };
        Block::new(lines)
    }

    /// The line with this number among those of all slots.
    #[inline]
    pub(crate) fn line(&self, number: usize) -> Option<&Line> {
        let is_inside = number < self.space.bytes() / size_of::<Line>();
        // SAFETY: inside the reservation, and as for `block`.
        is_inside.then(|| unsafe { &*self.line_address(number) })
    }

    /// Its address, which means something if there is such a line.
    #[inline]
    pub(crate) fn line_address(&self, number: usize) -> *const Line {
        self.space.base().cast::<Line>().wrapping_add(number)
    }

    /// Whether `slot` lies inside the reservation, as a hint read without the lock may not.
    #[inline]
    pub(crate) fn has(&self, slot: u32) -> bool {
        (slot as usize) < self.space.bytes() / SLOT_BYTES
    }

    #[inline]
    pub(crate) fn facts(&self, slot: u32) -> &Facts {
        assert!((slot as usize) < self.space.bytes() / SLOT_BYTES);
        // SAFETY: one per slot; zeros are valid; accessed through atomics.
        unsafe { &*self.facts.base().cast::<Facts>().add(slot as usize) }
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
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
