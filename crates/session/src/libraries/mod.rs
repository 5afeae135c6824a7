//! Libraries of functions: one table of all, which changes as a whole, and the interpreters that
//! run them.
//!
//! ```text
//! FUNCTION LOAD ──▶ Library::load, in an interpreter of its own ──▶ another LibraryTable
//!                                                                     │ seen at the next call
//!                                                                     ▼
//!                       interpreters: each makes a library anew at its first call of it
//! ```

mod library;
mod metadata;
mod own;
mod table;

pub use library::Library;
pub use own::{Callee, OwnLibraries};
pub use table::{Conflict, LibraryTable};

use crate::refusal::Refusal;
use crate::scripts::{Slots, library_options};
use base::Stopwatch;
use base::mutex::Mutex;
use settings::Settings;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Libraries of the server.
#[derive(Debug, Default)]
pub struct Libraries {
    table: Mutex<Arc<LibraryTable>>,
    /// Number of tables so far.
    version: AtomicU64,
    /// Interpreters by thread.
    pub interpreters: Slots<OwnLibraries>,
}

impl Libraries {
    /// Loads a library, to be put into the table.
    ///
    /// # Errors
    /// When it is none, ends with an error, takes long, or registers nothing that can be called.
    pub fn load(
        settings: &Settings,
        stopwatch: &Stopwatch,
        code: &[u8],
    ) -> Result<Arc<Library>, Refusal> {
        let began = stopwatch.read();
        let nanos = || stopwatch.nanos_between(began, stopwatch.read());
        Library::load(code, &library_options(settings), &nanos).map(Arc::new)
    }

    /// The libraries that there are.
    pub fn table(&self) -> Arc<LibraryTable> {
        Arc::clone(&self.table.lock())
    }

    /// Puts another table in the place of all libraries; returns the one of before.
    pub fn replace(&self, table: LibraryTable) -> Arc<LibraryTable> {
        let before = std::mem::replace(&mut *self.table.lock(), Arc::new(table));
        self.version.fetch_add(1, Relaxed);
        before
    }

    /// Puts a table back that was taken out.
    pub fn restore(&self, table: Arc<LibraryTable>) {
        *self.table.lock() = table;
        self.version.fetch_add(1, Relaxed);
    }

    /// Bytes of memory that sources and interpreters take.
    pub fn bytes(&self) -> u64 {
        (self.table().bytes() + self.interpreters.bytes()) as u64
    }

    /// Number of tables so far: another one means that functions may be others.
    #[inline]
    pub fn version(&self) -> u64 {
        self.version.load(Relaxed)
    }
}
