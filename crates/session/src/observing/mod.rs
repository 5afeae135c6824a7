//! What is seen of commands at work: how long they take, and which are worth a note.
//!
//! ```text
//! a command has run ──▶ Observer::note ──▶ counts, histogram of its row
//!                             └──▶ a limit is passed: command log, latency events
//! ```

mod command_log;
mod events;
mod histogram;

pub use command_log::{CommandLog, Entry, LogKind};
pub use events::{LatencyEvents, Sample, Series};
pub use histogram::{Distribution, Histogram};
