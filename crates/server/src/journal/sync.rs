//! Syncs of what was written: on another thread, or waited for under `appendfsync always`.

use super::policy::sync_policy;
use super::writer::JournalThread;
use base::Steady;
use journal::disk::OpenFile;
use journal::log::LogError;
use journal::writer::{SyncJob, SyncPolicy, WriteError};
use std::io;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};

impl JournalThread {
    /// Begins a sync if it is due. Under `always` it is waited for.
    pub(super) fn sync(&mut self, now: Steady) {
        let policy = match self.journal.asked.hurry.load(Acquire) {
            true => SyncPolicy::Always,
            false => sync_policy(&self.instance),
        };
        let Some(log) = &mut self.log else { return };
        if self.sync_began.is_some() || !log.is_sync_due(policy, now) {
            return;
        }
        if policy != SyncPolicy::Always {
            return self.begin_sync(now);
        }
        if let Some(job) = self.sync_job(now) {
            let began = Instant::now();
            let outcome = job.run();
            self.instance.note_latency("aof-fsync-always", began.elapsed());
            self.after_sync(job, outcome);
        }
    }

    /// Begins a sync on the other thread, where none is at work.
    pub(super) fn begin_sync(&mut self, now: Steady) {
        if let Some(job) = self.sync_job(now) {
            self.sync_began = Some(Instant::now());
            self.instance.journal.is_syncing.store(true, Relaxed);
            self.syncer.begin(job);
        }
    }

    /// The sync of what was written, unless its line cannot be written.
    fn sync_job(&mut self, now: Steady) -> Option<SyncJob<OpenFile>> {
        if self.retry.is_too_early(Instant::now()) {
            return None;
        }
        let begun = self.log.as_mut()?.begin_sync(now);
        begun.inspect(|_| self.retry.end()).map_err(|error| self.note_failure(&error)).ok()
    }

    /// Takes note of a sync that has ended on the other thread.
    pub(super) fn end_sync(&mut self) {
        let Some((job, outcome)) = self.syncer.ended() else { return };
        if self.sync_began.take().is_some_and(|began| began.elapsed() > Duration::from_secs(1)) {
            self.instance.journal.delayed_syncs.fetch_add(1, Relaxed);
        }
        self.after_sync(job, outcome);
    }

    /// Waits for the sync at work, so that another file may follow.
    pub(super) fn wait_for_sync(&mut self) {
        if self.sync_began.take().is_some()
            && let Some((job, outcome)) = self.syncer.wait()
        {
            self.after_sync(job, outcome);
        }
    }

    fn after_sync(&mut self, job: SyncJob<OpenFile>, outcome: io::Result<()>) {
        self.instance.journal.is_syncing.store(false, Relaxed);
        let Some(log) = &mut self.log else { return };
        log.end_sync(job, &outcome);
        if let Err(error) = outcome {
            self.look_for_files(self.instance.clock.steady());
            self.note_failure(&LogError::Write(WriteError::Write(error)));
        }
    }
}
