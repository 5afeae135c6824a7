//! Threads beside the workers that others ask for work.

use crate::claim::Taken;
use crate::journal::Journal;
use crate::oom_score::OomScoreFile;
use crate::saver::Saver;
use command::Table;
use settings::journal::APPENDONLY;
use settings::{Settings, general, snapshots};
use std::sync::Arc;

/// What threads beside the workers do for others.
#[derive(Clone)]
pub struct Services {
    /// Writes the journal.
    pub journal: Arc<Journal>,
    /// Score of the process at the out-of-memory killer.
    pub oom_score: Arc<OomScoreFile>,
    /// Makes snapshots.
    pub saver: Arc<Saver>,
    /// The commands that the server knows.
    pub table: &'static Table,
}

impl Services {
    /// Claims the files that the settings have these services write by themselves.
    ///
    /// # Errors
    /// Names the other server that writes them.
    pub fn claim_files(&self, settings: &Settings) -> Result<(), Taken> {
        self.saver.follow_claim(settings)?;
        if APPENDONLY.get(settings) { self.journal.claim(settings) } else { Ok(()) }
    }

    /// Has changes of settings that name another server's files refused.
    pub fn follow_claims(&self, settings: &Settings) {
        let services = self.clone();
        let named = [general::DIR.name(), snapshots::DBFILENAME.name(), snapshots::SAVE.name()];
        settings.on_change(&named, move |settings| {
            services.claim_files(settings).map_err(|taken| taken.to_string())
        });
    }

    /// Gives the claims up, once nothing is written any more.
    pub fn give_up_claims(&self) {
        self.saver.give_up_claim();
        self.journal.give_up_claims();
    }
}
