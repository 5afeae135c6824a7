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
mod interpreters;
mod script;

use std::sync::atomic::AtomicBool;

pub use cache::ScriptCache;
pub use interpreters::{Interpreters, OwnInterpreter, Parts};
pub use script::{Digest, Script, ShebangError, declared};

/// Scripts of the server.
#[derive(Debug, Default)]
pub struct Scripts {
    /// Sources by their digests.
    pub cache: ScriptCache,
    /// Interpreters by thread.
    pub interpreters: Interpreters,
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
