//! Strings: GET, SET and their kin.

mod lcs;
mod many;
mod number;
mod options;
mod range;
mod read;
mod set;
mod table;

pub use table::TABLE;

use store::Event;

/// Event of a string that replaces the value of a key.
pub(super) const SET: Event = Event::string("set");

#[cfg(test)]
mod tests;
