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

use crate::refusal::Refusal;
use store::Event;
use store::value::string::StringError;
use text::FloatError;

/// Event of a string that replaces the value of a key.
pub(super) const SET: Event = Event::string("set");

impl From<StringError> for Refusal {
    fn from(error: StringError) -> Refusal {
        match error {
            StringError::NotInteger => Refusal::NOT_INTEGER,
            StringError::Overflow => Refusal::of("ERR increment or decrement would overflow"),
            StringError::Float(FloatError::NotAFloat) => Refusal::NOT_FLOAT,
            StringError::Float(FloatError::NotFinite) => {
                Refusal::of("ERR increment would produce NaN or Infinity")
            }
            StringError::TooLong => TOO_LONG,
            StringError::NoSpace => Refusal::OUT_OF_MEMORY,
            StringError::WrongKind => Refusal::WRONG_TYPE,
        }
    }
}

const TOO_LONG: Refusal =
    Refusal::of("ERR string exceeds maximum allowed size (proto-max-bulk-len)");

#[cfg(test)]
mod tests;
