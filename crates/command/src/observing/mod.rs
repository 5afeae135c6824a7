//! What is seen of commands at work: how long they take, and which are worth a note.
//!
//! ```text
//! a command has run ──▶ Observer::note ──▶ counts, histogram of its row
//!                             └──▶ a limit is passed: command log, latency events
//! ```

mod command_log;
mod events;
mod histogram;
mod secrets;
#[cfg(test)]
mod tests;

pub use command_log::{CommandLog, Entry, LogKind};
pub use events::{LatencyEvents, Sample, Series};
pub use histogram::{Distribution, Histogram};
pub(crate) use secrets::{FindSecrets, Positions, every_argument, no_secrets};

use crate::call::Call;
use crate::spec::Flags;
use settings::Settings;
use settings::observing::{
    COMMANDLOG_EXECUTION_SLOWER_THAN, COMMANDLOG_REPLY_LARGER_THAN, COMMANDLOG_REQUEST_LARGER_THAN,
    LATENCY_MONITOR_THRESHOLD, LATENCY_TRACKING,
};

/// What one run of a command took.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Nanoseconds.
    pub nanos: u64,
    /// Bytes of the request.
    pub request_bytes: u64,
    /// Bytes of the reply.
    pub reply_bytes: u64,
}

/// Limits from which on a run is worth a note, as the settings say; a copy of one thread.
#[derive(Clone, Copy, Debug)]
pub struct Observer {
    has_histograms: bool,
    /// The lower one of the two limits on time.
    nanos: u64,
    slow_nanos: u64,
    latency_nanos: u64,
    request_bytes: u64,
    reply_bytes: u64,
}

impl Observer {
    /// Reads the limits.
    pub fn of(settings: &Settings) -> Observer {
        // A negative limit is none.
        let limit = |value: i64| u64::try_from(value).unwrap_or(u64::MAX);
        let slow_nanos = limit(COMMANDLOG_EXECUTION_SLOWER_THAN.get(settings)).saturating_mul(1000);
        let latency_nanos = match LATENCY_MONITOR_THRESHOLD.get(settings) {
            0 => u64::MAX,
            millis => millis.saturating_mul(1_000_000),
        };
        Observer {
            has_histograms: LATENCY_TRACKING.get(settings),
            nanos: slow_nanos.min(latency_nanos),
            slow_nanos,
            latency_nanos,
            request_bytes: limit(COMMANDLOG_REQUEST_LARGER_THAN.get(settings)),
            reply_bytes: limit(COMMANDLOG_REPLY_LARGER_THAN.get(settings)),
        }
    }

    /// Counts a run, and takes a note of it if it passed a limit.
    #[inline]
    pub fn note(&self, call: &Call<'_>, seen: Seen) {
        let counts = &call.statistics.commands[call.row.id];
        counts.nanos.add(seen.nanos);
        if self.has_histograms {
            counts.histogram().add(seen.nanos);
        }
        let is_noteworthy = (seen.nanos >= self.nanos)
            | (seen.request_bytes >= self.request_bytes)
            | (seen.reply_bytes >= self.reply_bytes);
        if is_noteworthy {
            // The command may have changed the limits itself.
            Observer::of(&call.instance.settings).write_down(call, seen);
        }
    }

    #[cold]
    #[inline(never)]
    fn write_down(&self, call: &Call<'_>, seen: Seen) {
        let flags = call.row.spec.flags;
        if seen.nanos >= self.latency_nanos && !flags.contains(Flags::RUNS_QUEUE) {
            let event = if flags.contains(Flags::FAST) { "fast-command" } else { "command" };
            call.instance.latency.add(event, seen.nanos / 1_000_000, call.now);
        }
        if flags.contains(Flags::SKIP_COMMANDLOG) {
            return;
        }
        let values = [
            (LogKind::Slow, seen.nanos >= self.slow_nanos, seen.nanos / 1000),
            (LogKind::LargeRequest, seen.request_bytes >= self.request_bytes, seen.request_bytes),
            (LogKind::LargeReply, seen.reply_bytes >= self.reply_bytes, seen.reply_bytes),
        ];
        for (kind, _, value) in values.into_iter().filter(|(_, passes, _)| *passes) {
            let most = kind.most_entries(&call.instance.settings);
            call.instance.command_log.add(kind, most, || Entry::of(call, value));
        }
    }
}
