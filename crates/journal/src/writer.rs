//! The writer of one incremental file: whole units from the ring, and a line with each sync.
//!
//! ```text
//!            write                 begin_sync             end_sync
//! ring ───────────────▶ written ────────────────▶ job ───────────────▶ safe
//!   │ failed: truncated to the last whole unit,     │ failed: nothing more is written here
//!   └── tried again after a second                  └──▶ another file, from `safe` on
//! ```
//! The time that passes is an argument, and syncs run wherever the caller runs them.

mod append;
mod bounds;
mod sync_job;

pub use bounds::{End, Reached, Start};
pub use sync_job::{SyncJob, SyncPolicy};

use crate::disk::{BLOCK_BYTES, File, Stage, append_all, read_pieces};
use crate::history_line::history_line;
use crate::ring::Consumer;
use crate::sync_line::{Checksum, LINE_BYTES_MAX, ReplicationId};
use base::{Millis, Steady};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

/// Time until a failed write is tried again.
pub const RETRY_MILLIS: u64 = 1_000;
/// Longest time between two syncs of `EverySecond`.
const SYNC_MILLIS: u64 = 1_000;
/// Space that is allocated at once.
const ALLOCATE_BYTES: u64 = 8 << 20;
/// Bytes that wait from which on the disk does not keep up with the changes.
const BEHIND_BYTES: u64 = 2 << 20;
/// Most bytes ahead of which there is padding: it would cost as much again to write it.
const PADDED_BYTES_MAX: u64 = 1 << 20;
/// Bytes of padding that are written at once where syncs are many.
const PAD_BYTES: u64 = if cfg!(test) { 64 } else { 1 << 20 };
/// Bytes of padding for which a file needs one more block of its disk.
const PROBE_BYTES: u64 = if cfg!(test) { 64 } else { BLOCK_BYTES as u64 };
/// Bytes after which the disk is asked to write, so that a sync finds little.
const WRITE_BACK_BYTES: u64 = 2 << 20;

/// Why a file is not written to.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A write failed; it is tried again after a second.
    #[error("cannot write: {0}")]
    Write(#[source] io::Error),
    /// A write failed less than a second ago.
    #[error("cannot write; tried again soon")]
    Waiting,
    /// A sync failed: the file is given up.
    #[error("a sync has failed")]
    SyncFailed,
}

/// Writer of one file.
#[derive(Debug)]
pub struct Writer<F> {
    file: Arc<F>,
    id: ReplicationId,
    shift: u64,
    /// What was written whole.
    tail: Tail,
    /// What is known to be safe.
    safe: Reached,
    /// Whether a line has said so.
    is_safe_written: bool,
    is_syncing: bool,
    has_sync_failed: bool,
    /// When the last sync began, and when the last line was written that says what is safe.
    sync_began: Steady,
    safe_written_at: Steady,
    /// When a failed write is tried again.
    retry: Option<Steady>,
    allocated: u64,
    written_back: u64,
    stage: Stage,
    /// Offset up to which there is padding; `None` if none is to be written.
    padded: Option<u64>,
    /// True if syncs follow what is written, and whether the last line says so.
    is_synced: bool,
    line_is_synced: bool,
    /// The wall time that is to be written, if it is, and the second that was written last.
    time: Option<Millis>,
    second: u64,
    /// The line of earlier ids; empty if there are none.
    history: Vec<u8>,
    /// True while others follow the stream, which a line of the file tells.
    is_followed: bool,
}

/// Where the file ends, if all is well.
#[derive(Clone, Copy, Debug, Default)]
struct Tail {
    reached: Reached,
    since_line: Checksum,
    /// True if the line of earlier ids stands in the file.
    has_history: bool,
    /// True if a line has told the present id, so that units may follow.
    has_id: bool,
    /// True if a line tells that others follow the stream.
    has_gap: bool,
}

impl Tail {
    /// Notes bytes that were appended.
    fn note(&mut self, bytes: &[u8]) {
        self.since_line.update(bytes);
        self.reached.bytes += bytes.len() as u64;
    }
}

