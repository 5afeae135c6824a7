//! What `varve-torture differential` is told.

use std::path::PathBuf;

/// What `varve-torture differential` is told.
#[derive(Clone, Debug, clap::Args)]
pub struct Arguments {
    /// Ends after so many minutes
    #[arg(long, default_value_t = 0)]
    pub(super) minutes: u64,
    /// Ends after so many seconds; a minute, if nothing else ends it
    #[arg(long, default_value_t = 0)]
    pub(super) seconds: u64,
    /// Ends after so many commands
    #[arg(long)]
    pub(super) commands: Option<u64>,
    /// Draws the same commands as a run that printed this number
    #[arg(long)]
    pub(super) seed: Option<u64>,
    /// Begins with this round
    #[arg(long, default_value_t = 0)]
    pub(super) round: u64,
    /// Protocol of all connections; otherwise some of each
    #[arg(long, value_parser = clap::value_parser!(u8).range(2..=3))]
    pub(super) resp: Option<u8>,
    /// Varve
    #[arg(long, default_value = "target/checked/varve-server")]
    pub(super) server: String,
    /// Worker threads of Varve
    #[arg(long, default_value_t = 2)]
    pub(super) threads: usize,
    /// Goes on after a difference, and prints each kind of them once
    #[arg(long)]
    pub(super) keep_going: bool,
    /// Writes requests and the reference's replies into a file
    #[arg(long)]
    pub(super) record: Option<PathBuf>,
    /// Plays a recording to Varve alone
    #[arg(long)]
    pub(super) play: Option<PathBuf>,
    /// Plays no random commands: each command meets both sides of each border between the forms in
    /// which values are kept
    #[arg(long)]
    pub(super) borders: bool,
    /// Borders with this in their names only
    #[arg(long)]
    pub(super) only: Option<String>,
    /// Of the commands at each border one in so many, others at the next border
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) one_in: u64,
    /// Varve alone meets the borders, and has to survive
    #[arg(long)]
    pub(super) alone: bool,
    /// The same with little memory
    #[arg(long)]
    pub(super) tight: bool,
}
