//! Scripts: the sources that clients have sent, and the interpreters that run them.
//!
//! ```text
//! EVAL, SCRIPT LOAD ──▶ cache: digest ──▶ Script, shared by all
//!                                           │ compiled at its first run
//!                                           ▼
//!                       interpreters: one for each thread that runs scripts
//! ```
//! An interpreter is taken by the thread that runs a script and put back at its end. What it has
//! compiled of a script that is forgotten goes when it comes upon that.

mod cache;
mod options;
mod own;
mod running;
mod script;
mod slots;

use ::script::LogLevel;
use std::sync::atomic::AtomicBool;

pub use cache::ScriptCache;
pub use options::{library_options, script_options};
pub use own::{OwnInterpreter, Parts, Room};
pub use running::{LongRun, LongRuns, Stage};
pub use script::{Digest, Reach, Script, ShebangError, declared};
pub use slots::{Resting, Slots};

/// Scripts of the server.
#[derive(Debug, Default)]
pub struct Scripts {
    /// Sources by their digests.
    pub cache: ScriptCache,
    /// Interpreters by thread.
    pub interpreters: Slots<OwnInterpreter>,
    /// Scripts that run for long.
    pub long_runs: LongRuns,
    /// True while scripts may call DEBUG, for tests (DEBUG SET-DISABLE-DENY-SCRIPTS).
    pub may_debug: AtomicBool,
}

impl Scripts {
    /// Bytes of memory that sources and interpreters take.
    pub fn bytes(&self) -> u64 {
        let sources = if self.cache.is_empty() { 0 } else { self.cache.bytes() };
        (sources + self.interpreters.bytes()) as u64
    }
}

/// Writes what a script says to the log.
pub fn log(level: LogLevel, text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    match level {
        LogLevel::Debug => tracing::trace!("{text}"),
        LogLevel::Verbose => tracing::debug!("{text}"),
        LogLevel::Notice => tracing::info!("{text}"),
        LogLevel::Warning => tracing::warn!("{text}"),
    }
}
