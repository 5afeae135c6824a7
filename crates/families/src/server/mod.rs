//! Commands about the server itself: its state, its settings, its commands.
//!
//! | file | commands |
//! |---|---|
//! | `databases.rs` | DBSIZE, FLUSHDB, FLUSHALL, SWAPDB, TIME |
//! | `saving.rs` | BGSAVE, SAVE, LASTSAVE, SHUTDOWN |
//! | `info/` | INFO, one file per kind of section |
//! | `config.rs` | CONFIG; the work is done by `settings` |
//! | `command_table/` | COMMAND, derived from the rows of the table |
//! | `memory.rs` | MEMORY, with the list of segments |
//! | `debug/` | DEBUG, as far as test suites call it |
//! | `modules.rs` | MODULE, for a server that loads none |
//! | `lolwut.rs` | LOLWUT |
//! | `help.rs` | HELP of any command with subcommands, from its rows |

mod command_table;
mod config;
mod databases;
mod debug;
pub(crate) mod help;
mod info;
mod lolwut;
mod memory;
pub(crate) mod modules;
mod saving;
mod table;

pub(crate) use config::change;

pub use table::TABLE;

#[cfg(test)]
mod tests;
