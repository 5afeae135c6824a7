//! The saver's part of a rotation: the base.

use super::reasons::Reason;
use super::retry::Retry;
use super::shared::Journal;
use crate::saver::{Job, JobKind, Sink};
use crossbeam_channel::{Receiver, Sender};
use journal::disk::{Directory, FileWriter, OpenFile};
use journal::set::{BaseForm, Set};
use session::Instance;
use settings::journal::AOF_REWRITE_INCREMENTAL_FSYNC;
use snapshot::{Save, SaveError};
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Release};
use std::time::{Duration, Instant};

/// Longest time for which no rotation begins by itself after some that have failed.
pub const PAUSE_MAX: Duration = Duration::from_secs(3600);
/// The same for one without which changes are in no file that a start would load.
pub const NEEDED_PAUSE_MAX: Duration = Duration::from_secs(5);

/// State of rotations.
#[derive(Debug, Default)]
pub struct Rotations {
    pub current: Option<Rotation>,
    /// When the next one may begin after one that has failed.
    pub retry: Retry,
    /// Those that have failed since the last one that has not, and when the last of them did.
    pub failures: u32,
    pub failed: Option<Instant>,
    /// Syncs that were made to prepare the next one.
    pub syncs: u32,
    /// The set whose base was replaced while the journal is off, until the old files are gone.
    pub replaced: Option<Set<Directory>>,
}

impl Rotations {
    /// Returns true if the journal will be on when the rotation at work has ended.
    pub fn is_turning_on(&self) -> bool {
        self.current.as_ref().is_some_and(|rotation| rotation.turns_on)
    }

    /// Notes the end of one.
    pub fn note_end(&mut self, has_failed: bool, now: Instant) {
        self.failures = if has_failed { self.failures.saturating_add(1) } else { 0 };
        self.failed = has_failed.then_some(now);
    }

    /// Forgets failures: the next one is asked for.
    pub fn end_rest(&mut self) {
        (self.failures, self.failed) = (0, None);
    }

    /// True if none is to begin by itself at present, as a base that does not fit on the disk is
    /// tried again and again: for a second after a failure, then for twice as long each time, up to
    /// `most`.
    pub fn rests(&self, now: Instant, most: Duration) -> bool {
        let doubled = self.failures.saturating_sub(1).min(u32::BITS - 1);
        let pause = Duration::from_secs(1 << doubled).min(most);
        self.failed.is_some_and(|failed| now.saturating_duration_since(failed) < pause)
    }
}

/// A rotation at work.
#[derive(Debug)]
pub struct Rotation {
    pub events: Receiver<Event>,
    /// The set, until there is a log that has it.
    pub set: Option<Set<Directory>>,
    /// The cut, until the old file has ended there.
    pub cut: Option<Cut>,
    /// Number of the first incremental file that stays, once the cut is behind.
    pub first: Option<u64>,
    pub is_saved: bool,
    /// Tells the saver's part that nobody waits for it.
    pub is_void: Arc<AtomicBool>,
    pub form: BaseForm,
    pub turns_on: bool,
}

impl Drop for Rotation {
    fn drop(&mut self) {
        self.is_void.store(true, Release);
    }
}

/// Where the stream was when the gate was closed.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    pub position: u64,
    /// Selected database from there on.
    pub selected: usize,
}

/// What the saver tells.
#[derive(Debug)]
pub enum Event {
    Cut(Cut),
    Saved(Result<(), SaveError>),
}

/// The saver's part of a rotation.
pub struct BaseJob {
    pub journal: Arc<Journal>,
    /// The base; taken when it is opened.
    pub file: Option<OpenFile>,
    /// True if units are recorded from the cut on.
    pub turns_on: bool,
    /// What the base is written as.
    pub form: BaseForm,
    /// True once the rotation was given up.
    pub is_void: Arc<AtomicBool>,
    pub events: Sender<Event>,
}

/// The base on its way to the disk.
struct BaseSink {
    file: FileWriter<OpenFile>,
    /// True once it is for the writer of the journal to name it, or to remove it.
    is_whole: bool,
}

impl Job for BaseJob {
    fn kind(&self) -> JobKind {
        JobKind::Rotation
    }

    fn shape(&self, save: &mut Save<'_>) {
        save.is_base = true;
    }

    fn writes_commands(&self) -> bool {
        self.form == BaseForm::Commands
    }

    fn open(&mut self, instance: &Instance) -> io::Result<Box<dyn Sink>> {
        instance.journal.begin_rewrite(instance.clock.steady());
        tracing::info!("Background append only file rewriting started");
        let file = self.file.take().ok_or(io::ErrorKind::NotFound)?;
        let writes_early = AOF_REWRITE_INCREMENTAL_FSYNC.get(&instance.settings);
        let file = FileWriter::new(file, writes_early);
        Ok(Box::new(BaseSink { file, is_whole: false }))
    }

    fn at_cut(&mut self, instance: &Instance) {
        if self.is_void.load(Acquire) {
            return;
        }
        let ring = &self.journal.ring;
        let cut = Cut { position: self.journal.cut.mark(ring), selected: ring.selected_database() };
        if self.turns_on {
            self.journal.reasons.add(&instance.store, Reason::FILES);
        }
        self.send(Event::Cut(cut));
    }

    fn end(self: Box<Self>, _: &Instance, saved: Result<(), SaveError>) {
        self.send(Event::Saved(saved));
    }
}

impl BaseJob {
    fn send(&self, event: Event) {
        // An error is ignored: the rotation was given up, and nothing receives the event.
        let _ = self.events.send(event);
        self.journal.rest.end();
    }
}

impl Write for BaseSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Sink for BaseSink {
    fn sync(&mut self) -> io::Result<()> {
        self.file.sync()
    }

    /// The writer of the journal gives it its name.
    fn put_in_place(mut self: Box<Self>) -> io::Result<()> {
        self.is_whole = true;
        Ok(())
    }
}

impl Drop for BaseSink {
    /// What has failed takes no space from the journal until its name goes.
    fn drop(&mut self) {
        if !self.is_whole {
            self.file.give_back();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotations_that_fail_begin_by_themselves_less_and_less_often() {
        let (mut rotations, mut now) = (Rotations::default(), Instant::now());
        assert!(!rotations.rests(now, PAUSE_MAX));
        for seconds in [1, 2, 4, 8, 16] {
            rotations.note_end(true, now);
            now += Duration::from_secs(seconds) - Duration::from_millis(1);
            assert!(rotations.rests(now, PAUSE_MAX), "{seconds}");
            now += Duration::from_millis(1);
            assert!(!rotations.rests(now, PAUSE_MAX), "{seconds}");
        }
        (0..100).for_each(|_| rotations.note_end(true, now));
        assert!(!rotations.rests(now + PAUSE_MAX, PAUSE_MAX));
        let later = now + NEEDED_PAUSE_MAX - Duration::from_millis(1);
        assert!(rotations.rests(later, NEEDED_PAUSE_MAX));
        assert!(!rotations.rests(now + NEEDED_PAUSE_MAX, NEEDED_PAUSE_MAX));
        rotations.end_rest();
        assert!(!rotations.rests(now, PAUSE_MAX));
        rotations.note_end(true, now);
        rotations.note_end(false, now);
        assert!(!rotations.rests(now, PAUSE_MAX));
    }
}
