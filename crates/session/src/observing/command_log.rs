//! The command log: the last commands that took long, or had large requests or replies.

use base::mutex::{Mutex, MutexGuard};
use settings::Settings;
use settings::observing::{
    COMMANDLOG_EXECUTION_SLOWER_THAN, COMMANDLOG_LARGE_REPLY_MAX_LEN,
    COMMANDLOG_LARGE_REQUEST_MAX_LEN, COMMANDLOG_REPLY_LARGER_THAN, COMMANDLOG_REQUEST_LARGER_THAN,
    COMMANDLOG_SLOW_EXECUTION_MAX_LEN,
};
use std::collections::VecDeque;

/// Kind of entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogKind {
    /// Commands that took long; their value is in microseconds.
    Slow,
    /// Commands with large requests; their value is in bytes.
    LargeRequest,
    /// Commands with large replies; their value is in bytes.
    LargeReply,
}

impl LogKind {
    /// Returns the number of entries that the settings allow.
    pub fn most_entries(self, settings: &Settings) -> u64 {
        match self {
            LogKind::Slow => COMMANDLOG_SLOW_EXECUTION_MAX_LEN.get(settings),
            LogKind::LargeRequest => COMMANDLOG_LARGE_REQUEST_MAX_LEN.get(settings),
            LogKind::LargeReply => COMMANDLOG_LARGE_REPLY_MAX_LEN.get(settings),
        }
    }

    /// Returns the value from which on a command is logged; `None` if none is.
    pub fn limit(self, settings: &Settings) -> Option<u64> {
        let limit = match self {
            LogKind::Slow => COMMANDLOG_EXECUTION_SLOWER_THAN.get(settings),
            LogKind::LargeRequest => COMMANDLOG_REQUEST_LARGER_THAN.get(settings),
            LogKind::LargeReply => COMMANDLOG_REPLY_LARGER_THAN.get(settings),
        };
        u64::try_from(limit).ok()
    }
}

/// One command of the log.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Number of the entry, rising.
    pub id: u64,
    /// Time of its end, in seconds since the Unix epoch.
    pub seconds: u64,
    /// Microseconds or bytes.
    pub value: u64,
    /// Its arguments, truncated.
    pub args: Vec<Vec<u8>>,
    /// Address of its client.
    pub address: String,
    /// Name of its client.
    pub name: String,
}

/// The logs, one for each kind.
#[derive(Debug, Default)]
pub struct CommandLog {
    logs: [Mutex<Log>; 3],
}

#[derive(Debug, Default)]
struct Log {
    /// The latest first.
    entries: VecDeque<Entry>,
    next_id: u64,
}

impl Log {
    fn trim(&mut self, most: u64) {
        self.entries.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    }
}

impl CommandLog {
    /// Adds an entry, and drops the oldest beyond `most`.
    pub fn add(&self, kind: LogKind, most: u64, entry: impl FnOnce() -> Entry) {
        if most == 0 {
            return;
        }
        let entry = entry();
        let mut log = self.log(kind);
        let id = log.next_id;
        log.next_id += 1;
        log.entries.push_front(Entry { id, ..entry });
        log.trim(most);
    }

    /// Drops the oldest entries beyond the numbers that the settings allow. A log that is off stays
    /// as it is.
    pub fn follow_settings(&self, settings: &Settings) {
        for kind in [LogKind::Slow, LogKind::LargeRequest, LogKind::LargeReply] {
            let most = kind.most_entries(settings);
            if most > 0 && kind.limit(settings).is_some() {
                self.log(kind).trim(most);
            }
        }
    }

    /// Returns the latest entries, `most` of them or all.
    pub fn latest(&self, kind: LogKind, most: Option<usize>) -> Vec<Entry> {
        let log = self.log(kind);
        log.entries.iter().take(most.unwrap_or(usize::MAX)).cloned().collect()
    }

    /// Returns the number of entries.
    pub fn len(&self, kind: LogKind) -> usize {
        self.log(kind).entries.len()
    }

    /// Drops all entries.
    pub fn reset(&self, kind: LogKind) {
        self.log(kind).entries.clear();
    }

    fn log(&self, kind: LogKind) -> MutexGuard<'_, Log> {
        self.logs[kind as usize].lock()
    }
}
