//! Commands on sets.

mod combine;
mod many;
mod member;
mod random;
mod scan;
mod table;

pub use table::TABLE;

use crate::call::Call;
use settings::values::{SET_MAX_INTSET_ENTRIES, SET_MAX_LISTPACK_ENTRIES, SET_MAX_LISTPACK_VALUE};
use store::value::set::SetLimit;

/// Present limits up to which a set stays compact.
#[inline]
fn limit(call: &Call<'_>) -> SetLimit {
    let settings = &call.instance.settings;
    SetLimit {
        integers: SET_MAX_INTSET_ENTRIES.get(settings),
        members: SET_MAX_LISTPACK_ENTRIES.get(settings),
        member_bytes: SET_MAX_LISTPACK_VALUE.get(settings),
    }
}

#[cfg(test)]
mod tests;
