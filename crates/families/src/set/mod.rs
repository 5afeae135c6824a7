//! Commands on sets.

mod combine;
mod many;
mod member;
mod random;
mod scan;
mod table;

pub use table::TABLE;

use command::Call;
use session::set_limit;
use store::value::set::SetLimit;

/// Present limits up to which a set stays compact.
#[inline]
fn limit(call: &Call<'_>) -> SetLimit {
    set_limit(&call.instance.settings)
}

#[cfg(test)]
mod tests;
