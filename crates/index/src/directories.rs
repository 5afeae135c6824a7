//! Memory for directories, packed: every look at a large index reads a word of one, and those of
//! all shards should lie in a few pages and in different sets of the cache.
//!
//! A directory of depth d is 2^d words in units of 64 bytes. One that doubles moves; the units that
//! it leaves serve other directories of its depth, and hold words of directories for the life of
//! the process, as the frames of blocks hold words of buckets.

use crate::error::OutOfBlocks;
use base::Reservation;
use base::mutex::{Mutex, MutexGuard};
use std::io;
use std::sync::atomic::AtomicU32;

/// A directory has at most 2^14 words: 64 KiB.
pub(crate) const DEPTH_MAX: u32 = 14;
const UNIT_BYTES: usize = 64;
const UNIT_WORDS: usize = UNIT_BYTES / size_of::<AtomicU32>();

/// Memory for the directories of all indexes; see the module page.
#[derive(Debug)]
pub(crate) struct Directories {
    space: Reservation,
    free: Mutex<Free>,
}

#[derive(Debug, Default)]
struct Free {
    /// First units of directories that were given back, by depth.
    by_depth: [Vec<u32>; DEPTH_MAX as usize + 1],
    /// The first unit that was never used.
    fresh: u32,
}

impl Directories {
    /// # Errors
    /// When the system refuses so much address space.
    pub fn new(bytes: usize) -> io::Result<Directories> {
        let bytes = bytes.next_multiple_of(base::memory::PAGE_BYTES);
        let space = Reservation::new(bytes, base::memory::PAGE_BYTES)?;
        Ok(Directories { space, free: Mutex::default() })
    }

    /// Takes a directory of depth `depth`, whose words have unspecified content. Returns its first
    /// unit.
    pub fn take(&self, depth: u32) -> Result<u32, OutOfBlocks> {
        let mut free = self.free();
        if let Some(unit) = free.by_depth[depth as usize].pop() {
            return Ok(unit);
        }
        let unit = free.fresh;
        let end = unit as usize + units(depth);
        if end * UNIT_BYTES > self.space.bytes() {
            return Err(OutOfBlocks);
        }
        free.fresh = narrow::to_u32(end);
        Ok(unit)
    }

    /// Returns a directory.
    pub fn give_back(&self, unit: u32, depth: u32) {
        self.free().by_depth[depth as usize].push(unit);
    }

    /// The words of the directory that begins at `unit`.
    #[inline]
    pub fn words(&self, unit: u32, depth: u32) -> &[AtomicU32] {
        debug_assert!((unit as usize + units(depth)) * UNIT_BYTES <= self.space.bytes());
        // SAFETY: inside the reservation, which is zeroed memory and accessed through atomics. A
        // stale look has a unit and a depth that once belonged together.
        unsafe {
            let first = self.space.base().add(unit as usize * UNIT_BYTES).cast::<AtomicU32>();
            std::slice::from_raw_parts(first, 1 << depth)
        }
    }

    fn free(&self) -> MutexGuard<'_, Free> {
        self.free.lock()
    }
}

/// Bytes that a directory takes.
pub(crate) fn bytes_of(depth: u32) -> usize {
    units(depth) * UNIT_BYTES
}

fn units(depth: u32) -> usize {
    (1_usize << depth).div_ceil(UNIT_WORDS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn directories_do_not_overlap_and_are_used_again() {
        let directories = Directories::new(256 << 10).expect("address space");
        let mut taken = BTreeMap::new();
        for round in 0..3_u32 {
            for depth in [1, 4, 5, 9, 3, 6] {
                let unit = directories.take(depth).expect("room");
                let words = directories.words(unit, depth);
                words.iter().for_each(|word| word.store(round << 8 | depth, Relaxed));
                taken.insert(unit, (round, depth));
            }
        }
        for (unit, (round, depth)) in &taken {
            let words = directories.words(*unit, *depth);
            assert!(words.iter().all(|word| word.load(Relaxed) == round << 8 | depth));
        }
        let (unit, (_, depth)) = taken.pop_first().expect("some");
        directories.give_back(unit, depth);
        assert_eq!(directories.take(depth), Ok(unit));
    }

    #[test]
    fn a_directory_that_does_not_fit_is_refused() {
        let directories = Directories::new(64 << 10).expect("address space");
        assert_eq!(directories.take(DEPTH_MAX), Ok(0));
        assert_eq!(directories.take(1), Err(OutOfBlocks));
    }
}
