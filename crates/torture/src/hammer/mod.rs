//! Connections that change the same keys at the same time, and what must hold at the end.
//!
//! | file | what |
//! |---|---|
//! | `run` | phases one after the other, and what is told of them |
//! | `phase` | the shape of one, and what its connections share |
//! | `cast` | who takes part in a phase, and what is verified behind it |
//! | `line` | a connection: bursts of requests, and a check of each reply |
//! | `tokens`, `carriers` | elements that travel, each of them once |
//! | `sums` | counters of which the total is known |
//! | `content`, `strings`, `collections` | values that say to which keys they belong |
//! | `mine` | keys that one connection alone writes, so that it knows what they hold |
//! | `streams` | entries that are delivered once |
//! | `swapped` | two databases that trade places |
//! | `disturb`, `rough` | what goes on beside them, and must break nothing |
//! | `process`, `memory` | the server: its start, its life, its memory, its end |
//! | `avoid` | known faults of the server that are kept away from |

mod avoid;
mod carriers;
mod cast;
mod chance;
mod collections;
mod content;
mod disturb;
mod line;
mod memory;
mod mine;
mod phase;
mod process;
mod rough;
mod run;
mod streams;
mod strings;
mod sums;
mod swapped;
mod tokens;
mod words;

pub use avoid::Known;
pub use run::run;

use std::path::PathBuf;

/// What `varve-torture hammer` is told.
#[derive(Clone, Debug, clap::Args)]
pub struct Arguments {
    /// The server's program
    #[arg(long, default_value = "target/checked/varve-server")]
    server: PathBuf,
    /// Threads of the server
    #[arg(long, default_value_t = 4)]
    threads: usize,
    /// How long to go on
    #[arg(long, default_value_t = 60, conflicts_with = "minutes")]
    seconds: u64,
    /// The same in minutes
    #[arg(long)]
    minutes: Option<u64>,
    /// Seconds of one phase
    #[arg(long, default_value_t = 10)]
    phase: u64,
    /// Where all choices come from; what happens between threads does not repeat
    #[arg(long)]
    seed: Option<u64>,
    /// Connections with invariants
    #[arg(long, default_value_t = 16)]
    connections: usize,
    /// Phases in which a process spins on the one core that the server may use
    #[arg(long, value_enum, default_value_t = Busy::Sometimes)]
    busy: Busy,
    /// Phases with a limit of memory
    #[arg(long, value_enum, default_value_t = Busy::Sometimes)]
    eviction: Busy,
    /// Most megabytes that are resident at the end, with all keys gone
    #[arg(long, default_value_t = 40)]
    rest_mb: u64,
    /// Megabytes above `maxmemory` that may be resident
    #[arg(long, default_value_t = 32)]
    slack_mb: u64,
    /// Most megabytes that are ever resident
    #[arg(long, default_value_t = 4000)]
    peak_mb: u64,
    /// Seconds that a reply may take
    #[arg(long, default_value_t = 30)]
    patience: u64,
    /// Ends the server by SHUTDOWN and not by a signal, which ThreadSanitizer holds back
    #[arg(long)]
    shutdown: bool,
    /// Runs into a known fault of the server
    #[arg(long = "try", value_enum)]
    tried: Vec<Known>,
    /// Breaks a rule on purpose, so that the run must fail
    #[arg(long, value_enum)]
    fault: Option<Fault>,
    /// Further options of the server, as `--name value`
    #[arg(last = true)]
    options: Vec<String>,
}

/// When something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Busy {
    /// In no phase
    Never,
    /// In one phase of three
    Sometimes,
    /// In each phase
    Always,
}

/// A rule that a client breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Fault {
    /// A token is taken and not put back
    DropToken,
    /// A byte of a value is changed
    CorruptTag,
    /// What was added is not counted
    ForgetSum,
    /// A delivered entry is not counted
    ForgetEntry,
    /// A key of one connection is written by another
    ForeignWrite,
}

/// A collection that one connection has for itself.
fn private(letter: char, name: char, number: u64) -> String {
    format!("tok:{letter}:{name}{number}")
}
