//! Strings: GET, SET and their kin.

mod lcs;
mod many;
mod number;
mod options;
mod range;
mod read;
mod set;
mod table;

pub(crate) use options::{Of, Options, expiry};
pub(crate) use range::APPEND;
pub(crate) use read::raw_value;
pub use table::TABLE;

use store::Event;

/// Event of a string that replaces the value of a key.
pub(crate) const SET: Event = Event::string("set");

#[cfg(test)]
mod tests;