impl<F: File> Writer<F> {
    /// Goes on in a file that has its header and no more.
    pub fn new(file: F, start: Start, now: Steady) -> Writer<F> {
        let bytes = start.header().len() as u64;
        let reached = Reached { bytes, position: start.position };
        Writer {
            file: Arc::new(file),
            id: start.id,
            shift: start.shift,
            tail: Tail { reached, has_id: true, ..Tail::default() },
            safe: reached,
            is_safe_written: true,
            is_syncing: false,
            has_sync_failed: false,
            sync_began: now,
            safe_written_at: now,
            retry: None,
            allocated: bytes,
            written_back: bytes,
            stage: Stage::default(),
            padded: None,
            is_synced: true,
            line_is_synced: true,
            time: None,
            second: 0,
            history: Vec::new(),
            is_followed: false,
        }
    }

    /// Goes on at the end of a file, where the stream is at the position of `start`.
    ///
    /// # Errors
    /// Those of the file.
    pub fn go_on(file: F, start: Start, end: &End, now: Steady) -> io::Result<Writer<F>> {
        let (line, behind_line) = end.line;
        let mut since_line = Checksum::default();
        read_pieces(&file, behind_line, end.bytes, |piece| {
            since_line.update(piece);
            Ok(())
        })?;
        let reached = Reached { bytes: end.bytes, position: start.position };
        Ok(Writer {
            tail: Tail { reached, since_line, has_id: line.id == start.id, ..Tail::default() },
            safe: reached,
            is_safe_written: behind_line == end.bytes && line.covers_all(end.bytes),
            allocated: end.bytes,
            written_back: end.bytes,
            is_synced: line.is_synced,
            line_is_synced: line.is_synced,
            ..Writer::new(file, start, now)
        })
    }

    /// Finds out whether there is space for what comes, as nothing is accepted that cannot be
    /// written.
    ///
    /// # Errors
    /// Those of the file, as of any write.
    pub fn probe(&mut self, now: Steady) -> Result<(), WriteError> {
        self.attempt(now, |writer, _| writer.file.pad(PROBE_BYTES))?;
        self.give_back_ahead();
        Ok(())
    }

    /// Sets the wall time, of which lines are written, once a second at most: `#TS:` and seconds
    /// since the Unix epoch, as Redis and Valkey write them. None are while it is `None`.
    pub fn set_time(&mut self, time: Option<Millis>) {
        self.time = time;
    }

    /// Sets whether the file is made longer by padding ahead of what is written, so that a sync
    /// finds a file whose length has not changed. It is worth it where syncs are many.
    pub fn set_padded(&mut self, is_padded: bool) {
        match self.padded {
            Some(_) if !is_padded => self.padded = None,
            None if is_padded => self.padded = Some(0),
            _ => {}
        }
    }

    /// Has what is written from now on be known as the stream of this id, and tell of those before
    /// it.
    pub fn set_history(&mut self, id: ReplicationId, earlier: &str) {
        self.id = id;
        self.history = if earlier.is_empty() { Vec::new() } else { history_line(id, earlier) };
        (self.tail.has_history, self.tail.has_id) = (false, false);
        // The next line says so, though nothing may come before it.
        self.is_safe_written = false;
    }

    /// Sets whether others follow the stream.
    pub fn set_followed(&mut self, is_followed: bool) {
        self.is_followed = is_followed;
    }

    /// True if others follow the stream.
    pub fn is_followed(&self) -> bool {
        self.is_followed
    }

    /// Sets whether syncs follow what is written. Each has a line, so a file that has no such lines
    /// was not synced.
    pub fn set_synced(&mut self, is_synced: bool) {
        self.is_synced = is_synced;
    }

    /// True if syncs follow what is written.
    pub fn is_synced(&self) -> bool {
        self.is_synced
    }

    /// What was written.
    pub fn written(&self) -> Reached {
        self.tail.reached
    }

    /// What outlasts the machine's death.
    pub fn safe(&self) -> Reached {
        self.safe
    }

    /// True if the last write or sync has failed: writers should be refused.
    pub fn is_failing(&self) -> bool {
        self.retry.is_some() || self.has_sync_failed
    }

    /// True after a sync has failed.
    pub fn has_sync_failed(&self) -> bool {
        self.has_sync_failed
    }

