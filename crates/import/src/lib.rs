//! Filling of a running server from files or from another server, and comparing of two servers.
//!
//! ```text
//! RDB file   ─▶ walk ──────────────┐                  ┌─▶ connection ─▶ RESTORE, in pipelines
//! live       ─▶ SCAN ─▶ DUMP ──────┼─▶ jobs, bounded ─┼─▶ connection
//! AOF        ─▶ units, as they are │                  └─▶ ...
//!                 └─▶ one connection, in order
//! follow     ─▶ PSYNC ─▶ snapshot, then the stream ─▶ transactions with the place they lead to
//! compare    ─▶ SCAN of both ─▶ digest of each key ─▶ differences
//! ```
//! The thread that reads waits while more is on its way than `budget.rs` allows, so memory does not
//! depend on the size of the source. `ledger.rs` knows up to where everything has arrived, which is
//! what a resumed run goes on from. Keys may be sent twice, and so may most commands (`repeat.rs`);
//! of others the run that is asked to stop (`stop.rs`) waits for the replies.
//!
//! What is noted of a string besides its value stands before the command that gives a Varve the
//! value (`note.rs`).
//!
//! Owner: the command line; nothing here is part of a server.
//! Not here: formats (`rdb`, `journal`), walking through files (`check`), what replicas say
//! (`replication`), which words of a command are keys (`families`).
//! Start at: `fill.rs`, then `sink.rs`.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

pub mod address;
pub mod budget;
pub mod compare;
mod content;
pub mod error;
pub mod fill;
pub mod follow;
mod from_commands;
mod from_rdb;
pub mod from_server;
mod json_file;
mod keys;
pub mod ledger;
pub mod libraries;
pub mod meter;
pub mod note;
mod past;
pub mod payload;
mod refusals;
mod repeat;
pub mod resp;
pub mod resume;
pub mod run;
pub mod scope;
pub mod server;
mod sink;
pub mod stop;
pub mod tally;
mod to_client;
pub mod usage;
