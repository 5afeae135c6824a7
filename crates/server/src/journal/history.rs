//! Removal of the files that the set does not need any more.

use super::writer::JournalThread;
use journal::set::Deletion;
use settings::journal::AOF_DISABLE_AUTO_GC;
use std::error::Error;

/// Bytes of a file that is not needed any more that are removed at once.
const DELETED_BYTES: u64 = 16 << 20;

impl JournalThread {
    /// Removes the files that are not needed, piece by piece on another thread; after a failure,
    /// not before the next second.
    pub(super) fn delete_history(&mut self) {
        let shortened = self.remover.ended();
        if let Some((_, Err(error))) = &shortened {
            self.note_failed_deletion(error);
        }
        // What changes need comes before what replicas may need.
        let may_keep = self.log.is_some() && !self.is_failing() && self.waits_for_space.is_none();
        let set = match &mut self.log {
            Some(log) => Some(log.set()),
            None => self.rotations.replaced.as_mut(),
        };
        let may_go_on = !self.remover.is_at_work()
            && !self.second.has_failed_to_delete
            && !AOF_DISABLE_AUTO_GC.get(&self.instance.settings);
        let Some(set) = set.filter(|_| may_go_on) else { return };
        let is_kept = |name: &str| may_keep && self.journal.kept_files.contains(name);
        // What is there no more, or has no bytes, costs next to nothing.
        let step = loop {
            match set.delete_step(DELETED_BYTES, is_kept) {
                Ok(Deletion::Removed) => {}
                step => break step,
            }
        };
        match step {
            Ok(Deletion::Shorten(shortening)) => self.remover.begin(shortening),
            Ok(_) => self.rotations.replaced = None,
            Err(error) => self.note_failed_deletion(&error),
        }
    }

    fn note_failed_deletion(&mut self, error: &dyn Error) {
        self.second.has_failed_to_delete = true;
        tracing::warn!("Error removing old append-only files: {error}");
    }
}
