//! The files that the stream is written to: the writer of the last incremental file, and what
//! happens when another one follows it.
//!
//! ```text
//! rotate    written up to the cut ─▶ synced ─▶ next file in the manifest ─▶ what follows
//! replace   a sync has failed ─▶ truncated to what is safe ─▶ next file ─▶ what was in doubt
//! ```
//! The caller decides how long the ring keeps what is written: up to `safe`, and a failed
//! sync costs nothing; or less, and it takes a rotation, which makes all of it new.

use crate::disk::Files;
use crate::ring::Consumer;
use crate::set::{Set, SetError};
use crate::sync_line::ReplicationId;
use crate::writer::{Reached, Start, SyncJob, SyncPolicy, WriteError, Writer};
use base::{Millis, Steady};
use std::collections::VecDeque;
use std::io;

#[cfg(all(test, not(any(loom, shuttle, miri))))]
mod tests;

/// Why the stream is not written, or not known to be safe.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The file, or the last sync.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The set of files.
    #[error(transparent)]
    Set(#[from] SetError),
    /// A sync runs, and its end is waited for.
    #[error("a sync is running")]
    Syncing,
    /// What a failed sync has lost is not in memory any more, or the file cannot be truncated: only
    /// a new base makes the set whole.
    #[error("a sync has failed, and the files need a new base")]
    NeedsBase,
}

/// The stream in files.
#[derive(Debug)]
pub struct Log<F: Files> {
    set: Set<F>,
    writer: Writer<F::File>,
    id: ReplicationId,
    /// Text of the ids before it.
    earlier: String,
    shift: u64,
    /// Selected databases, each from a position on.
    selections: Vec<(u64, usize)>,
    /// Positions of units with times to live that are not safe, and the moments from which those
    /// count.
    moments: VecDeque<(u64, Millis)>,
    is_syncing: bool,
    /// True if files of the set are gone, until what is written is for another base.
    has_lost_files: bool,
}

impl<F: Files> Log<F> {
    /// Begins the next incremental file of a set, at a position of the stream.
    ///
    /// # Errors
    /// Those of the set.
    pub fn begin(mut set: Set<F>, start: Start, now: Steady) -> Result<Log<F>, SetError> {
        let file = set.begin_incremental(&start.header())?;
        Ok(Log::new(set, Writer::new(file, start, now), start))
    }

    /// The stream from a position on, with the writer of the last file of a set.
    pub fn new(set: Set<F>, writer: Writer<F::File>, start: Start) -> Log<F> {
        let selections = vec![(start.position, start.selected)];
        Log {
            set,
            writer,
            id: start.id,
            earlier: String::new(),
            shift: start.shift,
            selections,
            moments: VecDeque::new(),
            is_syncing: false,
            has_lost_files: false,
        }
    }

    /// Begins an incremental file that is no part of its set before the next base, which has all
    /// up to a position of the stream.
    ///
    /// # Errors
    /// Those of the set.
    pub fn begin_apart(mut set: Set<F>, start: Start, now: Steady) -> Result<Log<F>, SetError> {
        let file = set.begin_apart(&start.header())?;
        Ok(Log::new(set, Writer::new(file, start, now), start))
    }

    /// Goes on in a file that is no part of the set before the next base, which has all up to
    /// `cut`. What is not safe of the present file is given up.
    ///
    /// # Errors
    /// Those of the set.
    pub fn go_apart(&mut self, cut: u64, now: Steady) -> Result<(), LogError> {
        if self.is_syncing {
            return Err(LogError::Syncing);
        }
        let start = Start {
            position: cut,
            selected: self.selected_at(cut),
            id: self.id,
            shift: self.shift,
        };
        let file = self.set.begin_apart(&start.header())?;
        self.begin_file(file, start, now);
        self.has_lost_files = false;
        Ok(())
    }

    /// Looks whether the files are there that a start would load. Once some are not, nothing is
    /// written before a new base has all that is needed. Returns what is not there.
    ///
    /// # Errors
    /// Those of the system.
    pub fn find_lost(&mut self) -> io::Result<Option<String>> {
        let lost = self.set.find_lost()?;
        self.has_lost_files |= lost.is_some();
        Ok(lost)
    }

    /// True once files were found to be gone, until what is written is for another base.
    pub fn has_lost_files(&self) -> bool {
        self.has_lost_files
    }

