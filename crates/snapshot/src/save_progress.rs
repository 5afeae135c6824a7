//! How far saving has come, why it ended, and how long it pauses after each key.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use thiserror::Error;

/// How far saving has come; others may read it meanwhile, and end it.
#[derive(Debug, Default)]
pub struct SaveProgress {
    /// Keys written.
    pub keys: AtomicU64,
    /// Keys to be written, those past their deadline included.
    pub total_keys: AtomicU64,
    /// Bytes given to the sink.
    pub bytes: AtomicU64,
    /// Bytes that only the snapshot holds at present, because they were changed before they were
    /// written.
    pub retained_bytes: AtomicU64,
    /// Most bytes that it ever retained.
    pub retained_bytes_most: AtomicU64,
    /// Microseconds for which clients were kept out at the cut; zero before it.
    pub pause_micros: AtomicU64,
    /// Set to true by any thread to make the snapshot end soon.
    pub is_cancelled: AtomicBool,
    /// True if it was ended because its sink stood still.
    pub is_too_slow: AtomicBool,
    /// How often the sink was given something, and how often it has taken it.
    sink_steps: AtomicU64,
}

impl SaveProgress {
    /// Begins anew, for the next snapshot.
    pub fn reset(&self) {
        let SaveProgress { keys, total_keys, bytes, retained_bytes, retained_bytes_most, .. } =
            self;
        let counts =
            [keys, total_keys, bytes, retained_bytes, retained_bytes_most, &self.pause_micros];
        counts.into_iter().chain([&self.sink_steps]).for_each(|count| count.store(0, Relaxed));
        [&self.is_cancelled, &self.is_too_slow].iter().for_each(|flag| flag.store(false, Relaxed));
    }

    /// Notes that the sink was given something, or that it has taken it, in turns.
    pub fn note_sink(&self) {
        self.sink_steps.fetch_add(1, Relaxed);
    }

    /// Number that changes whenever the sink takes something; `None` while it is given nothing.
    pub fn given_to_sink(&self) -> Option<u64> {
        Some(self.sink_steps.load(Relaxed)).filter(|steps| steps % 2 == 1)
    }

    /// Notes the bytes that it holds at present.
    pub fn note_retained(&self, bytes: u64) {
        self.retained_bytes.store(bytes, Relaxed);
        self.retained_bytes_most.fetch_max(bytes, Relaxed);
    }

    /// Why it ended before its end.
    pub fn cancelled(&self) -> SaveError {
        if self.is_too_slow.load(Relaxed) { SaveError::TooSlow } else { SaveError::Cancelled }
    }
}

/// Reason why saving ended early. What the sink got is of no use then.
#[derive(Debug, Error)]
pub enum SaveError {
    /// The system refused to write.
    #[error("{0}")]
    Write(#[from] io::Error),
    /// Another snapshot is being taken, and there is one at a time.
    #[error("another snapshot is being taken; try again when it is done")]
    Busy,
    /// Somebody asked for it.
    #[error("it was cancelled")]
    Cancelled,
    /// Hashes of this database have fields with deadlines, and the reader knows none.
    #[error("fields of hashes in database {0} have deadlines, which the reader does not know")]
    Unreadable(usize),
    /// The sink stands still, and clients would have to wait for it.
    #[error("the disk takes nothing for too long while data changes; free it from other load")]
    TooSlow,
}

/// Longest sleep before a look at whether saving was cancelled.
const NAP: Duration = Duration::from_millis(10);

/// Pause after each key, which tests use to make saving slow.
#[derive(Debug)]
pub(crate) struct KeyDelay {
    /// Microseconds to sleep after a key.
    micros: u64,
    /// Number of keys that share one such sleep.
    keys: u64,
    count: u64,
}

impl KeyDelay {
    /// Pause of so many microseconds, or of one microsecond after each `-delay` keys.
    pub fn new(delay: i32) -> KeyDelay {
        let amount = u64::from(delay.unsigned_abs());
        let (micros, keys) = if delay < 0 { (1, amount) } else { (amount, 1) };
        KeyDelay { micros, keys, count: 0 }
    }

    /// Counts a key; returns true if a pause is due.
    pub fn is_due(&mut self) -> bool {
        self.count += 1;
        self.micros > 0 && self.count.is_multiple_of(self.keys)
    }

    /// Sleeps, but not beyond a cancellation.
    pub fn sleep(&self, progress: &SaveProgress) {
        let mut left = Duration::from_micros(self.micros);
        while !left.is_zero() && !progress.is_cancelled.load(Relaxed) {
            let nap = left.min(NAP);
            std::thread::sleep(nap);
            left -= nap;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pauses(delay: i32, keys: usize) -> usize {
        let mut delay = KeyDelay::new(delay);
        (0..keys).filter(|_| delay.is_due()).count()
    }

    #[test]
    fn a_negative_delay_is_a_number_of_keys() {
        assert_eq!([0, 5, -1, -10].map(|delay| pauses(delay, 100)), [0, 100, 100, 10]);
        assert_eq!(KeyDelay::new(i32::MIN).keys, 1 << 31);
    }

    #[test]
    fn a_pause_ends_when_saving_is_cancelled() {
        let progress = SaveProgress::default();
        progress.is_cancelled.store(true, Relaxed);
        KeyDelay::new(i32::MAX).sleep(&progress);
        progress.reset();
        assert!(!progress.is_cancelled.load(Relaxed));
    }
}
