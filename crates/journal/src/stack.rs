//! Stacks of frame numbers, shared by all threads without a lock.
//!
//! ```text
//! top: changes:32 | frame + 1:32 ──▶ links[frame] ──▶ links[..] ──▶ 0
//! ```
//! The count of changes tells a top that is the same from one that was taken off and put back.

use crate::sync::{AtomicU32, AtomicU64, Ordering};

/// Frames below each frame that is on a stack, plus one. A frame is on one stack at most, so all
/// stacks share the links.
#[derive(Debug)]
pub(crate) struct Links(Box<[AtomicU32]>);

impl Links {
    /// Links of `frames` frames, none of which is on a stack.
    pub fn new(frames: u32) -> Links {
        Links((0..frames).map(|_| AtomicU32::new(0)).collect())
    }

    fn below(&self, frame: u32) -> &AtomicU32 {
        &self.0[frame as usize]
    }
}

/// Stack of frames; the thread that takes a frame off has it alone.
#[derive(Debug)]
pub(crate) struct Stack {
    top: AtomicU64,
}

impl Stack {
    /// An empty stack.
    pub fn new() -> Stack {
        Stack { top: AtomicU64::new(0) }
    }

    /// Takes the frame that was put on last.
    pub fn pop(&self, links: &Links) -> Option<u32> {
        let mut top = self.top.load(Ordering::Acquire);
        loop {
            let frame = narrow::low_u32(top).checked_sub(1)?;
            // Wrong if another thread has taken the frame meanwhile; then the exchange fails.
            let below = links.below(frame).load(Ordering::Relaxed);
            match self.exchange(top, below) {
                Ok(()) => return Some(frame),
                Err(now) => top = now,
            }
        }
    }

    /// Puts a frame on top. The caller has it alone.
    pub fn push(&self, links: &Links, frame: u32) {
        let mut top = self.top.load(Ordering::Relaxed);
        loop {
            links.below(frame).store(narrow::low_u32(top), Ordering::Relaxed);
            match self.exchange(top, frame + 1) {
                Ok(()) => return,
                Err(now) => top = now,
            }
        }
    }

    /// Replaces the top, which hands the bytes of a frame from who pushes it to who pops it.
    fn exchange(&self, top: u64, frame_plus_one: u32) -> Result<(), u64> {
        let changes = (top >> 32).wrapping_add(1) << 32;
        let new = changes | u64::from(frame_plus_one);
        self.top.compare_exchange(top, new, Ordering::AcqRel, Ordering::Acquire).map(drop)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn the_newest_frame_comes_off_first() {
        let (links, stack) = (Links::new(3), Stack::new());
        assert_eq!(stack.pop(&links), None);
        for frame in [1, 0, 2] {
            stack.push(&links, frame);
        }
        let popped = std::array::from_fn(|_| stack.pop(&links));
        assert_eq!(popped, [Some(2), Some(0), Some(1), None]);
    }
}

#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use loom::sync::Arc;
    use loom::thread::spawn;

    #[test]
    fn a_frame_has_one_owner() {
        loom::model(|| {
            let shared =
                Arc::new((Links::new(2), Stack::new(), [(); 2].map(|()| AtomicU32::new(0))));
            shared.1.push(&shared.0, 0);
            shared.1.push(&shared.0, 1);
            let borrow = |shared: &(Links, Stack, [AtomicU32; 2])| {
                if let Some(frame) = shared.1.pop(&shared.0) {
                    let owners = &shared.2[frame as usize];
                    assert_eq!(owners.fetch_add(1, Ordering::Relaxed), 0);
                    owners.fetch_sub(1, Ordering::Relaxed);
                    shared.1.push(&shared.0, frame);
                }
            };
            let other = Arc::clone(&shared);
            let thread = spawn(move || borrow(&other));
            borrow(&shared);
            thread.join().unwrap();
            let mut left = [shared.1.pop(&shared.0), shared.1.pop(&shared.0)];
            left.sort();
            assert_eq!(left, [Some(0), Some(1)]);
        });
    }
}
