//! The table of commands and their families.
//!
//! ```text
//! request ──▶ Table::find ──▶ admit ──▶ family handler ──▶ Access (store) ──▶ Reply (wire)
//!                               └─ a named refusal
//! ```
//! A command is a row of its family's table and a handler beside it: arguments and replies, no
//! layout. What it does to a value stands in `store::value`.
//!
//! Owner: the server makes one `Instance`, and each of its workers runs calls.
//! Not here: sockets, threads and event loops (`server`), what values are (`store`).
//! Start at: `spec.rs`, then `call.rs`, then `family/string/set.rs`, then `execute.rs`.
#![forbid(unsafe_code)]

mod args;
mod call;
mod clients;
mod element;
mod execute;
mod family;
mod instance;
mod key_positions;
mod manual;
mod rates;
mod refusal;
mod session;
mod spec;
mod statistics;
pub mod syntax;
mod table;
#[cfg(test)]
mod testing;
mod waiting;

pub use args::Args;
pub use call::{Call, Keys, Outcome};
pub use clients::{Client, ClientFlags, Clients, Endpoint, Notice, Pause, Post, Told};
pub use execute::{RowMemo, execute, find_row, grants};
pub use instance::{Identity, Instance, Shutdown};
pub use manual::manual;
pub use rates::Rates;
pub use refusal::Refusal;
pub use session::{ReplyMode, Session};
pub use spec::{CommandSpec, Flags, Group, KeyFlags, KeySpec, Needs};
pub use statistics::{
    CommandCounts, CommandTotals, Count, ServerCounts, ServerTotals, Statistics, Sums,
    WorkerStatistics,
};
pub use table::{Row, Table};
pub use waiting::{Waiter, Waiters, recheck};
