//! Command line of `varve-torture differential`.

use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Arguments of `varve-torture differential`.
#[derive(Clone, Debug, clap::Args)]
pub struct Arguments {
    /// Ends after this many minutes
    #[arg(long, default_value_t = 0)]
    pub(super) minutes: u64,
    /// Ends after this many seconds; a minute, if no other end is given
    #[arg(long, default_value_t = 0)]
    pub(super) seconds: u64,
    /// Ends after this many commands
    #[arg(long)]
    pub(super) commands: Option<u64>,
    /// Draws the same commands as a run that printed this number
    #[arg(long)]
    pub(super) seed: Option<u64>,
    /// Number of the first round
    #[arg(long, default_value_t = 0)]
    pub(super) round: u64,
    /// Protocol of all connections; otherwise some of each
    #[arg(long, value_parser = clap::value_parser!(u8).range(2..=3))]
    pub(super) resp: Option<u8>,
    /// Program of Varve
    #[arg(long, default_value = "target/debug/varve-server")]
    pub(super) server: String,
    /// Worker threads of Varve
    #[arg(long, default_value_t = 2)]
    pub(super) threads: usize,
    /// Continues after a difference, and prints each kind of difference once
    #[arg(long)]
    pub(super) keep_going: bool,
    /// Records requests and the reference's replies in a file
    #[arg(long)]
    pub(super) record: Option<PathBuf>,
    /// Plays a recording to Varve alone
    #[arg(long)]
    pub(super) play: Option<PathBuf>,
    /// Compares Memcached's protocol with Memcached instead
    #[arg(long)]
    pub(super) memcached: bool,
    /// Plays no random commands, but each command on both sides of each border between the forms in
    /// which values are kept
    #[arg(long)]
    pub(super) borders: bool,
    /// Plays only borders with this text in their names
    #[arg(long)]
    pub(super) only: Option<String>,
    /// Plays one of this many commands at each border, and others at the next border
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) one_in: u64,
    /// Plays the borders on Varve alone, which has to survive
    #[arg(long)]
    pub(super) alone: bool,
    /// Plays the borders on Varve alone, with little memory
    #[arg(long)]
    pub(super) tight: bool,
}

impl Arguments {
    /// Returns true if a run that began at a time has to end behind so many commands.
    pub(super) fn are_over(&self, began: Instant, commands: u64) -> bool {
        if self.commands.is_some_and(|most| commands >= most) {
            return true;
        }
        let time = match (self.minutes * 60 + self.seconds, self.commands) {
            (0, Some(_)) => return false,
            (0, None) => 60,
            (time, _) => time,
        };
        began.elapsed() >= Duration::from_secs(time)
    }
}
