//! Lists, hashes, sets and sorted sets, beside the peers.
//!
//! | file | question |
//! |---|---|
//! | `elements` | resident bytes per element, while collections grow and at rest |
//! | `forms` | cost of a large form beside a packed one, by size; LPOP by length of the list |
//! | `churn` | live records over resident memory after elements and collections changed |
//! | `removal` | effects of the removal of ten million elements on its caller and on others |
//!
//! A server that lacks a command, or answers it wrongly, gets a row that says so; the other rows
//! are still measured.

pub mod churn;
pub mod elements;
pub mod forms;
pub mod removal;

use anyhow::{Result, ensure};

use crate::servers::Server;

/// Checks the answer to a command that counts elements or keys.
fn expect(server: &Server, command: &str, count: u64) -> Result<()> {
    let counted = server.control()?.integer(command)?;
    ensure!(counted == count, "{command} is {counted}, not {count}");
    Ok(())
}
