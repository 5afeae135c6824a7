//! Keys for which something is wrong, of which only some are told one by one.

use std::fmt::{self, Display};
use text::quote;

/// Keys that are told one by one; further ones are only counted.
const TOLD_MAX: usize = 20;
/// Longest part of a name that is shown.
const NAME_BYTES_MAX: usize = 200;

/// Keys with flaws.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flaws {
    /// Number of them.
    pub count: u64,
    /// The first ones.
    pub told: Vec<KeyFlaw>,
}

/// A key, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyFlaw {
    /// Where the key begins.
    pub at: u64,
    /// Number of its database.
    pub database: u64,
    /// Its name.
    pub name: Vec<u8>,
    /// What is wrong.
    pub what: String,
}

impl Flaws {
    /// Adds one.
    pub fn note(&mut self, flaw: KeyFlaw) {
        self.count += 1;
        if self.told.len() < TOLD_MAX {
            self.told.push(flaw);
        }
    }
}

impl Display for KeyFlaw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = quote(&self.name[..self.name.len().min(NAME_BYTES_MAX)]);
        let KeyFlaw { at, database, what, .. } = self;
        write!(f, "{name} of database {database} at byte {at}: {what}")
    }
}
