//! The cut of a rotation, seen from the stream: where a file ends.
//!
//! ```text
//! saver    gate closed: mark the tail ─▶ gate open
//! writer   what is whole ─▶ the mark ─▶ write up to the lower ··· file ended at the mark ─▶ clear
//! lanes    units, inside the gate                              behind the mark: the next file's
//! ```

use crate::ring::{Consumer, Ring};
use crate::sync::{AtomicU64, Ordering};

#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(all(test, shuttle))]
mod shuttle_tests;

/// Position that no stream reaches: there is no cut.
const NO_CUT: u64 = u64::MAX;

/// Position of a cut at which the file is to end; nothing behind it is written before it has.
#[derive(Debug)]
pub struct CutMark(AtomicU64);

impl Default for CutMark {
    fn default() -> CutMark {
        CutMark(AtomicU64::new(NO_CUT))
    }
}

impl CutMark {
    /// Marks the tail, and returns its position. To be called while the gate is closed: nobody puts
    /// a unit then, so what is below the tail is whole, and what comes behind it is behind the cut.
    pub fn mark(&self, ring: &Ring) -> u64 {
        let cut = ring.tail();
        self.0.store(cut, Ordering::Release);
        cut
    }

    /// Forgets the cut: the file has ended there, or does not end.
    pub fn clear(&self) {
        self.0.store(NO_CUT, Ordering::Release);
    }

    /// Position up to which the file may be written: all that is whole, but nothing behind a cut.
    pub fn limit(&self, consumer: &mut Consumer) -> u64 {
        // First what is whole: a thread that sees a unit behind a cut sees the mark, which was set
        // before it.
        let whole = consumer.whole();
        whole.min(self.0.load(Ordering::Acquire))
    }
}
