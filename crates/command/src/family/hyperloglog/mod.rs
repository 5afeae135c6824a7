//! HyperLogLogs: estimates of the number of different elements that were added to strings.

mod count;
mod debug;
mod table;

pub use table::TABLE;

use crate::refusal::Refusal;
use store::value::hyperloglog::HyperLogLogError;

impl From<HyperLogLogError> for Refusal {
    fn from(error: HyperLogLogError) -> Refusal {
        match error {
            HyperLogLogError::WrongKind => Refusal::WRONG_TYPE,
            HyperLogLogError::NotOne => {
                Refusal::of("WRONGTYPE Key is not a valid HyperLogLog string value.")
            }
            HyperLogLogError::Corrupted => Refusal::of("INVALIDOBJ Corrupted HLL object detected"),
            HyperLogLogError::NoSpace => Refusal::OUT_OF_MEMORY,
        }
    }
}

#[cfg(test)]
mod tests;
