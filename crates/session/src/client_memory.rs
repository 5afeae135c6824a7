//! Memory of clients: the sum of each worker, recent peaks, and what is known of closing clients
//! for it.
//!
//! A connection publishes its sizes behind a batch, and only if they have changed: each worker
//! keeps the sum of its own connections, so a client whose sizes stay costs nothing. Allocated
//! bytes count, however few of them are in use, for the limits of outputs too.

use base::Steady;
use base::mutex::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Bytes of memory of all clients of one worker. The worker alone changes it.
#[derive(Debug, Default)]
pub struct MemorySum(AtomicU64);

impl MemorySum {
    /// Counts a client with `now` bytes instead of `before`.
    pub(crate) fn change(&self, before: u64, now: u64) {
        let sum = self.0.load(Relaxed);
        self.0.store(sum.wrapping_sub(before).wrapping_add(now), Relaxed);
    }

    /// Returns the bytes.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// What is known of clients that are closed for their memory.
#[derive(Debug, Default)]
pub struct Eviction {
    /// Held by the thread that chooses them.
    choosing: Mutex<()>,
    /// Bytes of those that were chosen and are not closed yet.
    leaving: AtomicU64,
    /// Moment until which there is nobody to choose.
    rests_until: AtomicU64,
}

impl Eviction {
    /// Lets one thread choose at a time; `None` if another one does.
    pub fn begin(&self) -> Option<MutexGuard<'_, ()>> {
        self.choosing.try_lock()
    }

    /// Returns the bytes of those that were chosen and are not closed yet.
    pub fn leaving(&self) -> u64 {
        self.leaving.load(Relaxed)
    }

    /// Notes that a client with `bytes` was chosen.
    pub fn note(&self, bytes: u64) {
        self.leaving.fetch_add(bytes, Relaxed);
    }

    /// Notes that a client with `bytes` that was chosen is closed.
    pub fn forget(&self, bytes: u64) {
        self.leaving.fetch_sub(bytes, Relaxed);
    }

    /// Spares the search for a while, as nobody is left to choose.
    pub fn rest(&self, until: Steady) {
        self.rests_until.store(until.0, Relaxed);
    }

    /// Returns true while the search is spared.
    pub fn rests(&self, now: Steady) -> bool {
        now.0 < self.rests_until.load(Relaxed)
    }
}

/// Seconds for which peaks are kept.
const SECONDS: usize = 8;

/// Largest input and output of any client in each of the last seconds.
#[derive(Debug, Default)]
pub struct RecentPeaks(Mutex<[SecondPeak; SECONDS]>);

/// Largest input and output that was seen in a second, in bytes.
#[derive(Clone, Copy, Debug, Default)]
struct SecondPeak {
    second: u64,
    largest: Peak,
}

/// Largest input and output of some clients, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    /// Query buffer, with the arguments of a request that is not whole yet.
    pub input: u64,
    /// Output that waits.
    pub output: u64,
}

impl Peak {
    /// Returns the larger of both inputs, and of both outputs.
    #[must_use]
    pub fn max(self, other: Peak) -> Peak {
        Peak { input: self.input.max(other.input), output: self.output.max(other.output) }
    }
}

impl RecentPeaks {
    fn seconds(&self) -> MutexGuard<'_, [SecondPeak; SECONDS]> {
        self.0.lock()
    }

    /// Notes what was seen at `now`.
    pub fn note(&self, now: Steady, seen: Peak) {
        let second = now.0 / 1000;
        let place = &mut self.seconds()[second as usize % SECONDS];
        let before = if place.second == second { place.largest } else { Peak::default() };
        *place = SecondPeak { second, largest: before.max(seen) };
    }

    /// Returns the largest of the last seconds.
    pub fn largest(&self, now: Steady) -> Peak {
        let is_recent = |it: &&SecondPeak| it.second + SECONDS as u64 > now.0 / 1000;
        let seconds = *self.seconds();
        seconds.iter().filter(is_recent).fold(Peak::default(), |peak, it| peak.max(it.largest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_is_told_for_some_seconds_and_then_forgotten() {
        let (peaks, peak) = (RecentPeaks::default(), Peak { input: 10, output: 20 });
        let second = |number: u64| Steady(1_700_000_000_000 + number * 1000);
        peaks.note(second(0), peak);
        peaks.note(second(0), Peak { input: 5, output: 30 });
        let both = Peak { input: 10, output: 30 };
        assert_eq!(peaks.largest(second(0)), both);
        assert_eq!(peaks.largest(second(7)), both);
        peaks.note(second(7), Peak { input: 1, output: 1 });
        assert_eq!(peaks.largest(second(7)), both);
        assert_eq!(peaks.largest(second(8)), Peak { input: 1, output: 1 });
    }
}
