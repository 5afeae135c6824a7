//! Counts of what was done, and the keys that failed.

use rdb::Miscount;
use std::fmt::Display;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use text::quote;

/// Failures that are told one by one; further ones are only counted.
const TOLD_MAX: u64 = 1000;

/// Counts that all connections share.
#[derive(Debug, Default)]
pub struct Tally {
    /// Keys that have arrived.
    pub keys: AtomicU64,
    /// Commands that were executed.
    pub commands: AtomicU64,
    /// Function libraries that have arrived.
    pub libraries: AtomicU64,
    /// Function libraries that were left out.
    pub left_out: AtomicU64,
    /// Collections without elements, which no server keeps.
    pub empty: AtomicU64,
    /// Streams that got their real number of entries.
    pub mended: AtomicU64,
    /// Strings that came without what was noted of them, to a server that does not know it.
    pub without_attributes: AtomicU64,
    /// Bytes behind the ends of RDB files, which no server reads.
    pub unread: AtomicU64,
    /// Commands of files that change no data, and were not sent.
    pub not_sent: AtomicU64,
    /// Keys, commands and function libraries that failed.
    pub failures: AtomicU64,
    /// Times that a server took nothing.
    waits: AtomicU64,
}

impl Tally {
    /// Counts the failure of a key or a command and tells of it.
    pub fn fail(&self, database: u64, what: &[u8], why: &str) {
        self.count_failure(&format_args!("database {database}, {}", shown(what)), why);
    }

    /// Counts the failure of a function library and tells of it.
    pub fn fail_library(&self, name: &[u8], why: &str) {
        let way = "--no-functions leaves libraries out";
        self.count_failure(
            &format_args!("function library {}", shown(name)),
            &format!("{why}; {way}"),
        );
    }

    /// Counts a stream that got its real number of entries, and tells of it.
    pub fn note_mended(&self, database: u64, name: &[u8], miscount: Miscount) {
        let Miscount { told, found, .. } = miscount;
        if self.mended.fetch_add(1, Relaxed) < TOLD_MAX {
            let name = shown(name);
            eprintln!("mended: database {database}, {name}: {found} entries, not {told}");
        }
    }

    /// Tells, the first time, that a server takes nothing now.
    pub fn note_wait(&self, server: &str, why: &str) {
        if self.waits.fetch_add(1, Relaxed) == 0 {
            eprintln!("{server} takes nothing now, and is tried again: {why}");
        }
    }

    /// True if the next failure is told by itself.
    pub fn tells_failures(&self) -> bool {
        self.failures() < TOLD_MAX
    }

    /// Counts a failure of which nobody is told.
    pub fn fail_silently(&self) {
        self.failures.fetch_add(1, Relaxed);
    }

    fn count_failure(&self, what: &dyn Display, why: &str) {
        let before = self.failures.fetch_add(1, Relaxed);
        if before < TOLD_MAX {
            eprintln!("failed: {what}: {why}");
        } else if before == TOLD_MAX {
            eprintln!("failed: more than {TOLD_MAX}; further ones are only counted");
        }
    }

    /// Number of failures.
    pub fn failures(&self) -> u64 {
        self.failures.load(Relaxed)
    }
}

fn shown(text: &[u8]) -> String {
    quote(&text[..text.len().min(200)])
}
