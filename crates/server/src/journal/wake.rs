//! Rest of the writer between two rounds, and who may end it.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed, Ordering::SeqCst, fence};
use std::thread::{self, Thread};
use std::time::Duration;

const AWAKE: u8 = 0;
/// It will look again within milliseconds: it is woken only for what cannot wait.
const RESTING: u8 = 1;
/// It is woken by the next unit.
const ASLEEP: u8 = 2;

/// Rest of one thread.
#[derive(Debug, Default)]
pub struct Rest {
    state: AtomicU8,
    thread: OnceLock<Thread>,
}

impl Rest {
    /// Makes the calling thread the one that rests.
    pub fn adopt(&self) {
        let _ = self.thread.set(thread::current());
    }

    /// Rests until the rest is ended, or the time is over; not at all if `is_news` finds something
    /// to do once others see the rest. A short rest is ended only for what is urgent.
    pub fn rest(&self, most: Duration, is_short: bool, is_news: impl FnOnce() -> bool) {
        self.state.store(if is_short { RESTING } else { ASLEEP }, SeqCst);
        // Whoever brings news before this sees the rest, or is seen.
        fence(SeqCst);
        if !is_news() {
            thread::park_timeout(most);
        }
        self.state.store(AWAKE, Relaxed);
    }

    /// Ends a rest after there were news: a long one, or any if it is urgent.
    #[inline]
    pub fn end_if(&self, is_urgent: bool) {
        fence(SeqCst);
        match self.state.load(Relaxed) {
            AWAKE => {}
            RESTING if !is_urgent => {}
            _ => self.end(),
        }
    }

    /// Ends any rest.
    #[cold]
    pub fn end(&self) {
        self.state.store(AWAKE, Relaxed);
        if let Some(thread) = self.thread.get() {
            thread.unpark();
        }
    }
}
