//! Sets: distinct members in no order of their own.
//!
//! ```text
//! integers   | width 1 | integer | integer | ...        rising
//! small      | packed list |                                    in the order in which they came
//! large      | collection 4 | root 16 |                 a tree of rows of one element, by tag
//! ```
//! A tag is a part of the member's hash under the secret of the process, so it is the same in all
//! sets: large sets are combined by walking along their leaves side by side. A key whose set
//! becomes empty is removed.

mod add;
mod build;
mod combine;
mod cursor;
mod gathered;
mod integers;
mod limit;
mod lookup;
mod merge;
mod pop;
mod read;
mod remove;
mod sample;
mod store;
mod whole;

pub use add::add;
pub use combine::{Flow, Operation, combine};
pub use gathered::GatheredSet;
pub use limit::SetLimit;
pub(super) use lookup::Seen;
pub use pop::{Pop, pop};
pub use read::{Members, Set, lookup_without_touch, read, read_all};
pub use remove::{move_member, remove};
pub(super) use sample::choose;
pub use sample::{draw, random_member};
pub use store::{Stored, store};
pub use whole::replace;

use crate::key::{Encoding, Kind, ValueTag};
use packed::Element;
use tree::{ByShortTag, RowLeaf};

type Leaf = RowLeaf<ByShortTag>;

/// A member with its tag.
type Tagged<'t> = (u32, Element<'t>);

/// Most bytes of a set that is no tree. A larger set is a tree, under whatever encoding clients
/// know it.
const SMALL_BYTES_MAX: usize = 60_000;

/// Value tag of a set that is no tree.
fn small_value_tag(encoding: Encoding) -> ValueTag {
    ValueTag::new(Kind::Set, encoding)
}

/// Value tag of a set that is a tree. Its encoding may still be a compact one, as long as the
/// settings allow that for its members.
fn tree_value_tag(encoding: Encoding) -> ValueTag {
    ValueTag::of_tree(Kind::Set, encoding)
}

#[cfg(test)]
mod tests;
