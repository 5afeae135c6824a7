//! Rotation: a new base and a new incremental file in place of those that have grown.
//!
//! ```text
//! writer   base file made ─▶ snapshot asked for ····· old file ends at the cut ···· base switched
//! saver                          cut ─▶ what is there at the cut ─▶ base, synced ─┘  old files go
//! ```
//! It follows LESS: log to a new file, and write a snapshot beside it, in place of a rewrite that
//! is caught up through a buffer. Turning the journal on is the same, with a file that is no part
//! of the set before its base is; so is going on after a sync that has failed.

use super::base_job::{BaseJob, Cut, Event, NEEDED_PAUSE_MAX, PAUSE_MAX, Rotation};
use super::claim::append_folder;
use super::reasons::Reason;
use super::shared::Journal;
use super::writer::JournalThread;
use base::Steady;
use crossbeam_channel::unbounded;
use journal::Consumer;
use journal::disk::Directory;
use journal::log::{Log, LogError};
use journal::set::{BaseForm, Set, SetError};
use journal::writer::Start;
use session::Instance;
use settings::Settings;
use settings::journal::{
    AOF_USE_RDB_PREAMBLE, APPENDDIRNAME, APPENDFILENAME, AUTO_AOF_REWRITE_MIN_SIZE,
    AUTO_AOF_REWRITE_PERCENTAGE,
};
use snapshot::SaveError;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::Instant;

/// Bytes that may be written and not safe when a rotation begins.
const NEARLY_SAFE_BYTES: u64 = 4 << 20;
/// Most syncs that are made to come below that.
const SYNCS_BEFORE: u32 = 3;

/// Opens the directory of the files.
pub(super) fn open_directory(settings: &Settings) -> Result<Directory, SetError> {
    let name = APPENDDIRNAME.get(settings).to_string();
    let opened = Directory::open(&append_folder(settings));
    opened.map_err(|error| SetError::Disk { doing: "open", name, error })
}

impl Journal {
    /// Finds out whether the journal can be turned on, as far as that shows before its first base.
    ///
    /// # Errors
    /// What stands against it.
    pub fn rehearse(&self, instance: &Instance) -> Result<(), SetError> {
        let (settings, state) = (&instance.settings, &instance.journal);
        // A base that is being written has shown it, and its files are about to change.
        if state.is_on.load(Relaxed) || state.is_rewriting.load(Relaxed) {
            return Ok(());
        }
        Set::rehearse(open_directory(settings)?, &APPENDFILENAME.get(settings))
    }
}

impl JournalThread {
    /// Begins a rotation that was asked for or is due, and goes on with the one at work.
    pub(super) fn rotate(&mut self, now: Steady) {
        self.poll_rotation(now);
        if self.journal.asked.at_once.swap(false, Acquire) {
            self.rotations.end_rest();
        }
        let is_wanted =
            self.log.is_none() && self.waiting.is_none() && self.journal.asked.on.load(Acquire);
        let may_begin = self.waiting.is_none()
            && self.rotations.current.is_none()
            && !self.rotations.retry.is_too_early(Instant::now())
            && !self.rotations.rests(Instant::now(), NEEDED_PAUSE_MAX);
        let is_asked = self.journal.asked.rewrite.load(Relaxed) || is_wanted;
        if may_begin && is_asked && self.is_nearly_safe(now) {
            self.look_for_files(now);
            self.journal.asked.rewrite.store(false, Relaxed);
            self.journal.asked.behind_end.store(false, Relaxed);
            self.rotations.retry.end();
            if let Err(error) = self.find_place().and_then(|()| self.begin_rotation()) {
                tracing::warn!("Error beginning to write a new base: {error}");
                self.fail_rotation(now);
            }
        }
    }

    /// Returns true if the sync that ends the old file will find little to do: syncs before it are
    /// made while the file still grows, so that changes need not wait for them.
    fn is_nearly_safe(&mut self, now: Steady) -> bool {
        let Some(log) = &self.log else { return true };
        if self.sync_began.is_some() {
            return false;
        }
        let behind = log.written().position.saturating_sub(log.safe().position);
        let is_enough = behind < NEARLY_SAFE_BYTES || self.rotations.syncs == SYNCS_BEFORE;
        if is_enough || self.is_failing() {
            self.rotations.syncs = 0;
            return true;
        }
        self.rotations.syncs += 1;
        self.begin_sync(now);
        false
    }

