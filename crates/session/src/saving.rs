//! Saving of snapshots: what commands ask of the server, and what INFO tells about it.

use crate::client::Client;
use crate::notice::{Answer, Notice};
use crate::refusal::Refusal;
use crate::session::Session;
use crate::statistics::Statistics;
use base::Steady;
use std::sync::Arc;
use wire::{Protocol, Reply};

/// Client that waits for the end of its command, and gets its reply then.
#[derive(Debug)]
pub struct Asker {
    client: Arc<Client>,
    protocol: Protocol,
    /// Position in the journal that must be safe before the reply leaves.
    position: u64,
}

impl Asker {
    /// The client of a session. Its handler ends with `Unanswered::Waits`, or with
    /// `Unanswered::ByMail` if the answer is given at once.
    pub fn of(session: &Session) -> Asker {
        Asker { client: Arc::clone(&session.client), protocol: session.protocol, position: 0 }
    }

    /// Nobody, for a command that does not wait for the end.
    pub fn of_nobody(now: Steady) -> Asker {
        let client = Client::of_file("nobody", now);
        Asker { client, protocol: Protocol::default(), position: 0 }
    }

    /// The same, whose reply leaves once a position is safe.
    pub fn behind(self, position: u64) -> Asker {
        Asker { position, ..self }
    }

    /// Gives it its reply.
    pub fn answer(self, write: impl FnOnce(&mut Reply<'_>)) {
        let mut bytes = Vec::new();
        write(&mut Reply::new(&mut bytes, self.protocol));
        let answer = Answer { reply: bytes, position: self.position, unserved: None };
        self.client.notify(Notice::Answer(self.client.id, answer));
    }

    /// Gives it a refusal as its reply, and counts that.
    pub fn refuse(self, statistics: &Statistics, refusal: &Refusal) {
        statistics.count_error(refusal.code());
        self.answer(|reply| reply.error(refusal.text()));
    }
}

/// When a snapshot in the background is to begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At once, or not at all.
    Now,
    /// At once, or when the present work on files is done.
    WhenPossible,
    /// Not at once, as within a transaction.
    Later,
}

/// What became of a snapshot that was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// It is being made.
    Started,
    /// It begins when the present transaction and work on files are done.
    Scheduled,
}

/// A snapshot that was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancelled {
    /// One that was being made.
    Running,
    /// One that had not begun.
    Scheduled,
}

/// A snapshot at work.
#[derive(Clone, Copy, Debug, Default)]
pub struct SaveFacts {
    /// Keys written.
    pub keys: u64,
    /// Keys to be written.
    pub total_keys: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Bytes retained beside the data at present.
    pub retained_bytes: u64,
    /// Most bytes that it ever retained.
    pub retained_bytes_most: u64,
    /// Milliseconds since it began.
    pub millis: u64,
}

impl SaveFacts {
    /// How much is done, in percent.
    pub fn percent(&self) -> f64 {
        100.0 * self.keys as f64 / self.total_keys.max(1) as f64
    }

    /// Megabytes written per second.
    pub fn megabytes_per_second(&self) -> f64 {
        self.bytes as f64 / 1e3 / self.millis.max(1) as f64
    }

    /// Seconds that are left, if it goes on as fast; `None` before the first key.
    pub fn seconds_left(&self) -> Option<u64> {
        let left = u128::from(self.total_keys.saturating_sub(self.keys));
        let millis = (u128::from(self.millis) * left).checked_div(self.keys.into())?;
        u64::try_from(millis.div_ceil(1000)).ok()
    }
}

/// State of saving.
#[derive(Clone, Copy, Debug, Default)]
pub struct SavingFacts {
    /// Number of changes that the store had counted at the moment of the last snapshot.
    pub changes_saved: u64,
    /// Time of the last snapshot, in seconds since the Unix epoch.
    pub last_save: u64,
    /// True if the last snapshot in the background failed.
    pub has_failed: bool,
    /// Seconds that the last snapshot in the background took.
    pub last_seconds: Option<u64>,
    /// Seconds since the present snapshot in the background began.
    pub current_seconds: Option<u64>,
    /// Number of snapshots that were begun by BGSAVE, SAVE and save points.
    pub saves: u64,
    /// Most bytes that the last snapshot retained beside the data.
    pub last_retained_bytes: u64,
    /// The same of the last base of an append-only file.
    pub last_base_retained_bytes: u64,
    /// Microseconds for which clients were kept out at the cut of the last snapshot, of a rotation
    /// too.
    pub pause_micros: u64,
    /// The snapshot at work, in the background or not.
    pub current: Option<SaveFacts>,
}

impl Refusal {
    /// A snapshot while another is made.
    pub const SAVING: Refusal = Refusal::of("ERR Background save already in progress");
    /// A snapshot while the append-only file is rewritten.
    pub const REWRITING: Refusal = Refusal::of(
        "ERR Another child process is active (AOF?): can't BGSAVE right now. Use BGSAVE SCHEDULE \
         in order to schedule a BGSAVE whenever possible.",
    );
    /// Cancellation of nothing.
    pub const NOTHING_TO_CANCEL: Refusal =
        Refusal::of("ERR Background saving is currently not in progress or scheduled");
    /// A snapshot that failed, with the reason in the log.
    pub const SAVE_FAILED: Refusal = Refusal::of("ERR");
    /// A shutdown that failed or was taken back.
    pub const SHUTDOWN_FAILED: Refusal = Refusal::of("ERR Errors trying to SHUTDOWN. Check logs.");
    /// A write after a snapshot has failed.
    pub const SNAPSHOT_FAILED: Refusal = Refusal::of(
        "MISCONF Valkey is configured to save RDB snapshots, but it's currently unable to persist \
         to disk. Commands that may modify the data set are disabled, because this instance is \
         configured to report errors during writes if RDB snapshotting fails \
         (stop-writes-on-bgsave-error option). Please check the Valkey logs for details about the \
         RDB error.",
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_left_follows_from_the_keys_that_were_written() {
        let mut facts = SaveFacts { total_keys: 1000, millis: 2000, ..SaveFacts::default() };
        assert_eq!((facts.percent(), facts.seconds_left()), (0.0, None));
        (facts.keys, facts.bytes) = (250, 4_000_000);
        assert_eq!((facts.percent(), facts.seconds_left()), (25.0, Some(6)));
        assert_eq!(facts.megabytes_per_second(), 2.0);
        facts.keys = 1001;
        assert_eq!(facts.seconds_left(), Some(0));
    }
}
