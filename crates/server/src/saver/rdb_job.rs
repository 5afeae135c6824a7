//! Snapshots that become the RDB file of the settings.

use super::file::RdbFile;
use super::job::{Job, JobKind, Sink};
use crossbeam_channel::Sender;
use session::{Asker, Instance, Refusal};
use settings::general::DIR;
use settings::snapshots::{DBFILENAME, RDB_SAVE_INCREMENTAL_FSYNC};
use snapshot::{Fields, Save, SaveError};
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// Reply to BGSAVE.
const STARTED: &str = "Background saving started";

/// Receiver of the outcome of a snapshot.
#[derive(Debug)]
pub enum Notify {
    /// Nobody but the client that has asked for it, which is told at the cut: what it and others
    /// change once it has the answer is not in the snapshot.
    AtCut(Option<Asker>),
    /// A client that asked for the snapshot.
    Asker(Asker),
    /// A client that asked for something else, and is answered OK in any case.
    Bystander(Asker),
    /// A thread.
    Thread(Sender<Result<(), SaveError>>),
}

/// A snapshot that becomes the RDB file.
#[derive(Debug)]
pub struct RdbJob {
    /// Receiver of the outcome.
    pub notify: Notify,
    /// What the file tells of the stream of changes behind it.
    pub fields: Arc<OnceLock<Fields>>,
}

impl RdbJob {
    /// A snapshot for somebody.
    pub fn new(notify: Notify) -> Box<RdbJob> {
        Box::new(RdbJob { notify, fields: Arc::default() })
    }
}

impl Job for RdbJob {
    fn kind(&self) -> JobKind {
        if matches!(self.notify, Notify::AtCut(_)) {
            JobKind::Background
        } else {
            JobKind::Foreground
        }
    }

    fn open(&mut self, instance: &Instance) -> io::Result<Box<dyn Sink>> {
        let settings = &instance.settings;
        let (directory, name) = (DIR.get(settings), DBFILENAME.get(settings));
        let writes_early = RDB_SAVE_INCREMENTAL_FSYNC.get(settings);
        Ok(Box::new(RdbFile::create(Path::new(&*directory), &name, writes_early)?))
    }

    fn shape(&self, save: &mut Save<'_>) {
        save.fields = Arc::clone(&self.fields);
    }

    fn at_cut(&mut self, instance: &Instance) {
        // It is empty before the cut, and there is one.
        let _ = self.fields.set(instance.replicas.fields());
        if let Notify::AtCut(asker) = &mut self.notify
            && let Some(asker) = asker.take()
        {
            asker.answer(|reply| reply.simple(STARTED));
        }
    }

    fn end(self: Box<Self>, instance: &Instance, saved: Result<(), SaveError>) {
        match (&saved, self.kind()) {
            (Ok(()), JobKind::Background) => {
                tracing::info!("Background saving terminated with success");
            }
            (Ok(()), _) => tracing::info!("DB saved on disk"),
            (Err(SaveError::Cancelled), _) => tracing::info!("Saving was cancelled"),
            (Err(error @ SaveError::TooSlow), JobKind::Background) => tracing::warn!(
                "Background saving error: {error}. The RDB file is as it was before; it is tried \
                 again by itself"
            ),
            (Err(error), _) => tracing::warn!(
                "Background saving error: {error}. The RDB file is as it was before; see to the \
                 disk, or change `dir` or `dbfilename`, then send BGSAVE"
            ),
        }
        match self.notify {
            // It did not come to its cut: that is told as any failure of a snapshot is.
            Notify::AtCut(asker) => {
                asker.into_iter().for_each(|it| it.answer(|reply| reply.simple(STARTED)));
            }
            Notify::Asker(asker) if saved.is_err() => {
                asker.refuse(&instance.statistics, &Refusal::SAVE_FAILED);
            }
            Notify::Asker(asker) | Notify::Bystander(asker) => asker.answer(|reply| reply.ok()),
            // An error is ignored: the thread has ended, and nothing receives the outcome.
            Notify::Thread(sender) => drop(sender.send(saved)),
        }
    }
}
