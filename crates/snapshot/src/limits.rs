//! Sizes up to which collections stay small.

use store::value::hash::HashLimit;
use store::value::list::ListLimit;
use store::value::set::SetLimit;
use store::value::sorted_set::SortedSetLimit;

/// Limits up to which collections stay small.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "one limit for each kind")]
pub struct Limits {
    pub list: ListLimit,
    pub set: SetLimit,
    pub sorted_set: SortedSetLimit,
    pub hash: HashLimit,
}
