//! The families of commands: a table each, and the handlers beside it.

mod bitmap;
mod client;
mod cluster;
mod connection;
mod element_scan;
mod generic;
mod geo;
mod hash;
mod hyperloglog;
mod list;
mod observing;
mod pubsub;
mod server;
mod set;
mod sorted_set;
mod stream;
mod string;
mod transaction;

pub use client::forget_tracking;
pub use connection::forget_all;
use pubsub::forget_subscriptions;

use crate::call::Command;

/// Tables of all families.
pub const ALL: &[&[Command]] = &[
    string::TABLE,
    bitmap::TABLE,
    hash::TABLE,
    hyperloglog::TABLE,
    list::TABLE,
    set::TABLE,
    sorted_set::TABLE,
    geo::TABLE,
    stream::TABLE,
    generic::TABLE,
    connection::TABLE,
    client::TABLE,
    server::TABLE,
    transaction::TABLE,
    pubsub::TABLE,
    observing::TABLE,
    cluster::TABLE,
];