    /// Returns true if the files have outgrown their base by as much as the settings allow. While
    /// the disk fails, a base would not help it.
    pub(super) fn is_rotation_due(&self) -> bool {
        let (settings, state) = (&self.instance.settings, &self.instance.journal);
        let percentage = u64::from(AUTO_AOF_REWRITE_PERCENTAGE.get(settings));
        let (bytes, base) = (state.bytes.load(Relaxed), state.base_bytes.load(Relaxed).max(1));
        let growth = bytes.saturating_sub(base).saturating_mul(100) / base;
        self.log.is_some()
            && !self.is_failing()
            && self.rotations.current.is_none()
            && !self.rotations.rests(Instant::now(), PAUSE_MAX)
            && percentage > 0
            && bytes > AUTO_AOF_REWRITE_MIN_SIZE.get(settings)
            && growth >= percentage
    }

    fn begin_rotation(&mut self) -> Result<(), SetError> {
        let settings = &self.instance.settings;
        self.rotations.replaced = None;
        self.journal.asked.restart.store(false, Relaxed);
        let mut opened = None;
        let set = match &mut self.log {
            Some(log) => log.set(),
            None => {
                self.journal.claim_to_write(settings)?;
                opened.insert(Set::open(open_directory(settings)?, &APPENDFILENAME.get(settings))?)
            }
        };
        let file = Some(set.create_base()?);
        let (sender, events) = unbounded();
        let is_rdb = AOF_USE_RDB_PREAMBLE.get(settings);
        let form = if is_rdb { BaseForm::Rdb } else { BaseForm::Commands };
        let turns_on = self.log.is_none() && self.journal.asked.on.load(Acquire);
        let (journal, is_void) = (Arc::clone(&self.journal), Arc::default());
        if turns_on {
            // Before there is a cut: what comes behind it is for the file.
            self.consumer = Some(journal.ring.read_from_end());
        }
        self.saver.push(Box::new(BaseJob {
            journal,
            file,
            turns_on,
            form,
            is_void: Arc::clone(&is_void),
            events: sender,
        }));
        self.rotations.current = Some(Rotation {
            events,
            set: opened,
            cut: None,
            first: None,
            is_saved: false,
            form,
            turns_on,
            is_void,
        });
        Ok(())
    }

    fn poll_rotation(&mut self, now: Steady) {
        let Some(rotation) = &mut self.rotations.current else { return };
        for event in rotation.events.try_iter() {
            match event {
                Event::Cut(cut) => rotation.cut = Some(cut),
                Event::Saved(Ok(())) => rotation.is_saved = true,
                Event::Saved(Err(error)) => return self.after_failed_base(&error, now),
            }
        }
        if let Some(cut) = rotation.cut {
            if self.retry.is_too_early(Instant::now()) {
                return;
            }
            match self.pass_cut(cut, now) {
                Ok(()) => self.retry.end(),
                Err(error) if self.log.is_none() => {
                    tracing::warn!("Error beginning the append-only file: {error}; tried again");
                    return self.fail_rotation(now);
                }
                // Only a base helps, and nothing is written before this succeeds.
                Err(error) if self.log.as_ref().is_some_and(Log::has_sync_failed) => {
                    return self.note_failure(&error);
                }
                Err(error) => {
                    tracing::warn!(
                        "Error beginning the next append-only file: {error}; the old one goes on"
                    );
                    if let LogError::Write(_) = error {
                        self.note_failure(&error);
                    }
                    return self.fail_rotation(now);
                }
            }
        }
        if self.rotations.current.as_ref().is_some_and(|it| it.is_saved) {
            match self.switch_base() {
                Ok(()) => self.end_rotation(now),
                Err(error) => {
                    tracing::warn!("Error switching to a new base: {error}; the old one stays");
                    self.fail_rotation(now);
                }
            }
        }
    }

    /// Begins anew where that was asked for: FLUSHALL has made what was being written worthless.
    /// Otherwise the rotation has failed.
    fn after_failed_base(&mut self, error: &SaveError, now: Steady) {
        let asked = &self.journal.asked;
        let is_cancelled = matches!(error, SaveError::Cancelled);
        if is_cancelled && asked.restart.swap(false, Acquire) {
            tracing::info!("All keys were removed: the new base is begun anew");
            asked.rewrite.store(true, Relaxed);
            self.give_up_rotation();
            self.rotations.retry.end();
            self.rotations.end_rest();
            return;
        }
        tracing::warn!("Error writing a new base: {error}; the old one stays");
        if matches!(error, SaveError::TooSlow) {
            asked.rewrite.store(true, Relaxed);
        }
        self.fail_rotation(now);
    }

