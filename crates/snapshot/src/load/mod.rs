//! Files, read into a store.
//!
//! ```text
//! file ─▶ Reader: where keys end ─▶ blocks of whole keys ────▶ Loader of a thread ─▶ store
//!                                   pieces of a large value ─▶ one Loader, in order
//! ```
//! The reader only passes over values. A thread that is free takes the next block, and decodes and
//! stores its keys; the reader does so itself when all others have enough to do, so that it is
//! never far ahead, and needs nobody else.
//!
//! A large value never stands in memory twice: rows of lists and streams are appended piece by
//! piece, those of other kinds are gathered in pages that are given back while the value grows.
//!
//! Nobody else uses the keyspaces meanwhile that the keys go to. Keys stay past their deadline, but
//! for those that a file without a journal behind it holds: they are left out.

pub(crate) mod error;
mod file_input;
mod large;
mod loader;
mod progress;
mod reader;
mod rules;
mod team;

pub use error::LoadError;
pub use progress::{Progress, StreamMark};
pub use reader::Loaded;

use crate::limits::Limits;
use base::Millis;
use loader::Loader;
use rdb::Checks;
use reader::Reader;
pub use rules::Expired;
use rules::Rules;
use std::io::Read;
use store::{Beside, Store, ThreadContext};
use team::Team;

/// Loading of one file.
#[derive(Debug)]
pub struct Load<'a> {
    /// The store.
    pub store: &'a Store,
    /// Thread that loads, inside the gate.
    pub thread: &'a mut ThreadContext,
    /// Bytes that there are to be read, as far as known: announced counts are believed up to what
    /// these can hold.
    pub bytes: u64,
    /// Threads that load, this one included.
    pub threads: usize,
    /// Limits up to which collections stay small.
    pub limits: Limits,
    /// Present time.
    pub now: Millis,
    /// What becomes of keys past their deadline.
    pub expired: Expired,
    /// True if a key that is there already is replaced.
    pub replaces: bool,
    /// Where keys go instead of into the databases, if that is elsewhere.
    pub beside: Option<&'a Beside>,
    /// What is compared before and after.
    pub checks: Checks,
    /// Where to report how far it has come.
    pub progress: &'a Progress,
}

impl Load<'_> {
    /// Reads an RDB file. Bytes of it are waited for outside the gate.
    ///
    /// # Errors
    /// See [`LoadError`]; the store holds a part of the keys then.
    pub fn read(&mut self, file: impl Read) -> Result<Loaded, LoadError> {
        self.store.leave(self.thread);
        let opened = Reader::open(file, self.checks);
        self.store.enter(self.thread);
        let mut reader = opened?;
        let rules = Rules {
            store: self.store,
            limits: self.limits,
            now: self.now,
            expired: self.expired,
            replaces: self.replaces,
            beside: self.beside,
            dialect: reader.dialect(),
            progress: self.progress,
        };
        reader.expect_bytes(self.bytes);
        // Of a key that is there twice the last one stays: so they are loaded in order.
        let others = if self.replaces { 0 } else { self.threads.saturating_sub(1) };
        let mut own = Loader::new(rules, self.thread);
        let (read, failed) = std::thread::scope(|scope| {
            let mut team = Team::gather(scope, rules, others);
            let read = reader.run(&mut own, &mut team);
            (read, team.disband())
        });
        // The error that comes first in the file is reported, whichever thread found it.
        let errors = read.err().into_iter().chain(failed);
        match errors.min_by_key(LoadError::at) {
            Some(error) => Err(error),
            None => Ok(reader.into_loaded()),
        }
    }
}
