//! The observer: counts what commands take, and writes down what passes a limit.

use crate::flags::Flags;
use crate::row::{Call, Turn};
use crate::shown::words_shown;
use base::Millis;
use session::{Entry, LogKind, ReplyMode};
use settings::Settings;
use settings::observing::{LATENCY_MONITOR_THRESHOLD, LATENCY_TRACKING};

/// Most arguments of a command that are kept.
const ARGUMENTS_MAX: usize = 32;
/// Most bytes of an argument that are kept.
const ARGUMENT_BYTES_MAX: usize = 128;
/// Bytes of the request with which all commands of a transaction came: EXEC.
const EXEC_BYTES: u64 = b"*1\r\n$4\r\nEXEC\r\n".len() as u64;

/// What one run of a command took.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// Nanoseconds.
    pub nanos: u64,
    /// Bytes of the reply.
    pub reply_bytes: u64,
}

/// Limits from which on a run is worth a note, as the settings say; a copy of one thread.
#[derive(Clone, Copy, Debug)]
pub struct Observer {
    has_histograms: bool,
    /// The lower one of the two limits on time.
    nanos: u64,
    /// The lower one of the two limits on bytes.
    bytes: u64,
    slow_nanos: u64,
    latency_nanos: u64,
    request_bytes: u64,
    reply_bytes: u64,
}

impl Observer {
    /// Reads the limits.
    pub fn of(settings: &Settings) -> Observer {
        let limit = |kind: LogKind| kind.limit(settings).unwrap_or(u64::MAX);
        let slow_nanos = limit(LogKind::Slow).saturating_mul(1000);
        let latency_nanos = match LATENCY_MONITOR_THRESHOLD.get(settings) {
            0 => u64::MAX,
            millis => millis.saturating_mul(1_000_000),
        };
        let request_bytes = limit(LogKind::LargeRequest);
        let reply_bytes = limit(LogKind::LargeReply);
        Observer {
            has_histograms: LATENCY_TRACKING.get(settings),
            nanos: slow_nanos.min(latency_nanos),
            bytes: request_bytes.min(reply_bytes),
            slow_nanos,
            latency_nanos,
            request_bytes,
            reply_bytes,
        }
    }

    /// Counts a run and its time, and takes a note of it if it passed a limit.
    #[inline(always)]
    pub fn count(&self, call: &Call<'_>, seen: Seen) {
        let counts = &call.statistics.commands[call.row.id];
        counts.calls.add(1);
        counts.nanos.add(seen.nanos);
        if self.has_histograms {
            counts.histogram().add(seen.nanos);
        }
        // Few pass any limit: the sum of both sizes is compared with the lower of theirs, first
        // with all that came behind the request counted in.
        let bytes = call.args.bytes_at_most() as u64 + seen.reply_bytes;
        if (seen.nanos >= self.nanos) | (bytes >= self.bytes) {
            self.look_closely(call, seen);
        }
    }

    /// Does what `count` does, for a command that did not come in one piece: an argument was
    /// received apart, or it had several parts.
    #[cold]
    pub fn count_in_pieces(&self, call: &Call<'_>, seen: Seen) {
        Observer { nanos: u64::MAX, bytes: u64::MAX, ..*self }.count(call, seen);
        self.look_closely(call, seen);
    }

    #[cold]
    #[inline(never)]
    fn look_closely(&self, call: &Call<'_>, seen: Seen) {
        if self.is_passed(call, seen) {
            // The command may have changed the limits itself.
            Observer::of(&call.instance.settings).write_down(call, seen);
        }
    }

    /// Returns true if a run may have passed a limit.
    fn is_passed(&self, call: &Call<'_>, seen: Seen) -> bool {
        let bytes = request_bytes(call) + seen.reply_bytes;
        (seen.nanos >= self.nanos) | (bytes >= self.bytes)
    }

    /// Takes a note of a run that has lowered the limits and passes only the new ones: `self` are
    /// those from before, by which it is counted.
    pub fn note_by_new_limits(&self, call: &Call<'_>, seen: Seen) {
        let new = Observer::of(&call.instance.settings);
        if new.is_passed(call, seen) && !self.is_passed(call, seen) {
            new.write_down(call, seen);
        }
    }

