//! Commands on lists.

mod blocking;
mod edit;
mod ends;
mod look;
mod moves;
mod table;

pub use table::TABLE;

use command::{Call, effects};
use session::{Refusal, list_limit};
use store::value::list::{End, ListLimit};
use store::{Access, Event, Key};

/// Event of elements that are added to an end.
fn pushed(end: End) -> Event {
    const LPUSH: Event = Event::list("lpush");
    const RPUSH: Event = Event::list("rpush");
    if end == End::Front { LPUSH } else { RPUSH }
}

/// Event of elements that are taken from an end.
fn popped(end: End) -> Event {
    const LPOP: Event = Event::list("lpop");
    const RPOP: Event = Event::list("rpop");
    if end == End::Front { LPOP } else { RPOP }
}

/// Records that so many elements were taken from an end; `None` for one, without a count.
fn record_pop_effect(access: &mut Access<'_>, key: &Key<'_>, end: End, count: Option<u64>) {
    match end {
        End::Front => effects::popped(access, key, b"LPOP", count),
        End::Back => effects::popped(access, key, b"RPOP", count),
    }
}

/// Present limit up to which a list stays packed.
#[inline]
fn limit(call: &Call<'_>) -> ListLimit {
    list_limit(&call.instance.settings)
}

/// Reads LEFT or RIGHT.
fn end(call: &Call<'_>, at: usize) -> Result<End, Refusal> {
    if call.args.is(at, "LEFT") {
        Ok(End::Front)
    } else if call.args.is(at, "RIGHT") {
        Ok(End::Back)
    } else {
        Err(Refusal::SYNTAX)
    }
}

#[cfg(test)]
mod tests;
