//! Scripts: how one runs for a client, as a transaction that learns its commands as it goes.
//!
//! ```text
//! Rules          what the script may do, as its flags or its command say
//! run            room, locks, the moment ──▶ the interpreter ──▶ waiters that it woke, its unit
//!   Watch        others are served when it runs for long, and may end it
//!   Host         each command that it calls: found, admitted, run under the lent locks, counted
//! ```
//! A script that was seen to keep to the keys that it declares (`reach`) holds their shards and
//! waits for no others. Which shards another one reaches shows only while it runs: its hold begins
//! with its keys, and grows. With a command that closes the gate in its source or arguments, it
//! runs behind the closed gate.

mod gate_words;
mod host;
mod reach;
mod rules;
mod run;
mod watch;

pub use crate::monitor_lines::show_script as show;
pub use gate_words::{closes_gate, has_gate_word};
pub use reach::{reach_of, reaches_only_keys};
pub use rules::Rules;
pub use run::{Program, run};
pub use watch::Name;
