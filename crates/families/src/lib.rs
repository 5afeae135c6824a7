//! The families of commands: a table each, and the handlers beside it.
//!
//! ```text
//! commands ──▶ string::TABLE, hash::TABLE ... ──▶ a row ──▶ its handler ──▶ store::value
//! ```
//! A handler reads arguments, works on an `Access`, and writes one reply. It deals with arguments
//! and replies, not with memory layout: the effect on values is implemented in `store::value`.
//!
//! Owner: the server hands `table()` to what runs commands.
//! Not here: what a row is and how it runs (`command`), what values are (`store`).
//! Start at: `string/table.rs`, then `string/read.rs`.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

mod acl;
mod bitmap;
mod client;
mod closing;
mod cluster;
mod commands;
mod connection;
mod element_scan;
mod generic;
mod geo;
mod hash;
mod hyperloglog;
mod list;
mod manual;
mod memcached;
mod observing;
mod partial_sort;
mod pubsub;
mod replication;
mod scripting;
mod server;
mod set;
mod sorted_set;
mod stream;
mod string;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod transaction;

pub use commands::table;
pub use manual::manual;
