//! The families of commands: a table each, and the handlers beside it.

mod bitmap;
mod client;
mod connection;
mod generic;
mod hyperloglog;
mod server;
mod stream;
mod string;

use crate::spec::CommandSpec;

/// All tables.
pub const ALL: &[&[CommandSpec]] = &[
    string::TABLE,
    bitmap::TABLE,
    hyperloglog::TABLE,
    stream::TABLE,
    generic::TABLE,
    connection::TABLE,
    client::TABLE,
    server::TABLE,
];
