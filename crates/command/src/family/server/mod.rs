//! Commands about the server itself: what it does, what it is set to, what it can be asked.
//!
//! | file | what it answers |
//! |---|---|
//! | `databases.rs` | DBSIZE, FLUSHDB, FLUSHALL, SWAPDB, TIME, SHUTDOWN |
//! | `info/` | INFO, one file per kind of section |
//! | `config.rs` | CONFIG; the work is done by `settings` |
//! | `command/` | COMMAND, all of it derived from the rows of the table |
//! | `memory.rs` | MEMORY, with the list of segments |
//! | `debug/` | DEBUG, as far as test suites call it |
//! | `function.rs` | FUNCTION, of which there are none |
//! | `local.rs` | which clients are on this machine |
//! | `help.rs` | HELP of any command with subcommands, from its rows |

mod command;
mod config;
mod databases;
mod debug;
mod function;
pub(crate) mod help;
mod info;
mod local;
mod memory;
mod table;

pub use table::TABLE;

#[cfg(test)]
mod tests;
