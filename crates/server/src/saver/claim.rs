//! The claim on the RDB file.

use super::file::remove_leftovers;
use super::queue::Saver;
use crate::claim::{Taken, Wanted};
use settings::Settings;
use settings::general::DIR;
use settings::network::PORT;
use settings::snapshots::{DBFILENAME, SAVE};
use std::path::Path;

impl Saver {
    /// Claims the RDB file of the settings, and no other any more.
    ///
    /// # Errors
    /// Who else writes it.
    pub fn claim(&self, settings: &Settings) -> Result<(), Taken> {
        let (folder, name) = (DIR.get(settings), DBFILENAME.get(settings));
        let remedy = "a `dir` or `dbfilename` of its own, or `save \"\"`";
        let wanted = Wanted { folder: Path::new(&*folder), name: &name, remedy };
        self.claims.set(wanted, PORT.get(settings))
    }

    /// Does so if the settings ask for snapshots, or one was made.
    ///
    /// # Errors
    /// Those of `claim`.
    pub fn follow_claim(&self, settings: &Settings) -> Result<(), Taken> {
        let saves_by_itself = !SAVE.get(settings).points.is_empty();
        if saves_by_itself || self.claims.is_any() { self.claim(settings) } else { Ok(()) }
    }

    /// Removes snapshots that were never ended from the directory of the settings, if its RDB file
    /// is claimed. If it is not, they may be those of another server: in another container, its
    /// process may have any number.
    pub fn remove_leftovers(&self, settings: &Settings) {
        if self.claims.is_any() {
            remove_leftovers(Path::new(&*DIR.get(settings)));
        }
    }

    /// Gives the claim up: nothing is saved any more.
    pub fn give_up_claim(&self) {
        self.claims.clear();
    }
}
