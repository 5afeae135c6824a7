//! Work in the background, in pieces.

use std::thread;
use std::time::{Duration, Instant};

/// Time for which a thread that waits for the same core is kept waiting.
const PIECE: Duration = Duration::from_micros(500);

/// Yields of a thread that works in the background, perhaps on a core that others want.
///
/// By time and not after each step: on a busy core a yield costs the time slices of all others,
/// milliseconds, before the thread goes on.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    began: Instant,
}

impl Pacer {
    /// A pacer whose first piece of work begins now.
    pub fn new() -> Pacer {
        Pacer { began: Instant::now() }
    }

    /// Yields if the piece of work has taken its time, and begins the next. To be called between
    /// steps, while no lock is held.
    pub fn yield_if_due(&mut self) {
        if self.began.elapsed() >= PIECE {
            thread::yield_now();
            *self = Pacer::new();
        }
    }
}

impl Default for Pacer {
    fn default() -> Pacer {
        Pacer::new()
    }
}
