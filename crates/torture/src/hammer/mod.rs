//! Connections that change the same keys concurrently, and invariants checked at the end.
//!
//! | file | what |
//! |---|---|
//! | `run` | phases one after the other, and their report |
//! | `phase` | the shape of one phase, and the state shared by its connections |
//! | `cast` | the connections of a phase, and the checks after it |
//! | `line` | a connection: bursts of requests, and a check of each reply |
//! | `tokens`, `carriers` | elements that move and exist exactly once |
//! | `sums` | counters with a known total |
//! | `content`, `strings`, `collections` | values that identify their keys |
//! | `mine` | keys that only one connection writes, so that it knows their values |
//! | `items` | the port of Memcached's protocol |
//! | `streams` | entries that are delivered once |
//! | `swapped` | two databases that are swapped |
//! | `disturb`, `rough` | other connections, which must break nothing |
//! | `process`, `memory` | the server: its start, its memory, its end |
//! | `avoid` | known faults of the server that are avoided |

mod avoid;
mod carriers;
mod cast;
pub(crate) mod chance;
mod collections;
mod content;
mod disturb;
mod items;
mod line;
mod memory;
mod mine;
mod phase;
pub(crate) mod process;
mod rough;
mod run;
mod streams;
mod strings;
mod sums;
mod swapped;
mod tokens;
pub(crate) mod words;

pub use avoid::Known;
pub use run::run;

use std::path::PathBuf;

/// Arguments of `varve-torture hammer`.
#[derive(Clone, Debug, clap::Args)]
pub struct Arguments {
    /// Program of the server
    #[arg(long, default_value = "target/debug/varve-server")]
    server: PathBuf,
    /// Worker threads of the server
    #[arg(long, default_value_t = 4)]
    threads: usize,
    /// Every other connection speaks TLS
    #[arg(long)]
    tls: bool,
    /// Duration in seconds
    #[arg(long, default_value_t = 60, conflicts_with = "minutes")]
    seconds: u64,
    /// Duration in minutes
    #[arg(long)]
    minutes: Option<u64>,
    /// Duration of one phase in seconds
    #[arg(long, default_value_t = 10)]
    phase: u64,
    /// Seed of all choices; the interleaving of threads is not repeated
    #[arg(long)]
    seed: Option<u64>,
    /// Connections with invariants
    #[arg(long, default_value_t = 16)]
    connections: usize,
    /// Phases with a process that spins on the one core that the server may use
    #[arg(long, value_enum, default_value_t = Busy::Sometimes)]
    busy: Busy,
    /// Phases with a memory limit
    #[arg(long, value_enum, default_value_t = Busy::Sometimes)]
    eviction: Busy,
    /// Most resident megabytes at the end, with all keys removed, besides the program itself
    #[arg(long, default_value_t = 40)]
    rest_mb: u64,
    /// Resident megabytes allowed above `maxmemory`: 16 for what waits for the disk and 16 for what
    /// a snapshot holds, which have budgets of their own, and 48 for the process, as at rest
    #[arg(long, default_value_t = 80)]
    slack_mb: u64,
    /// Most resident megabytes at any time
    #[arg(long, default_value_t = 4000)]
    peak_mb: u64,
    /// Longest wait for a reply, in seconds
    #[arg(long, default_value_t = 30)]
    patience: u64,
    /// Ends the server by SHUTDOWN and not by a signal, which ThreadSanitizer delays
    #[arg(long)]
    shutdown: bool,
    /// Provokes a known fault of the server
    #[arg(long = "try", value_enum)]
    tried: Vec<Known>,
    /// Breaks a rule on purpose, so that the run must fail
    #[arg(long, value_enum)]
    fault: Option<Fault>,
    /// Further options of the server, as `--name value`
    #[arg(last = true)]
    options: Vec<String>,
}

/// Choice of the phases in which something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Busy {
    /// In no phase
    Never,
    /// In one phase of three
    Sometimes,
    /// In each phase
    Always,
}

/// Rule that a client breaks on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Fault {
    /// A token is taken and not put back
    DropToken,
    /// A byte of a value is changed
    CorruptTag,
    /// An addition to a counter is not counted
    ForgetSum,
    /// A delivered entry is not counted
    ForgetEntry,
    /// A key of one connection is written by another
    ForeignWrite,
}

/// Returns the key of a collection that only one connection uses.
fn private(letter: char, name: char, number: u64) -> String {
    format!("tok:{letter}:{name}{number}")
}
