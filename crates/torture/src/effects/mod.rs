//! Effects: what commands tell to journals and replicas makes the same data elsewhere.
//!
//! ```text
//! random rounds, transcripts ──▶ server ──units──▶ follower, without deadlines of its own
//!                                  │       └─────▶ live peers, over RESP
//!                                  └── the states, and the fingerprints of peers, are compared
//! ```
//! All servers but the peers run in this process, on clocks that are moved by hand, so keys and
//! fields expire when a round says so.

mod arguments;
mod follower;
mod near;
mod peer;
mod proof;
mod scripts;
mod server;
mod state;

pub use arguments::Arguments;
pub(crate) use near::near_deadline;

use crate::differential::generate::Generator;
use anyhow::Result;
use proof::Proof;

/// Plays rounds, and transcripts if they are given.
///
/// # Errors
/// When two servers differ, or a peer cannot be reached.
pub fn run(arguments: &Arguments) -> Result<()> {
    let mut proof = Proof::new(arguments.peers()?);
    if let Some(megabytes) = arguments.maxmemory {
        proof.limit_memory(megabytes << 20);
    }
    for file in &arguments.transcripts {
        let lines = scripts::play(&mut proof, file)?;
        println!("{}: {lines} requests", file.display());
    }
    let generator = Generator::new(arguments.seed, None, false);
    for number in 0..arguments.rounds {
        proof
            .round(&generator, arguments.seed, number)
            .map_err(|error| error.context(format!("seed {}, round {number}", arguments.seed)))?;
    }
    println!("{}", proof.figures());
    Ok(())
}

#[cfg(test)]
mod tests;
