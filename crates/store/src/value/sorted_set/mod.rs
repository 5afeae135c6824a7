//! Sorted sets: members, each with a score, in the order of scores; members of one score in the
//! order of their bytes.
//!
//! ```text
//! small   | packed list: score, member, score, member, ... |        in order
//! large   tree 0   score, member                            in order
//!         tree 1   tag -> score                             in the order of tags
//! ```
//! Tree 1 tells the score of a member, which is then held against the row of tree 0: so tags may
//! be equal, and what is kept of a member twice are four bytes. A set that is empty is no set: its
//! key is removed.
//!
//! Start at: `score.rs`, then `order.rs`, then `read.rs`, then `change.rs`.

mod bound;
mod change;
mod combine;
mod gathered;
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
pub use limit::SortedSetLimit;
pub use random::draw;
pub use range::{Pick, Span};
pub use read::{Pairs, PairsBack, SortedSet, lookup_without_touch, read};
pub use remove::{End, pop, remove, remove_picked};
pub use scan::scan;

use order::ByScore;
use tree::{ByTag, RowLeaf};

/// Rows of score and member.
type ScoreLeaf = RowLeaf<ByScore>;
/// Rows of a score.
type TagLeaf = RowLeaf<ByTag>;

/// Numbers of the trees, and elements in their rows.
const SCORES: usize = 0;
const TAGS: usize = 1;
const STRIDE: usize = 2;

#[cfg(test)]
mod tests;
