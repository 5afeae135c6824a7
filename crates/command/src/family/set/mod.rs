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
use store::{Access, Event, EventClass, Key};

const fn event(name: &'static str) -> Event {
    Event::new(EventClass::Set, name)
}

/// Says that so many members have gone, and the set if none is left.
#[inline]
fn say_removed(access: &mut Access<'_>, removed: u64, event: Event, key: &Key<'_>) {
    access.changed(removed, event, key);
    if removed > 0 {
        access.happened_if_gone(key);
    }
}

/// Up to which size sets are kept compact at present.
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
