//! A target that follows a source of which neither can be told REPLICAOF: this program is a replica
//! on one side and a client on the other.
//!
//! ```text
//! source ─▶ receiver ─▶ backlog, in files ─▶ follower ─▶ translate ─▶ batch ─▶ target
//!           PSYNC        │                     │           MULTI ... SET position EXEC
//!                        └─ a snapshot ────────┴─▶ RESTORE over several connections
//! console: cut-over ─▶ pause at the source ─▶ drained ─▶ counts ─▶ switch ─▶ both are let go
//! ```
//! 1. The target itself says how far it is, in a key that is written in the transaction of the
//!    commands before it: whichever process dies, nothing is executed twice or left out.
//! 2. What is received waits in files, so a slow target costs the source no memory, and memory here
//!    is some times that of the largest unit.
//! 3. What a target has that follows is this program's: it may be emptied to be filled again. At
//!    first it must be empty, unless it was said that it may be emptied.
//! 4. What is not sent is counted and named.
//!
//! Owner: the command line.
//! Not here: what is said to a source (`replication`), how an RDB file is read (`from_rdb.rs`).
//! Start at: `follower.rs`, then `batch.rs`.

mod backlog;
mod batch;
mod console;
mod control;
mod cut_over;
mod follower;
mod following;
mod gather;
mod load;
mod phase;
mod position;
mod receiver;
mod report;
mod start;
mod state;
mod target;
mod transact;
mod translate;

use crate::error::Error;
use crate::server::Server;
use crate::tally::Tally;
use console::Console;
use follower::{Ended, Follower};
pub use following::Following;
use report::Report;
use state::State;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

/// Wait before the target is asked again what it has.
const BEFORE_ANOTHER: Duration = Duration::from_millis(200);

/// How it has ended.
#[derive(Clone, Debug, Default)]
pub struct Followed {
    /// Keys of snapshots that have arrived.
    pub keys: u64,
    /// Commands that were executed.
    pub commands: u64,
    /// Keys, commands and libraries that failed, and commands that were left out.
    pub failures: u64,
    /// Strings that came without what was noted of them.
    pub without_attributes: u64,
}

/// Follows until clients are switched or a signal comes.
///
/// # Errors
/// When it cannot go on.
pub fn follow(following: &Following) -> Result<Followed, Error> {
    let options = &following.options;
    let tally = Tally::default();
    // Both must be there at the begin; later they are waited for.
    start::check(following)?;
    let (target, _) = Server::meet(&options.target)?;
    let mut state = State::open(
        options.resume.as_deref(),
        &following.source.place,
        &target.address.place,
        &options.scope.shown(),
    )?;
    let mut report = Report::new(options.shows_progress);
    let console = Console::listen();
    options.stop.wait_for(|| -> Result<(), Error> {
        loop {
            let ended =
                Follower::run(following, &target, &tally, &mut state, &mut report, &console)?;
            match ended {
                Ended::Again => thread::sleep(BEFORE_ANOTHER),
                Ended::Stopped | Ended::Switched => return Ok(()),
            }
        }
    })?;
    report.end();
    Ok(Followed {
        keys: tally.keys.load(Relaxed),
        commands: tally.commands.load(Relaxed),
        failures: state.failures_before + tally.failures(),
        without_attributes: tally.without_attributes.load(Relaxed),
    })
}
