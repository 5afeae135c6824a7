//! Facts that identify a server.

use base::Steady;
use std::path::PathBuf;

/// Facts that identify this server.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Forty hexadecimal digits, drawn at start.
    pub run_id: String,
    /// Time of its start.
    pub started: Steady,
    /// Configuration file, if there is one.
    pub config_file: Option<PathBuf>,
    /// Path of the program.
    pub executable: PathBuf,
    /// Number of threads that execute commands.
    pub threads: usize,
    /// Names of the memory allocators: segments for what clients store, and the one for the rest.
    pub allocator: &'static str,
    /// Service manager that has started it, or `no`.
    pub supervised: &'static str,
}
