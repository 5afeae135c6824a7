//! Sorted sets: members with scores, ordered by score, and by their bytes where scores are equal.
//!
//! ```text
//! small   | packed list: score, member, score, member, ... |        in order
//! large   tree 0   score, member                            in order
//!         tree 1   tag -> score                             in the order of tags
//! ```
//! Tree 1 gives the score of a member, with which its row is found in tree 0 and compared. So
//! different members may share a tag, and besides the score only the four bytes of the tag are
//! stored in addition. A key whose set becomes empty is removed.
//!
//! Start at: `score.rs`, then `order.rs`, then `read.rs`, then `change.rs`.

mod bound;
mod change;
mod combine;
mod gathered;
mod gathered_set;
mod limit;
mod order;
mod random;
mod range;
mod read;
mod remove;
mod scan;
mod score;

pub use bound::{LexBound, LexRange, ScoreBound, ScoreRange};
pub use change::{Added, Terms, add};
pub use combine::{
    Aggregate, Operand, Source, count_shared, difference, intersection, read_all, union,
};
pub use gathered::{Gathered, store};
pub use gathered_set::GatheredSortedSet;
pub use limit::SortedSetLimit;
pub use random::draw;
pub use range::{Pick, Span};
pub use read::{Pairs, PairsBack, SortedSet, lookup_without_touch, read};
pub use remove::{End, pop, remove, remove_picked};
pub use scan::scan;

use order::ByScore;
use tree::{ByTag, RowLeaf};

/// Leaf type for rows of score and member.
type ScoreLeaf = RowLeaf<ByScore>;
/// Leaf type for rows of a score, by tag.
type TagLeaf = RowLeaf<ByTag>;

/// Indexes of the trees, and number of elements in a row of tree 0.
const SCORES: usize = 0;
const TAGS: usize = 1;
const STRIDE: usize = 2;

#[cfg(test)]
mod tests;
