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

use crate::refusal::Refusal;
use store::value::stream::group::GroupError;
use store::value::stream::{AddError, SetIdError};

impl From<AddError> for Refusal {
    fn from(error: AddError) -> Refusal {
        match error {
            AddError::NotAbove => Refusal::of(
                "ERR The ID specified in XADD is equal or smaller than the target stream top item",
            ),
            AddError::Exhausted => Refusal::of(
                "ERR The stream has exhausted the last possible ID, unable to add more items",
            ),
            AddError::TooLong => Refusal::of("ERR Elements are too large to be stored"),
            AddError::Fault(fault) => fault.into(),
        }
    }
}

impl From<SetIdError> for Refusal {
    fn from(error: SetIdError) -> Refusal {
        match error {
            SetIdError::NoStream => Refusal::NO_SUCH_KEY,
            SetIdError::BelowDeleted => Refusal::of(
                "ERR The ID specified in XSETID is smaller than current max_deleted_entry_id",
            ),
            SetIdError::BelowTop => Refusal::of(
                "ERR The ID specified in XSETID is smaller than the target stream top item",
            ),
            SetIdError::TooFewAdded => Refusal::of(
                "ERR The entries_added specified in XSETID is smaller than the target stream \
                 length",
            ),
            SetIdError::WrongKind => Refusal::WRONG_TYPE,
        }
    }
}

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
