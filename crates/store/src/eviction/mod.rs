//! Eviction policies: which keys are removed first when memory is short, as arithmetic without any
//! mechanism.

mod history;
mod policy;
mod quantile;

pub use history::{AccessHistory, IDLE_SECONDS, Use, age, frequency, touched};
pub use policy::{Candidate, EvictionPolicy};
pub(crate) use quantile::Quantile;
