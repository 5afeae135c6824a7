//! Bitmaps: bits of strings.

mod bits;
mod combine;
mod field;
mod search;
mod table;

pub use table::TABLE;

use command::Call;
use session::Refusal;
use store::Event;

/// Event of a string whose bits were set or cleared.
const SETBIT: Event = Event::string("setbit");

const NOT_OFFSET: Refusal = Refusal::of("ERR bit offset is not an integer or out of range");

/// Checks an offset in bits, which a string must be able to reach.
fn offset_within_limit(call: &Call<'_>, offset: Option<i64>) -> Result<u64, Refusal> {
    let bytes_max = call.bulk_bytes_max();
    offset
        .and_then(|offset| u64::try_from(offset).ok())
        .filter(|offset| offset / 8 < bytes_max)
        .ok_or(NOT_OFFSET)
}

#[cfg(test)]
mod tests;
