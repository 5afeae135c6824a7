//! Streams: XADD and its kin, and groups of consumers.

mod add;
mod claim;
mod effects;
mod entries;
mod group;
mod id;
mod info;
mod pending;
mod range;
mod read;
mod table;

pub use table::TABLE;

use session::Refusal;
use store::value::stream::group::GroupError;

/// Converts an error of a group into a refusal; `missing` makes the one for a missing stream or
/// group.
fn refusal_of(error: GroupError, missing: impl FnOnce() -> Refusal) -> Refusal {
    match error {
        GroupError::NoStream | GroupError::NoGroup => missing(),
        GroupError::Exists => Refusal::of("BUSYGROUP Consumer Group name already exists"),
        GroupError::Fault(fault) => fault.into(),
    }
}

/// Refusal of commands that need a stream and a group in it.
fn no_group(key: &[u8], group: &[u8]) -> Refusal {
    Refusal::naming("NOGROUP No such key '{}' or consumer group '{}'", &[key, group])
}

/// Refusal of subcommands that need a group in a stream that exists.
fn no_group_in(key: &[u8], group: &[u8]) -> Refusal {
    Refusal::naming("NOGROUP No such consumer group '{}' for key name '{}'", &[group, key])
}

#[cfg(test)]
mod tests;