    /// Takes an empty set in place of one whose directory is gone.
    pub fn move_to(&mut self, set: Set<F>) {
        (self.set, self.has_lost_files) = (set, true);
    }

    /// The set of files, for the switch of its base and for removing history.
    pub fn set(&mut self) -> &mut Set<F> {
        &mut self.set
    }

    /// Sets the wall time that is written into the file; none is while it is `None`.
    pub fn set_time(&mut self, time: Option<Millis>) {
        self.writer.set_time(time);
    }

    /// Sets whether the file has padding ahead, for many syncs.
    pub fn set_padded(&mut self, is_padded: bool) {
        self.writer.set_padded(is_padded);
    }

    /// Sets whether others follow the stream: a start of these files expects them back.
    pub fn set_followed(&mut self, is_followed: bool) {
        self.writer.set_followed(is_followed);
    }

    /// Sets whether syncs follow what is written.
    pub fn set_synced(&mut self, is_synced: bool) {
        self.writer.set_synced(is_synced);
    }

    /// Number of the last incremental file of the set.
    pub fn last_incremental(&self) -> u64 {
        self.set.last_incremental()
    }

    /// Returns true if the file is no part of the set yet.
    pub fn is_apart(&self) -> bool {
        self.set.is_apart()
    }

    /// What was written.
    pub fn written(&self) -> Reached {
        self.writer.written()
    }

    /// What is safe.
    pub fn safe(&self) -> Reached {
        self.writer.safe()
    }

    /// True if the last write or sync has failed: writers should be refused.
    pub fn is_failing(&self) -> bool {
        self.writer.is_failing() || self.has_lost_files
    }

    /// Finds out whether there is space for what comes.
    ///
    /// # Errors
    /// Those of the file, as of any write.
    pub fn probe(&mut self, now: Steady) -> Result<(), WriteError> {
        self.writer.probe(now)
    }

    /// Has a write that has failed tried again without delay, as there may be room now.
    pub fn retry_at_once(&mut self) {
        self.writer.retry_at_once();
    }

    /// True after a sync has failed, or files were lost, until `replace` succeeds or `go_apart`
    /// does.
    pub fn has_sync_failed(&self) -> bool {
        self.writer.has_sync_failed() || self.has_lost_files
    }

    /// Has what is written from now on be known as the stream of this id, and tell of those before
    /// it. A line says so at once.
    ///
    /// # Errors
    /// Those of a write; then no unit is written before such a line.
    pub fn set_history(
        &mut self,
        id: ReplicationId,
        earlier: String,
        now: Steady,
    ) -> Result<(), WriteError> {
        if id == self.id && earlier == self.earlier {
            return Ok(());
        }
        (self.id, self.earlier) = (id, earlier);
        self.writer.set_history(id, &self.earlier);
        self.writer.write_safe_line(now)
    }

    fn begin_file(&mut self, file: F::File, start: Start, now: Steady) {
        let is_followed = self.writer.is_followed();
        self.writer = Writer::new(file, start, now);
        self.writer.set_followed(is_followed);
        if !self.earlier.is_empty() {
            self.writer.set_history(self.id, &self.earlier);
            // What fails is done with the first unit; the files before this one tell it until then.
            let _ = self.writer.write_safe_line(now);
        }
    }

    /// Notes that the selected database is another one from a position on. What is noted later of
    /// a position before that of another is known by then.
    pub fn note_selected_database(&mut self, position: u64, selected: usize) {
        if self.selections.last().is_none_or(|(last, _)| *last <= position) {
            self.selections.push((position, selected));
        }
    }

    /// Notes from which moments times to live count in the units at these positions, which follow
    /// those noted before.
    pub fn note_moments(&mut self, moments: Vec<(u64, Millis)>) {
        self.moments.extend(moments);
        if !self.writer.is_synced() {
            // What is written there is not written again, and no sync tells that it is safe.
            self.drop_moments(self.writer.written().position);
        }
    }

    /// Writes what is whole.
    ///
    /// # Errors
    /// Those of the file, and that it is given up after a failed sync.
    pub fn write(&mut self, consumer: &mut Consumer, now: Steady) -> Result<(), WriteError> {
        let whole = consumer.whole();
        self.write_until(consumer, whole, now)
    }

