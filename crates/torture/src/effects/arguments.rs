//! Arguments of a run.

use super::peer::Peer;
use anyhow::Result;
use std::path::PathBuf;

/// Arguments of a run.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Seed of the rounds
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Number of rounds, of some 500 requests each
    #[arg(long, default_value_t = 100)]
    pub rounds: u64,
    /// Transcripts and files of events that are played first
    pub transcripts: Vec<PathBuf>,
    /// Megabytes of memory, for which keys are evicted
    #[arg(long)]
    pub maxmemory: Option<u64>,
    /// Port of a server on this machine that executes the effects too, and is flushed before
    #[arg(long)]
    peer: Vec<u16>,
    /// Port of one that knows no deadlines of fields
    #[arg(long)]
    old_peer: Vec<u16>,
}

impl Arguments {
    /// Connects to the peers.
    ///
    /// # Errors
    /// When one cannot be reached.
    pub fn peers(&self) -> Result<Vec<Peer>> {
        let new = self.peer.iter().map(|port| Peer::open(*port, true));
        new.chain(self.old_peer.iter().map(|port| Peer::open(*port, false))).collect()
    }
}
