//! What is known of the changes that are made under one hold of locks, before those go.

use super::change::{Heard, Unit, Words};
use base::KeyspaceId;
use std::fmt;

/// A request, in whose words a unit is told unless others are given.
pub trait Request {
    /// Its words, the command's name first.
    fn words(&self) -> Words;
}

/// The changes of one hold of locks: who hears of them, and what is to be told.
#[derive(Debug)]
pub(super) struct Changes<'a> {
    /// Who listens, as it was when the locks were taken.
    pub heard: Heard,
    pub said: Said,
    pub pending: Option<Box<Pending<'a>>>,
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

/// What will be told to those who listen.
#[derive(Default)]
pub(super) struct Pending<'a> {
    pub unit: Unit,
    pub request: Option<(&'a dyn Request, KeyspaceId)>,
    /// Whether a command has said that it changed something.
    pub is_said: bool,
    /// Whether it gave words for it, so that those of the request are not taken.
    pub is_worded: bool,
}

impl fmt::Debug for Pending<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").field("unit", &self.unit).finish_non_exhaustive()
    }
}

impl Changes<'_> {
    #[inline(always)]
    pub fn new(heard: Heard) -> Self {
        Changes { heard, said: Said::default(), pending: None }
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
