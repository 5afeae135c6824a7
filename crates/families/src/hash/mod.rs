//! Hashes: HGET, HSET and their kin, and deadlines of fields.

mod count;
mod deadline;
mod expire;
mod fields;
mod options;
mod random;
mod read;
mod scan;
mod table;
mod take;
mod write;

pub use table::TABLE;

use base::Millis;
use command::{Call, Pieces, effects};
use session::hash_limit;
use store::value::hash::{self, HashLimit, Pair};
use store::{Access, Event, Key};
use text::IntegerText;
use wire::Reply;

const HSET: Event = Event::hash("hset");
const HDEL: Event = Event::hash("hdel");
const HEXPIRE: Event = Event::hash("hexpire");
const HEXPIRED: Event = Event::hash("hexpired");
const HPERSIST: Event = Event::hash("hpersist");

/// Limits up to which a hash stays packed.
fn limit(call: &Call<'_>) -> HashLimit {
    hash_limit(&call.instance.settings)
}

/// Records that a field holds a value now, and which deadline it has kept.
fn record_field_effect(access: &mut Access<'_>, key: &Key<'_>, field: &[u8], value: &[u8]) {
    if access.is_recording() {
        effects::words(access, key, &[b"HSET", key.bytes, field, value]);
        record_deadline_effect(access, key, field);
    }
}

/// Begins the effect of fields that get a deadline.
fn expiring(is_recording: bool, key: &Key<'_>, at: Millis) -> Pieces {
    let mut millis = IntegerText::new();
    let millis = millis.format_unsigned(at.0);
    Pieces::of_fields(is_recording, &[b"HPEXPIREAT", key.bytes, millis])
}

/// Records which deadline a field has, if it has one.
fn record_deadline_effect(access: &mut Access<'_>, key: &Key<'_>, field: &[u8]) {
    let hash = hash::lookup_without_touch(access, key).ok().flatten();
    if let Some(at) = hash.and_then(|hash| hash.get(field)).and_then(|pair| pair.deadline) {
        effects::field_expires_at(access, key, field, at);
    }
}

/// Replies with the value of a field, or null if there is none.
#[inline]
fn value_or_null(reply: &mut Reply<'_>, pair: Option<Pair<'_>>) {
    match pair {
        Some(pair) => pair.value.with_text(|text| reply.bulk(text)),
        None => reply.null(),
    }
}

#[cfg(test)]
mod tests;
