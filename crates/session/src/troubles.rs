//! Reasons why writes are refused.

use crate::journal_state::JournalState;
use crate::needs::{Grants, Needs, Troubles};
use crate::refusal::Refusal;
use base::mutex::Mutex;

/// Reasons why writes are refused: while there is one, `DISK` is not granted.
#[derive(Debug, Default)]
pub struct WriteTroubles(Mutex<Troubles>);

impl WriteTroubles {
    /// Notes a reason why writes are refused, or that it is gone.
    pub fn note(&self, grants: &Grants, trouble: Troubles, is_there: bool) {
        let mut troubles = self.0.lock();
        troubles.set(trouble, is_there);
        if troubles.is_empty() {
            grants.restore(Needs::DISK);
        } else {
            grants.withdraw(Needs::DISK);
        }
    }

    /// The refusal of writes, if they are refused.
    pub fn refusal(&self, journal: &JournalState) -> Option<Refusal> {
        let troubles = *self.0.lock();
        if troubles.contains(Troubles::SNAPSHOT) {
            return Some(Refusal::SNAPSHOT_FAILED);
        }
        let failure = journal.failure()?;
        Some(Refusal::new(format!("MISCONF Errors writing to the AOF file: {failure}")))
    }

    /// Notes what is wrong with the files of the journal, or that nothing is: changes are refused
    /// meanwhile.
    pub fn note_journal(&self, grants: &Grants, journal: &JournalState, failure: Option<String>) {
        let is_failing = failure.is_some();
        if journal.set_failure(failure) {
            self.note(grants, Troubles::JOURNAL, is_failing);
        }
    }
}
