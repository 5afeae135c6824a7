//! What stands against the end of the server: data that the files do not have.
//!
//! The server does not end while data is not in the files, unless it is forced.

use super::shared::Journal;
use session::Instance;
use settings::journal::APPENDONLY;
use std::sync::atomic::{Ordering::Acquire, Ordering::Relaxed, Ordering::Release};

/// What the end of the server has to do with the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// All data is safe that is to be safe.
    Safe,
    /// It is about to be.
    Soon,
    /// It is not, for this reason.
    Unsafe(String),
}

impl Journal {
    /// Has all that was changed up to now made safe without delay, until `end_hurry`. Returns the
    /// position behind it.
    pub fn hurry(&self) -> u64 {
        self.asked.hurry.store(true, Release);
        self.rest.end();
        self.ring.tail()
    }

    /// Has the writer follow the settings again.
    pub fn end_hurry(&self) {
        self.asked.hurry.store(false, Relaxed);
    }

    /// What would be lost of the stream up to a position if the server ended now.
    pub fn ending(&self, instance: &Instance, position: u64) -> Ending {
        let state = &instance.journal;
        if !state.is_on.load(Acquire) {
            return match APPENDONLY.get(&instance.settings) {
                true => Ending::Unsafe("Writing initial AOF".to_owned()),
                false => Ending::Safe,
            };
        }
        // The position is read before `is_apart`, which the writer stores first: so it is known
        // where the position is safe, in the set or in files apart from it.
        let is_safe = state.safe.load(Acquire) >= position && !self.is_apart.load(Acquire);
        if is_safe || self.is_waiting.load(Acquire) {
            return Ending::Safe;
        }
        if let Some(failure) = state.failure() {
            return Ending::Unsafe(format!("Errors writing to the AOF file: {failure}"));
        }
        if self.is_apart.load(Acquire) {
            return Ending::Unsafe("Writing a new AOF base after a failed sync".to_owned());
        }
        self.rest.end_if(true);
        Ending::Soon
    }
}
