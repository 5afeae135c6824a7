//! Pacer of background work, which is done in pieces.

use std::thread;
use std::time::{Duration, Instant};

/// Longest piece of work between two yields, for which a thread that wants the same core waits.
const PIECE: Duration = Duration::from_micros(200);

/// Pacer that lets a background thread yield its core, which other threads may want.
///
/// It yields by time and not after each step: on a busy core a yield costs the time slices of all
/// other threads, milliseconds, before this one goes on.
#[derive(Clone, Copy, Debug)]
pub struct Pacer {
    began: Instant,
    is_awaited: bool,
}

impl Pacer {
    /// Returns a pacer whose first piece of work begins now.
    pub fn new() -> Pacer {
        Pacer { began: Instant::now(), is_awaited: false }
    }

    /// Returns a pacer of work that a client waits for. It never yields: beside three busy threads
    /// work that yields gets a twentieth of a core, and other work a fourth.
    pub fn of_awaited() -> Pacer {
        Pacer { is_awaited: true, ..Pacer::new() }
    }

    /// Yields if the piece of work has used up its time, and begins the next one. To be called
    /// between steps, while no lock is held.
    pub fn yield_if_due(&mut self) {
        if !self.is_awaited && self.began.elapsed() >= PIECE {
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
