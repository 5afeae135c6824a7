//! The claim on the append-only files.

use super::shared::Journal;
use crate::claim::{Taken, Wanted};
use journal::set::SetError;
use settings::Settings;
use settings::general::DIR;
use settings::journal::{APPENDDIRNAME, APPENDFILENAME};
use settings::network::PORT;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// The directory of the append-only files, by its whole path: the working directory may be one that
/// was removed, though there is another in its place.
pub fn append_folder(settings: &Settings) -> PathBuf {
    Path::new(&*DIR.get(settings)).join(&*APPENDDIRNAME.get(settings))
}

impl Journal {
    /// Claims the append-only files of the settings, whose directory is made if there is none.
    /// Those that were claimed before stay so: they may be written until the next rotation.
    ///
    /// # Errors
    /// Names the other server that writes them.
    pub fn claim(&self, settings: &Settings) -> Result<(), Taken> {
        let folder = append_folder(settings);
        // An error is not lost: the next attempt to open the folder reports it.
        let _ = fs::create_dir(&folder);
        let remedy = "a `dir`, `appenddirname` or `appendfilename` of its own, or `appendonly no`";
        let wanted = Wanted { folder: &folder, name: &APPENDFILENAME.get(settings), remedy };
        self.claims.add(wanted, PORT.get(settings))
    }

    /// Does the same for the writer, which is about to open a directory.
    ///
    /// # Errors
    /// Those of `claim`, as errors of a set.
    pub(super) fn claim_to_write(&self, settings: &Settings) -> Result<(), SetError> {
        let name = APPENDFILENAME.get(settings).to_string();
        let failed =
            |taken| SetError::Disk { doing: "claim", name, error: io::Error::other(taken) };
        self.claim(settings).map_err(failed)
    }

    /// Gives the claims up: nothing is written any more.
    pub fn give_up_claims(&self) {
        self.claims.clear();
    }
}