    /// Writes what is whole, up to `limit`, which is the end of a unit. `moments` tells from which
    /// moments times to live count in units at these positions.
    ///
    /// # Errors
    /// Those of the file, once a second; meanwhile that it is waited for.
    pub fn write(
        &mut self,
        consumer: &Consumer,
        limit: u64,
        moments: &VecDeque<(u64, Millis)>,
        now: Steady,
    ) -> Result<(), WriteError> {
        if self.has_sync_failed {
            return Err(WriteError::SyncFailed);
        }
        let from = self.tail.reached.position;
        if limit <= from {
            let is_due = !self.is_safe_written && now.since(self.safe_written_at) >= SYNC_MILLIS;
            return match self.retry {
                // Changes are refused until a try succeeds, so no write comes that would be one. A
                // line would be none: it may fit where a change does not.
                Some(retry) if now >= retry => self.probe(now),
                None if is_due => self.write_safe_line(now),
                _ => Ok(()),
            };
        }
        self.attempt(now, |writer, tail| {
            writer.allocate_ahead(tail.reached.bytes + (limit - from));
            writer.pad_ahead(tail.reached.bytes + (limit - from))?;
            writer.append_time(tail)?;
            if writer.is_synced != writer.line_is_synced || !tail.has_id {
                writer.append_line(tail)?;
            }
            if writer.is_followed && !tail.has_gap {
                // There may be none for long, and a start may come before.
                writer.append_gap(0, tail)?;
            }
            writer.append_units(consumer, limit, moments, tail)
        })?;
        self.line_is_synced = self.is_synced;
        self.write_back();
        Ok(())
    }

    /// Runs `append` on a copy of the tail, which becomes the tail if all went well. Otherwise the
    /// file is truncated to it.
    fn attempt(
        &mut self,
        now: Steady,
        append: impl FnOnce(&mut Self, &mut Tail) -> io::Result<()>,
    ) -> Result<(), WriteError> {
        if self.has_sync_failed {
            return Err(WriteError::SyncFailed);
        }
        if let Some(retry) = self.retry {
            if now < retry {
                return Err(WriteError::Waiting);
            }
            self.truncate_to_tail().map_err(|error| self.retry_later(error, now))?;
        }
        let mut tail = self.tail;
        let outcome = append(self, &mut tail);
        if let Err(error) = outcome {
            // The next try does it again, in case it fails here.
            let _ = self.truncate_to_tail();
            return Err(self.retry_later(error, now));
        }
        self.tail = tail;
        Ok(())
    }

    fn retry_later(&mut self, error: io::Error, now: Steady) -> WriteError {
        self.retry = Some(now.after(RETRY_MILLIS));
        WriteError::Write(error)
    }

    /// Has a write that has failed tried again without delay.
    pub fn retry_at_once(&mut self) {
        self.retry = self.retry.and(Some(Steady(0)));
    }

    fn truncate_to_tail(&mut self) -> io::Result<()> {
        self.file.truncate(self.tail.reached.bytes)?;
        self.retry = None;
        self.allocated = self.tail.reached.bytes;
        self.padded = self.padded.map(|_| 0);
        Ok(())
    }

    fn append(&self, bytes: &[u8], tail: &mut Tail) -> io::Result<()> {
        append_all(&*self.file, bytes)?;
        tail.note(bytes);
        Ok(())
    }

    fn append_time(&mut self, tail: &mut Tail) -> io::Result<()> {
        // Seconds only rise, though a clock may be set back: operators truncate files at such a
        // line.
        let second = self.time.map_or(0, |time| time.0 / 1_000);
        if second > self.second {
            self.append(format!("#TS:{second}\r\n").as_bytes(), tail)?;
            self.second = second;
        }
        Ok(())
    }

    fn append_line(&mut self, tail: &mut Tail) -> io::Result<()> {
        if !tail.has_history && !self.history.is_empty() {
            self.append(&self.history, tail)?;
            tail.has_history = true;
        }
        let position = tail.reached.position.wrapping_add(self.shift);
        let line = tail.since_line.line(position, self.id, self.safe.bytes, self.is_synced);
        append_all(&*self.file, line.as_bytes())?;
        tail.reached.bytes += line.len() as u64;
        tail.has_id = true;
        Ok(())
    }

    fn allocate_ahead(&mut self, bytes: u64) {
        if bytes > self.allocated {
            let from = self.allocated.max(self.tail.reached.bytes);
            let more = (bytes - from).next_multiple_of(ALLOCATE_BYTES);
            self.file.allocate(from, more);
            self.allocated = from + more;
        }
    }

