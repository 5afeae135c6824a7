//! What is known of the changes that are made under one hold of locks, before those go.

use super::change::{Heard, OwnedArgs, Unit};
use base::KeyspaceId;

/// The changes of one hold of locks: who hears of them, and what is to be told.
#[derive(Debug)]
pub(super) struct Changes {
    /// Who listens, as it was when the locks were taken.
    pub heard: Heard,
    pub said: Said,
}

/// In a build with assertions: whether somebody said what every change was.
#[derive(Debug, Default)]
pub(super) struct Said {
    /// Something was changed of which nobody has said yet what it was.
    #[cfg(debug_assertions)]
    is_unsaid: bool,
    /// Nobody has to: nobody hears it, or a change was refused, so that what was made of a command
    /// may be a part of it.
    #[cfg(debug_assertions)]
    is_excused: bool,
}

/// What will be told to those who listen. A thread has one, and fills it while it holds locks.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    pub unit: Unit,
    /// The arguments of the request, which are taken unless others are given, and its keyspace.
    pub request: Option<(OwnedArgs, KeyspaceId)>,
    /// Whether a command has said that it changed something.
    pub is_said: bool,
    /// Whether it gave arguments for it, so that those of the request are not taken.
    pub has_own_effects: bool,
}

impl Changes {
    #[inline(always)]
    pub fn new(heard: Heard) -> Changes {
        Changes { heard, said: Said::default() }
    }
}

impl Said {
    #[inline(always)]
    pub fn changed(&mut self) {
        #[cfg(debug_assertions)]
        {
            self.is_unsaid = true;
        }
    }

    #[inline(always)]
    pub fn said(&mut self) {
        #[cfg(debug_assertions)]
        {
            self.is_unsaid = false;
        }
    }

    #[cold]
    pub fn excuse(&mut self) {
        #[cfg(debug_assertions)]
        {
            self.is_excused = true;
        }
    }

    /// # Panics
    /// In a build with assertions, if something was changed and nobody said what.
    #[inline(always)]
    pub fn check(&self) {
        #[cfg(debug_assertions)]
        {
            let is_fine = !self.is_unsaid || self.is_excused || std::thread::panicking();
            assert!(is_fine, "who changes a value says what has happened to its key");
        }
    }
}