    /// Ends the old file at the cut, and goes on in another one.
    fn pass_cut(&mut self, cut: Cut, now: Steady) -> Result<(), LogError> {
        self.wait_for_sync();
        let Cut { position: cut, selected } = cut;
        // Nobody was filling a place at the cut, so all before it is whole.
        let whole = self.consumer.as_mut().map_or(cut, Consumer::whole);
        debug_assert!(whole >= cut, "units are whole when the gate is closed");
        // The old file tells it of what is before the cut, and the next one of what is behind it.
        self.follow_history(now);
        let Some(rotation) = &mut self.rotations.current else { return Ok(()) };
        let first = match &mut self.log {
            Some(log) if log.has_sync_failed() || log.is_apart() => {
                log.go_apart(cut, now)?;
                log.set().last_incremental() + 1
            }
            Some(log) => {
                let consumer = self.consumer.as_ref().ok_or(LogError::NeedsBase)?;
                log.rotate(consumer, cut, now)?
            }
            None if !self.journal.reasons.has(Reason::FILES) => {
                // Only a base was asked for, and the journal is off.
                rotation.set.as_ref().map_or(0, Set::last_incremental) + 1
            }
            None => {
                let (id, shift) = (self.id, self.journal.shift());
                let start = Start { position: cut, selected, id, shift };
                let set = rotation.set.take().ok_or(LogError::NeedsBase)?;
                let log = Log::begin_apart(set, start, now)?;
                let first = log.last_incremental() + 1;
                self.log = Some(log);
                first
            }
        };
        (rotation.first, rotation.cut) = (Some(first), None);
        self.journal.cut.clear();
        self.count_files();
        Ok(())
    }

    /// Gives the new base its name, and has the manifest name it. Nothing is written meanwhile, so
    /// it is a latency event if the disk takes long for it.
    fn switch_base(&mut self) -> Result<(), SetError> {
        let Some(rotation) = &mut self.rotations.current else { return Ok(()) };
        let (first, began) = (rotation.first.unwrap_or(0), Instant::now());
        let switched = match (&mut self.log, &mut rotation.set) {
            (Some(log), _) => log.set().switch_base(rotation.form, first),
            (None, Some(set)) => set.switch_base(rotation.form, first),
            (None, None) => Ok(()),
        };
        self.instance.note_latency("aof-rename", began.elapsed());
        switched
    }

    fn end_rotation(&mut self, now: Steady) {
        self.rotations.replaced = self.rotations.current.take().and_then(|mut it| it.set.take());
        self.count_files();
        self.rotations.note_end(false, Instant::now());
        self.delete_history();
        let (state, bytes) = (&self.instance.journal, self.bytes());
        state.base_bytes.store(bytes, Relaxed);
        state.bytes.store(bytes, Relaxed);
        state.is_on.store(self.log.is_some(), Relaxed);
        // The policy is followed first: once the rewrite is shown as finished, the promise of
        // `appendfsync` holds.
        self.journal.follow_policy(&self.instance);
        state.end_rewrite(false, now);
        tracing::info!("Background AOF rewrite finished successfully");
    }

    pub(super) fn fail_rotation(&mut self, now: Steady) {
        self.rotations.note_end(true, Instant::now());
        self.give_up_rotation();
        self.instance.journal.end_rewrite(true, now);
    }

    /// Gives a rotation up. A journal that was being turned on is off again, until the next try.
    pub(super) fn give_up_rotation(&mut self) {
        self.saver.cancel_rotation();
        let mut given_up = self.rotations.current.take();
        self.drop_begun(given_up.as_mut());
        self.rotations.retry.fail(Instant::now());
        let is_apart = self.log.as_ref().is_some_and(Log::is_apart);
        if !self.instance.journal.is_on.load(Relaxed) {
            self.drop_files();
            (self.log, self.consumer) = (None, None);
            self.end_failure();
            self.journal.cut.clear();
        } else if is_apart || self.log.as_ref().is_some_and(Log::has_sync_failed) {
            self.journal.asked.rewrite.store(true, Relaxed);
        }
        if given_up.is_some_and(|it| it.cut.is_some()) {
            self.journal.cut.clear();
        }
    }

    /// Removes what was begun for a rotation that is given up, so that it takes no space: the base,
    /// and what was written behind it, unless that is all that the journal has.
    pub(super) fn drop_begun(&mut self, rotation: Option<&mut Rotation>) {
        let is_on = self.instance.journal.is_on.load(Relaxed);
        let of_rotation = rotation.and_then(|rotation| rotation.set.as_mut());
        let set = self.log.as_mut().map(Log::set).or(of_rotation);
        let dropped = set.map_or(Ok(()), |set| match is_on {
            true => set.drop_base(),
            false => set.drop_begun(),
        });
        if let Err(error) = dropped {
            tracing::warn!("Error removing files that were begun: {error}");
        }
    }
}
