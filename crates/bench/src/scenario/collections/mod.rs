//! Lists, hashes, sets, sorted sets and streams beside the peers.
//!
//! | file | question |
//! |---|---|
//! | `elements` | resident bytes per element, while collections grow and at rest |
//! | `forms` | what a large form costs beside a packed one, and LPOP by length of the list |
//! | `commands` | server CPU per command |
//! | `churn` | live records over resident memory after elements and collections changed |
//! | `removal` | what the removal of ten million elements does to its caller and to others |
//!
//! A server that lacks a command, or answers it wrongly, gets a row that says so; the other rows
//! are measured all the same. `store.rs` loads elements and counts them afterwards.

pub mod churn;
pub mod commands;
pub mod elements;
pub mod forms;
pub mod removal;

mod steady;
pub(super) mod store;

use anyhow::Error;

use crate::report::Section;

/// What stands in a table for what was not measured. A server may lack a command; whatever else
/// goes wrong marks the section as failed, and the other rows go on.
fn absent(section: &mut Section, what: &str, error: &Error) -> String {
    let reason = format!("{error:#}");
    if reason.contains("unknown command") {
        return "not there".to_owned();
    }
    section.fail(format!("{what}: {reason}"));
    "failed".to_owned()
}
