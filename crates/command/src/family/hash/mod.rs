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

use crate::call::Call;
use crate::refusal::Refusal;
use crate::value_limits::hash_limit;
use store::Event;
use store::value::hash::{HashError, HashLimit, Pair};
use wire::Reply;

const HSET: Event = Event::hash("hset");
const HDEL: Event = Event::hash("hdel");
const HEXPIRE: Event = Event::hash("hexpire");
const HEXPIRED: Event = Event::hash("hexpired");
const HPERSIST: Event = Event::hash("hpersist");

impl From<HashError> for Refusal {
    fn from(error: HashError) -> Refusal {
        match error {
            HashError::NotInteger => Refusal::of("ERR hash value is not an integer"),
            HashError::Overflow => Refusal::of("ERR increment or decrement would overflow"),
            HashError::NotFloat => Refusal::of("ERR hash value is not a float"),
            HashError::NotFinite => Refusal::of("ERR increment would produce NaN or Infinity"),
            HashError::NoSpace => Refusal::OUT_OF_MEMORY,
        }
    }
}

/// Limits up to which a hash stays packed.
fn limit(call: &Call<'_>) -> HashLimit {
    hash_limit(&call.instance.settings)
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
