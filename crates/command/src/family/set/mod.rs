//! Commands on sets.

mod combine;
mod many;
mod member;
mod random;
mod scan;
mod table;

pub use table::TABLE;

use crate::call::Call;
use packed::Element;
use settings::values::{SET_MAX_INTSET_ENTRIES, SET_MAX_LISTPACK_ENTRIES, SET_MAX_LISTPACK_VALUE};
use store::value::set::SetLimit;
use wire::Reply;

/// Up to which size sets are kept compact at present.
fn limit(call: &Call<'_>) -> SetLimit {
    let settings = &call.instance.settings;
    SetLimit {
        integers: SET_MAX_INTSET_ENTRIES.get(settings),
        members: SET_MAX_LISTPACK_ENTRIES.get(settings),
        member_bytes: SET_MAX_LISTPACK_VALUE.get(settings),
    }
}

/// Writes a member.
#[inline]
fn bulk(reply: &mut Reply<'_>, member: Element<'_>) {
    match member {
        Element::Bytes(text) => reply.bulk(text),
        other => other.with_text(|text| reply.bulk(text)),
    }
}

#[cfg(test)]
mod tests;
