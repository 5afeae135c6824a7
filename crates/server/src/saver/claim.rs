//! The claim on the RDB file.

use super::file::remove_leftovers;
use super::queue::Saver;
use crate::claim::{Claims, Taken, Wanted};
use settings::Settings;
use settings::general::DIR;
use settings::network::PORT;
use settings::snapshots::{DBFILENAME, SAVE};
use std::path::Path;

impl Saver {
    /// Claims the RDB file of the settings, and no other any more: nothing is at work.
    ///
    /// # Errors
    /// Names the other server that writes it.
    pub fn claim(&self, settings: &Settings) -> Result<(), Taken> {
        self.claim_by(Claims::set, settings)
    }

    fn claim_by(
        &self,
        claim: impl Fn(&Claims, Wanted<'_>, u16) -> Result<(), Taken>,
        settings: &Settings,
    ) -> Result<(), Taken> {
        let (folder, name) = (DIR.get(settings), DBFILENAME.get(settings));
        let remedy = "a `dir` or `dbfilename` of its own, or `save \"\"`";
        let wanted = Wanted { folder: Path::new(&*folder), name: &name, remedy };
        claim(&self.claims, wanted, PORT.get(settings))
    }

    /// Claims it if the settings ask for snapshots, or one was made. One at work may still replace
    /// the file that was claimed before, whose claim is given up when that has ended.
    ///
    /// # Errors
    /// Those of `claim`.
    pub fn follow_claim(&self, settings: &Settings) -> Result<(), Taken> {
        let saves_by_itself = !SAVE.get(settings).points.is_empty();
        if !saves_by_itself && !self.claims.is_any() {
            return Ok(());
        }
        self.claim_beside(settings)
    }

    /// Claims it for a file that was not made here. One at work may still replace the file that was
    /// claimed before.
    ///
    /// # Errors
    /// Those of `claim`.
    pub fn claim_beside(&self, settings: &Settings) -> Result<(), Taken> {
        self.claim_by(if self.is_busy() { Claims::add } else { Claims::set }, settings)
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