    /// Writes what is whole up to a position, which is the end of a unit.
    ///
    /// # Errors
    /// Those of `write`.
    pub fn write_until(
        &mut self,
        consumer: &Consumer,
        limit: u64,
        now: Steady,
    ) -> Result<(), WriteError> {
        if self.has_lost_files {
            return Err(WriteError::SyncFailed);
        }
        self.writer.write(consumer, limit, &self.moments, now)
    }

    /// True if a sync is due.
    pub fn is_sync_due(&self, policy: SyncPolicy, now: Steady) -> bool {
        !self.has_lost_files && self.writer.is_sync_due(policy, now)
    }

    /// Begins a sync of what was written.
    ///
    /// # Errors
    /// Those of the file and of the names of files.
    pub fn begin_sync(&mut self, now: Steady) -> Result<SyncJob<F::File>, LogError> {
        self.set.retry_sync_of_names()?;
        let job = self.writer.begin_sync(now)?;
        self.is_syncing = true;
        Ok(job)
    }

    /// Takes note of how a sync went.
    pub fn end_sync(&mut self, job: SyncJob<F::File>, outcome: &io::Result<()>) {
        self.is_syncing = false;
        self.writer.end_sync(job, outcome);
        let safe = self.writer.safe().position;
        self.forget_selections(safe);
        self.drop_moments(safe);
    }

    /// Forgets all selections up to a position but the last one: no file begins before it any more.
    pub fn forget_selections(&mut self, up_to: u64) {
        let first = self.selections.partition_point(|(position, _)| *position <= up_to);
        self.selections.drain(..first.saturating_sub(1));
    }

    fn drop_moments(&mut self, below: u64) {
        let first = self.moments.partition_point(|(position, _)| *position < below);
        self.moments.drain(..first);
    }

    /// Ends the file at `cut`, which is whole, and begins the next one. Returns its number, below
    /// which incremental files become history when a snapshot of the cut is the base.
    ///
    /// # Errors
    /// Those of the file and of the set, after which the file goes on as if nothing had been asked.
    pub fn rotate(&mut self, consumer: &Consumer, cut: u64, now: Steady) -> Result<u64, LogError> {
        if self.is_syncing {
            return Err(LogError::Syncing);
        }
        self.set.retry_sync_of_names()?;
        self.writer.write(consumer, cut, &self.moments, now)?;
        self.writer.finish(now)?;
        self.follow(now)
    }

    /// Writes and syncs all that is whole, before the process ends.
    ///
    /// # Errors
    /// Those of the file.
    pub fn close(&mut self, consumer: &mut Consumer, now: Steady) -> Result<(), LogError> {
        if self.is_syncing {
            return Err(LogError::Syncing);
        }
        self.set.retry_sync_of_names()?;
        self.write(consumer, now)?;
        self.writer.finish(now)?;
        Ok(self.writer.write_end_line(now)?)
    }

    /// Goes on in another file after a failed sync, with what was not safe.
    ///
    /// # Errors
    /// `NeedsBase`, or those of the set; in the latter case the next call goes on.
    pub fn replace(&mut self, consumer: &Consumer, now: Steady) -> Result<u64, LogError> {
        if self.is_syncing {
            return Err(LogError::Syncing);
        }
        if !self.has_sync_failed() {
            return Ok(self.set.last_incremental());
        }
        if self.has_lost_files
            || self.set.is_apart()
            || consumer.position() > self.writer.safe().position
        {
            return Err(LogError::NeedsBase);
        }
        self.set.retry_sync_of_names()?;
        self.writer.truncate_to_safe().map_err(|_| LogError::NeedsBase)?;
        self.follow(now)
    }

    /// Begins the next file where the last one ends: where all of it is safe.
    fn follow(&mut self, now: Steady) -> Result<u64, LogError> {
        let position = self.writer.safe().position;
        let start = Start {
            position,
            selected: self.selected_at(position),
            id: self.id,
            shift: self.shift,
        };
        let file = self.set.begin_incremental(&start.header())?;
        self.begin_file(file, start, now);
        Ok(self.set.last_incremental())
    }

    fn selected_at(&self, position: u64) -> usize {
        let first = self.selections.partition_point(|(from, _)| *from <= position);
        self.selections[first.saturating_sub(1)].1
    }
}
