//! Scripts: how one runs for a client, as a transaction that learns its commands as it goes.
//!
//! ```text
//! Rules          what the script may do, as its flags or its command say
//! run            room, locks, the moment ──▶ the interpreter ──▶ waiters that it woke, its unit
//!   Watch        others are served when it runs for long, and may end it
//!   Host         each command that it calls: found, admitted, run under the lent locks, counted
//! ```
//! Which shards a script reaches shows only while it runs: its hold begins with the keys that it
//! declares, and grows. With a command that closes the gate in its source or arguments, it runs
//! behind the closed gate.

mod gate_words;
mod host;
mod rules;
mod run;
mod watch;

pub use crate::monitor_lines::show_script as show;
pub use gate_words::{closes_gate, has_gate_word};
pub use rules::Rules;
pub use run::{Program, run};
pub use watch::Name;
