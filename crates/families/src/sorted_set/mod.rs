//! Commands on sorted sets.

pub mod add;
mod blocking;
mod combine;
mod look;
mod pop;
mod random;
mod range;
mod remove;
mod scan;
mod table;

pub use table::TABLE;

use command::{Call, Pieces, effects, element};
use session::{Args, Refusal, sorted_set_limit};
use store::value::sorted_set::{Gathered, SortedSetLimit};
use store::{Access, Element, Event, Key};
use wire::{Protocol, Reply};

/// Present limits up to which a sorted set stays packed.
#[inline]
pub fn limit(call: &Call<'_>) -> SortedSetLimit {
    sorted_set_limit(&call.instance.settings)
}

/// Reads the argument at `at` as a score. What was executed elsewhere, as by a Redis, may have a
/// spelling that clients may not send: `0x1p3`.
#[inline]
pub fn score(args: Args<'_>, at: usize, is_obeyed: bool) -> Result<f64, Refusal> {
    let text = args.get(at);
    let wide = || if is_obeyed { text::parse_f64_wide(text) } else { None };
    text::parse_f64(text).or_else(wide).ok_or(Refusal::NOT_FLOAT)
}

/// Returns the event of a key that gets a result: `event`, or `del` if the result is empty.
pub fn stored(event: Event, gathered: &Gathered) -> Event {
    if gathered.is_empty() { Event::DEL } else { event }
}

/// Records what a key holds that got a result, for results that others might not find again.
pub fn record_stored_effects(access: &mut Access<'_>, key: &Key<'_>, gathered: &Gathered) {
    if !access.is_recording() {
        return;
    }
    effects::del(access, key);
    let mut pairs = Pieces::new(true, &[b"ZADD", key.bytes]);
    for (member, score) in gathered.iter() {
        pairs.add(&[text::format_f64(score).as_bytes(), member]);
    }
    access.record_effects(key, pairs);
}

/// Form in which members are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    Alone,
    /// Each followed by its score.
    Flat,
    /// Each in an array with its score.
    Nested,
}

impl Shown {
    /// Returns the form that the protocol has.
    #[inline]
    fn new(reply: &Reply<'_>, has_scores: bool) -> Shown {
        match reply.protocol() {
            _ if !has_scores => Shown::Alone,
            Protocol::Resp2 => Shown::Flat,
            Protocol::Resp3 => Shown::Nested,
        }
    }

    /// Begins the array of `count` members.
    #[inline]
    fn begin(self, reply: &mut Reply<'_>, count: u64) {
        let count = usize::try_from(count).unwrap_or(usize::MAX);
        reply.array(if self == Shown::Flat { count.saturating_mul(2) } else { count });
    }

    #[inline]
    fn write(self, reply: &mut Reply<'_>, member: Element<'_>, score: f64) {
        if self == Shown::Nested {
            reply.array(2);
        }
        element::bulk(reply, member);
        if self != Shown::Alone {
            reply.double(score);
        }
    }
}

#[cfg(test)]
mod tests;