    fn write_down(&self, call: &Call<'_>, seen: Seen) {
        let (flags, now) = (call.row.spec.flags, call.instance.clock.now());
        if seen.nanos >= self.latency_nanos {
            let event = if flags.contains(Flags::FAST) { "fast-command" } else { "command" };
            call.instance.latency.add(event, seen.nanos / 1_000_000, now);
        }
        if flags.contains(Flags::SKIP_COMMANDLOG) {
            return;
        }
        let is_queued = call.turn == Turn::Only;
        let request_bytes = if is_queued { EXEC_BYTES } else { request_bytes(call) };
        let is_sent = call.session.reply_mode == ReplyMode::On;
        let reply_bytes = if is_sent { seen.reply_bytes } else { 0 };
        let values = [
            (LogKind::Slow, seen.nanos >= self.slow_nanos, seen.nanos / 1000),
            (LogKind::LargeRequest, request_bytes >= self.request_bytes, request_bytes),
            (LogKind::LargeReply, reply_bytes >= self.reply_bytes, reply_bytes),
        ];
        for (kind, _, value) in values.into_iter().filter(|(_, passes, _)| *passes) {
            let most = kind.most_entries(&call.instance.settings);
            call.instance.command_log.add(kind, most, || entry(call, value, now));
        }
    }
}

/// Returns the entry of a command that ended at `now`.
fn entry(call: &Call<'_>, value: u64, now: Millis) -> Entry {
    let client = &call.session.client;
    Entry {
        id: 0,
        seconds: now.0 / 1000,
        value,
        args: kept(call),
        address: client.address.clone(),
        name: client.info().name.clone(),
    }
}

/// Bytes of a request, with the argument that was received apart and the parts before it.
fn request_bytes(call: &Call<'_>) -> u64 {
    let apart = call.session.apart.as_ref().map_or(0, |apart| apart.len);
    let before = call.session.line.parts().map_or(0, |parts| parts.request_bytes);
    let line = call.session.line.get().map(|line| line.request.consumed);
    (line.unwrap_or_else(|| call.args.request_bytes()) + apart) as u64 + before
}

/// Returns the arguments as they are kept: few, short and without secrets.
fn kept(call: &Call<'_>) -> Vec<Vec<u8>> {
    if let Some(parts) = call.session.line.parts().filter(|parts| parts.words > 0) {
        let left_out = call.session.line.get().map_or(0, |line| line.words_left_out());
        let all = parts.words + call.args.len() - left_out;
        let first = parts.first_words().take(ARGUMENTS_MAX - 1);
        return with_number_of_more(first.map(|word| truncated(word, word.len())).collect(), all);
    }
    let len = call.args.len();
    let shown = if len > ARGUMENTS_MAX { ARGUMENTS_MAX - 1 } else { len };
    let words = words_shown(call).take(shown).enumerate();
    let kept =
        words.map(|(at, word)| match call.session.apart.as_ref().filter(|apart| apart.at == at) {
            Some(apart) => truncated(apart.begin(), apart.len),
            None => truncated(&word, word.len()),
        });
    with_number_of_more(kept.collect(), len)
}

/// Returns the first words of a request, and behind them how many there are besides.
fn with_number_of_more(mut kept: Vec<Vec<u8>>, len: usize) -> Vec<Vec<u8>> {
    if kept.len() < len {
        kept.push(format!("... ({} more arguments)", len - kept.len()).into_bytes());
    }
    kept
}

/// The first bytes of an argument of `len` bytes, of which `begin` are the first or all.
fn truncated(begin: &[u8], len: usize) -> Vec<u8> {
    let begin = &begin[..begin.len().min(ARGUMENT_BYTES_MAX)];
    if begin.len() == len {
        return begin.to_vec();
    }
    let more = format!("... ({} more bytes)", len - begin.len());
    [begin, more.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::Observer;
    use settings::Settings;

    #[test]
    fn a_negative_limit_is_none_and_zero_is_passed_by_all() {
        let settings = Settings::new();
        let set = |name: &[u8], value: &[u8]| {
            settings.set_many(&[(name, value)], settings::Origin::Local).expect("it is valid");
        };
        assert_eq!(Observer::of(&settings).nanos, 10_000_000);
        set(b"slowlog-log-slower-than", b"-1");
        assert_eq!(Observer::of(&settings).nanos, u64::MAX);
        set(b"latency-monitor-threshold", b"3");
        assert_eq!(Observer::of(&settings).nanos, 3_000_000);
        set(b"slowlog-log-slower-than", b"0");
        set(b"commandlog-reply-larger-than", b"-1");
        let observer = Observer::of(&settings);
        assert_eq!((observer.nanos, observer.reply_bytes), (0, u64::MAX));
    }
}