    /// Has padding where bytes up to this offset, and a line, are about to be written.
    fn pad_ahead(&mut self, bytes: u64) -> io::Result<()> {
        let bytes = bytes + LINE_BYTES_MAX as u64;
        let coming = bytes - self.tail.reached.bytes;
        if coming <= PADDED_BYTES_MAX && self.padded.is_some_and(|padded| padded < bytes) {
            let more = coming + PAD_BYTES;
            if self.file.pad(more).is_err() {
                // Where there is no space for it, there may be enough for what is to be written.
                return self.truncate_to_tail();
            }
            self.padded = Some(self.tail.reached.bytes + more);
        }
        Ok(())
    }

    fn write_back(&mut self) {
        let written = self.tail.reached.bytes;
        if written - self.written_back.min(written) >= WRITE_BACK_BYTES {
            self.file.write_back(self.written_back, written - self.written_back);
            self.written_back = written;
        }
    }

    /// True if a sync is due.
    pub fn is_sync_due(&self, policy: SyncPolicy, now: Steady) -> bool {
        let has_more = self.tail.reached.position > self.safe.position && !self.is_syncing;
        let is_time = match policy {
            SyncPolicy::Always => true,
            SyncPolicy::EverySecond => now.since(self.sync_began) >= SYNC_MILLIS,
            SyncPolicy::No => false,
        };
        has_more && is_time && !self.has_sync_failed
    }

    /// Writes the line and returns the sync of all that was written. Only one may run at a time.
    ///
    /// # Errors
    /// Those of the line, as of any write.
    pub fn begin_sync(&mut self, now: Steady) -> Result<SyncJob<F>, WriteError> {
        assert!(!self.is_syncing, "two syncs at a time");
        self.write_line(now)?;
        (self.is_syncing, self.sync_began) = (true, now);
        Ok(SyncJob { file: Arc::clone(&self.file), reached: self.tail.reached })
    }

    /// Takes note of how a sync went. After a failure, nothing above `safe` is taken for written.
    pub fn end_sync(&mut self, job: SyncJob<F>, outcome: &io::Result<()>) {
        self.is_syncing = false;
        match outcome {
            Ok(()) if !self.has_sync_failed => {
                (self.safe, self.is_safe_written) = (job.reached, false);
            }
            Ok(()) => {}
            Err(_) => self.has_sync_failed = true,
        }
    }

    /// Makes all that was written safe, and gives back what was allocated ahead, so that another
    /// file may follow, or somebody else append.
    ///
    /// # Errors
    /// Those of a write or a sync.
    pub fn finish(&mut self, now: Steady) -> Result<(), WriteError> {
        if self.tail.reached.bytes == self.safe.bytes {
            self.give_back_ahead();
            return Ok(());
        }
        let job = self.begin_sync(now)?;
        self.give_back_ahead();
        let outcome = job.run();
        self.end_sync(job, &outcome);
        outcome.map_err(|_| WriteError::SyncFailed)
    }

    /// Cuts off what was allocated and padded ahead, since other programs append to the end of the
    /// file.
    fn give_back_ahead(&mut self) {
        let bytes = self.tail.reached.bytes;
        if self.file.truncate(bytes).is_ok() {
            self.allocated = bytes;
            self.padded = self.padded.map(|_| 0);
        }
    }

    /// Writes a line that says how much of the file is safe. With it, the next start knows that
    /// the file is whole, and does not have to write that down itself.
    ///
    /// # Errors
    /// Those of a write.
    pub fn write_safe_line(&mut self, now: Steady) -> Result<(), WriteError> {
        self.write_line(now)?;
        (self.is_safe_written, self.safe_written_at) = (true, now);
        Ok(())
    }

    /// Writes the last line, after `finish`. It says that no syncs follow, because other programs
    /// may append to the file: the next start must not take their bytes for bytes that this writer
    /// had written and not synced.
    ///
    /// # Errors
    /// Those of a write.
    pub fn write_end_line(&mut self, now: Steady) -> Result<(), WriteError> {
        self.is_synced = false;
        self.write_safe_line(now)
    }

    fn write_line(&mut self, now: Steady) -> Result<(), WriteError> {
        self.attempt(now, |writer, tail| writer.append_line(tail))?;
        self.line_is_synced = self.is_synced;
        Ok(())
    }

    /// Truncates what a failed sync has left in doubt, and makes the file's length safe.
    ///
    /// # Errors
    /// Those of the file, after which it cannot be followed by another one.
    pub fn truncate_to_safe(&mut self) -> io::Result<()> {
        self.file.truncate(self.safe.bytes)?;
        self.file.sync()
    }
}
