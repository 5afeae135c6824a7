//! The saver's part of a rotation: the base.

use super::retry::Retry;
use super::shared::Journal;
use crate::saver::{Job, JobKind, Sink};
use command::Instance;
use crossbeam_channel::{Receiver, Sender};
use journal::disk::{Directory, FileWriter, OpenFile};
use journal::set::{BaseForm, Set};
use settings::journal::AOF_REWRITE_INCREMENTAL_FSYNC;
use snapshot::SaveError;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Release};

/// State of rotations.
#[derive(Debug, Default)]
pub struct Rotations {
    pub current: Option<Rotation>,
    /// When the next one may begin after one that has failed.
    pub retry: Retry,
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
}

/// A rotation at work.
#[derive(Debug)]
pub struct Rotation {
    pub events: Receiver<Event>,
    /// The set, until there is a log that has it.
    pub set: Option<Set<Directory>>,
    /// The cut, until the old file has ended there.
    pub cut: Option<u64>,
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

/// What the saver tells.
#[derive(Debug)]
pub enum Event {
    Cut(u64),
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
    pub tell: Sender<Event>,
}

/// The base on its way to the disk.
struct BaseSink(FileWriter<OpenFile>);

impl Job for BaseJob {
    fn kind(&self) -> JobKind {
        JobKind::Rotation
    }

    fn writes_commands(&self) -> bool {
        self.form == BaseForm::Commands
    }

    fn open(&mut self, instance: &Instance) -> io::Result<Box<dyn Sink>> {
        instance.journal.begin_rewrite(instance.clock.now());
        tracing::info!("Background append only file rewriting started");
        let file = self.file.take().ok_or(io::ErrorKind::NotFound)?;
        let writes_early = AOF_REWRITE_INCREMENTAL_FSYNC.get(&instance.settings);
        Ok(Box::new(BaseSink(FileWriter::new(file, writes_early))))
    }

    fn at_cut(&mut self, instance: &Instance) {
        if self.is_void.load(Acquire) {
            return;
        }
        let cut = self.journal.cut.mark(&self.journal.ring);
        if self.turns_on {
            instance.store.set_journal(true);
        }
        self.send(Event::Cut(cut));
    }

    fn end(self: Box<Self>, _: &Instance, saved: Result<(), SaveError>) {
        self.send(Event::Saved(saved));
    }
}

impl BaseJob {
    fn send(&self, event: Event) {
        // Who has given the rotation up does not want to know.
        let _ = self.tell.send(event);
        self.journal.rest.end();
    }
}

impl Write for BaseSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Sink for BaseSink {
    fn sync(&mut self) -> io::Result<()> {
        self.0.sync()
    }

    /// The writer of the journal gives it its name.
    fn put_in_place(self: Box<Self>) -> io::Result<()> {
        Ok(())
    }
}
