//! What is done where the disk fails: what is logged, and what makes way.

use super::rotation::open_directory;
use super::writer::JournalThread;
use crate::limits;
use base::Steady;
use journal::disk::Files;
use journal::log::{Log, LogError};
use journal::set::{Set, SetError};
use journal::writer::WriteError;
use rustix::io::Errno;
use settings::journal::{APPENDDIRNAME, APPENDFILENAME};
use std::io;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, Instant};

/// Time for which a write waits for space that what else is written may give back.
const WAY_PATIENCE: Duration = Duration::from_secs(1);

impl JournalThread {
    /// Notes a try that has failed: changes are refused until one succeeds.
    pub(super) fn note_failure(&mut self, error: &LogError) {
        if self.is_way_made(error) {
            return;
        }
        let text = match error {
            // Nothing was tried.
            LogError::Write(WriteError::Waiting) | LogError::Syncing => return,
            LogError::Write(WriteError::Write(error))
            | LogError::Set(SetError::Disk { error, .. }) => words_of(error),
            other => other.to_string(),
        };
        if matches!(error, LogError::Set(_)) {
            self.retry.fail(Instant::now());
        }
        tracing::warn!("Error writing the append-only file: {error}; tried again every second");
        self.instance.troubles.note_journal(
            &self.instance.clients.grants,
            &self.instance.journal,
            Some(text),
        );
        limits::apply(&self.instance);
    }

    /// Looks whether somebody has taken files away that a start would load. Then changes are
    /// refused until a new base has all data.
    pub(super) fn look_for_files(&mut self, now: Steady) {
        let Some(log) = &mut self.log else { return };
        let was_known = log.has_lost_files();
        let Ok(Some(lost)) = log.find_lost() else { return };
        let is_elsewhere = log.set().files().is_in_place().is_ok_and(|is_in_place| !is_in_place);
        if !was_known {
            self.instance.troubles.note_journal(
                &self.instance.clients.grants,
                &self.instance.journal,
                Some(words_of(&Errno::NOENT.into())),
            );
            limits::apply(&self.instance);
            tracing::warn!(
                "The append-only files are not there any more: {lost} is gone, so what was \
                 acknowledged is not on the disk. A new base is written"
            );
        }
        // What is turned off needs no base.
        if self.journal.is_closing.load(Acquire) {
            return;
        }
        if self.rotations.current.is_none() {
            self.journal.asked.rewrite.store(true, Relaxed);
        } else if !was_known || is_elsewhere {
            // What it has begun is gone as well.
            self.fail_rotation(now);
        }
    }

    /// Makes the directory anew, if it is gone. One that has data is nobody's to write to.
    ///
    /// # Errors
    /// Those of the disk, and that there is another set in its place.
    pub(super) fn find_place(&mut self) -> Result<(), SetError> {
        let Some(log) = self.log.as_mut().filter(|log| log.has_lost_files()) else { return Ok(()) };
        let settings = &self.instance.settings;
        let is_in_place = log.set().files().is_in_place().map_err(|error| {
            let name = APPENDDIRNAME.get(settings).to_string();
            SetError::Disk { doing: "look for", name, error }
        })?;
        if !is_in_place {
            let prefix = APPENDFILENAME.get(settings);
            // Nothing is left in the directory of somebody else, no lock either.
            if Set::look(open_directory(settings)?, &prefix).is_ok_and(|found| !found.is_empty()) {
                return Err(SetError::Replaced);
            }
            self.journal.claim_to_write(settings)?;
            let set = Set::open(open_directory(settings)?, &prefix)?;
            if !set.is_empty() {
                return Err(SetError::Replaced);
            }
            log.move_to(set);
        }
        Ok(())
    }

    /// Notes that nothing fails any more.
    pub(super) fn end_failure(&mut self) {
        self.retry.end();
        self.instance.troubles.note_journal(
            &self.instance.clients.grants,
            &self.instance.journal,
            None,
        );
        limits::apply(&self.instance);
    }

    /// True if a write has failed for want of space that what else is written may give back at any
    /// moment: a new base goes at once, since the journal comes first, and a snapshot fails at its
    /// next write. Nobody is refused for it before a second has passed.
    fn is_way_made(&mut self, error: &LogError) -> bool {
        let LogError::Write(WriteError::Write(error)) = error else { return false };
        let has_told = self.instance.journal.failure().is_some();
        if !is_full(error) || has_told || !self.saver.is_busy() {
            return false;
        }
        if self.waits_for_space.is_none() && self.rotations.current.is_some() {
            tracing::warn!("There is no space for the journal: the new base is given up");
            self.saver.cancel_rotation();
        }
        self.waits_for_space.get_or_insert_with(Instant::now).elapsed() < WAY_PATIENCE
    }

    /// Has a write that waits for space tried again as soon as nothing else is written.
    pub(super) fn follow_space(&mut self) {
        if self.waits_for_space.is_some() && !self.saver.is_busy() {
            self.waits_for_space = None;
            if let Some(log) = &mut self.log {
                log.retry_at_once();
            }
        }
    }

    /// True while the disk fails: then changes are refused.
    pub(super) fn is_failing(&self) -> bool {
        self.waiting.is_some()
            || self.retry.has_failed()
            || self.log.as_ref().is_some_and(Log::is_failing)
    }
}

/// The words of an error, without the number that the system gives it.
fn words_of(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// True if an error says that there is no space.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}
