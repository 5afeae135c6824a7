//! Lists, hashes, sets, sorted sets and streams beside the peers.
//!
//! | file | question |
//! |---|---|
//! | `elements` | resident bytes per element, while collections grow and at rest |
//! | `forms` | cost of a large form beside a packed one, and of LPOP by length of the list |
//! | `commands` | server CPU per command |
//! | `churn` | live records over resident memory after elements and collections changed |
//! | `removal` | effects of the removal of ten million elements on its caller and on others |
//!
//! A server that lacks a command, or answers it wrongly, gets a row that says so; the other rows
//! are still measured. `store.rs` loads elements and counts them afterwards.

pub mod churn;
pub mod commands;
pub mod elements;
pub mod forms;
pub mod removal;

pub(super) mod steady;
pub(super) mod store;

use anyhow::Error;

use crate::report::Section;

/// Returns the table cell of a missing measurement. A server may lack a command; any other error
/// marks the section as failed, and the other rows are still measured.
fn absent(section: &mut Section, what: &str, error: &Error) -> String {
    let reason = format!("{error:#}");
    if reason.contains("unknown command") {
        return "not there".to_owned();
    }
    section.fail(format!("{what}: {reason}"));
    "failed".to_owned()
}
