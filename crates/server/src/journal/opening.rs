//! The writer's begin, at start: in the last file, or in another one as soon as there is space.

use super::begin::Begin;
use super::failure::is_full;
use super::reasons::Reason;
use super::writer::JournalThread;
use base::Steady;
use journal::disk::{File, Files};
use journal::log::LogError;
use journal::set::SetError;
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::time::Instant;
use store::Store;

impl JournalThread {
    /// Begins the log at start. Where there is no space for it, that is tried again, and changes
    /// are refused until then.
    ///
    /// # Errors
    /// Anything else, which the operator has to mend before.
    pub(super) fn begin_log(&mut self, begin: Begin, now: Steady) -> Result<(), SetError> {
        match self.open_log(Box::new(begin), now) {
            Ok(()) => Ok(()),
            Err((begin, SetError::Disk { error, doing, name })) if is_full(&error) => {
                self.waiting = Some(begin);
                self.journal.is_waiting.store(true, Release);
                self.turn_on();
                self.note_failure(&LogError::Set(SetError::Disk { doing, name, error }));
                Ok(())
            }
            Err((_, error)) => Err(error),
        }
    }

    /// Tries again to begin the log, once a second.
    pub(super) fn begin_waiting_log(&mut self, now: Steady) {
        if self.retry.is_too_early(Instant::now()) {
            return;
        }
        let Some(begin) = self.waiting.take() else { return };
        if let Err((begin, error)) = self.open_log(begin, now) {
            self.waiting = Some(begin);
            self.note_failure(&LogError::Set(error));
        }
    }

    fn open_log(&mut self, begin: Box<Begin>, now: Steady) -> Result<(), (Box<Begin>, SetError)> {
        let start = begin.start(self.id);
        self.log = Some(begin.open(start, now)?);
        self.retry.end();
        self.journal.is_waiting.store(false, Release);
        self.turn_on();
        let probed = self.log.as_mut().map_or(Ok(()), |log| log.probe(now));
        match probed {
            // Replicas are told the present id, so the files have it first.
            Ok(()) => self.follow_history(now),
            Err(error) => self.note_failure(&LogError::Write(error)),
        }
        Ok(())
    }

    fn turn_on(&mut self) {
        self.count_files();
        // What came since is growth, however many starts ago.
        let (base_bytes, bytes) = (self.base_bytes(), self.bytes());
        let state = &self.instance.journal;
        state.base_bytes.store(base_bytes, Relaxed);
        state.bytes.store(bytes, Relaxed);
        state.is_on.store(true, Relaxed);
        self.journal.follow_policy(&self.instance);
        let journal = &self.journal;
        let turn_on = |store: &Store| journal.reasons.add(store, Reason::FILES);
        self.instance.store.exclusively(&self.thread, turn_on);
    }

    /// Bytes of the base; zero if there is none.
    fn base_bytes(&mut self) -> u64 {
        let Some(log) = &mut self.log else { return 0 };
        let set = log.set();
        let base = set.manifest().base.as_ref();
        base.and_then(|base| set.files().open(&base.name).and_then(|file| file.bytes()).ok())
            .unwrap_or(0)
    }

    /// Counts the bytes of all files but the last, which grows.
    pub(super) fn count_files(&mut self) {
        let Some(log) = &mut self.log else { return };
        let set = log.set();
        let names: Vec<&str> = set.manifest().to_load().map(|entry| entry.name.as_str()).collect();
        let others = names.split_last().map_or(&[][..], |(_, others)| others);
        let bytes = |name: &&str| set.files().open(name).and_then(|file| file.bytes()).unwrap_or(0);
        self.other_bytes = others.iter().map(bytes).sum();
    }
}
