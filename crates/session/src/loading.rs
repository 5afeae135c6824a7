//! Loading of data: whether it is going on, and how far it has come.

use base::{Millis, Steady};
use snapshot::{Progress, StreamMark};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// State of loading.
#[derive(Debug, Default)]
pub struct Loading {
    is_active: AtomicBool,
    /// True if it goes beside what there is, which clients read meanwhile.
    is_beside: AtomicBool,
    /// When it began, in milliseconds since the Unix epoch, and by the time that passes.
    began: AtomicU64,
    began_steady: AtomicU64,
    /// Bytes to be read.
    total_bytes: AtomicU64,
    /// How far it has come, or came.
    pub progress: Progress,
    /// Bytes at the end of the append-only files that were not whole, and were left out.
    pub truncated_bytes: AtomicU64,
    /// Commands of append-only files that change no data, and were not executed.
    pub passed_over: AtomicU64,
    /// Commands of append-only files that could not be executed, and were left out as the settings
    /// ask for it.
    pub left_out: AtomicU64,
    /// True once loading has ended for the first time.
    is_over: AtomicBool,
}

/// How far loading has come, as INFO tells it.
#[derive(Clone, Copy, Debug)]
pub struct LoadingFacts {
    /// When it began, in milliseconds since the Unix epoch.
    pub began: u64,
    /// Bytes to be read.
    pub total_bytes: u64,
    /// Bytes read.
    pub bytes: u64,
    /// Seconds that are left, if it goes on as fast.
    pub seconds_left: u64,
}

impl Loading {
    /// Notes that loading begins, maybe beside what clients read; false if it is going on already.
    pub(crate) fn begin(
        &self,
        (total_bytes, is_beside): (u64, bool),
        (now, steady): (Millis, Steady),
    ) -> bool {
        if self.is_active.swap(true, Relaxed) {
            return false;
        }
        self.is_beside.store(is_beside, Relaxed);
        let Progress { bytes, keys, expired, empty, used_memory, .. } = &self.progress;
        *self.progress.stream.lock() = StreamMark::default();
        let of_files = [&self.passed_over, &self.left_out];
        let counts = [bytes, keys, expired, empty, used_memory].into_iter().chain(of_files);
        counts.for_each(|count| count.store(0, Relaxed));
        self.began.store(now.0, Relaxed);
        self.began_steady.store(steady.0, Relaxed);
        self.total_bytes.store(total_bytes, Relaxed);
        true
    }

    /// Notes how many bytes there are to be read, where that was not known when it began.
    pub fn expect(&self, total_bytes: u64) {
        self.total_bytes.store(total_bytes, Relaxed);
    }

    /// Notes that loading has ended.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Relaxed);
        self.progress.is_given_up.store(false, Relaxed);
        self.is_active.store(false, Relaxed);
    }

    /// Has loading end early, or not; only that at start, since what is loaded later was there
    /// before.
    pub(crate) fn give_up(&self, ends: bool) {
        self.progress.is_given_up.store(ends && !self.is_over.load(Relaxed), Relaxed);
    }

    /// Returns true while data is loaded. Nothing expires then, nothing is evicted, and memory has
    /// no limit.
    pub fn is_active(&self) -> bool {
        self.is_active.load(Relaxed)
    }

    /// Returns true while data is loaded beside what there is, which clients read meanwhile.
    pub fn is_beside(&self) -> bool {
        self.is_active() && self.is_beside.load(Relaxed)
    }

    /// How far loading has come; `None` if nothing is loaded.
    pub fn facts(&self, now: Steady) -> Option<LoadingFacts> {
        if !self.is_active() {
            return None;
        }
        let (began, bytes) = (self.began.load(Relaxed), self.progress.bytes.load(Relaxed));
        let total_bytes = self.total_bytes.load(Relaxed).max(bytes);
        let seconds = now.since(Steady(self.began_steady.load(Relaxed))) / 1000;
        let left = total_bytes - bytes;
        let seconds_left = seconds.saturating_mul(left).checked_div(bytes).unwrap_or(1);
        Some(LoadingFacts { began, total_bytes, bytes, seconds_left })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_from_what_was_read() {
        let loading = Loading::default();
        assert!(loading.facts(Steady(1)).is_none());
        assert!(loading.begin((1000, false), (Millis(7000), Steady(5000))));
        assert!(!loading.begin((7, false), (Millis(8000), Steady(6000))), "one at a time");
        assert_eq!(loading.facts(Steady(5000)).map(|it| it.seconds_left), Some(1));
        loading.progress.bytes.store(250, Relaxed);
        let facts = loading.facts(Steady(15_000)).expect("it goes on");
        assert_eq!((facts.began, facts.bytes, facts.seconds_left), (7000, 250, 30));
        loading.end();
        assert!(loading.facts(Steady(1)).is_none());
    }
}
