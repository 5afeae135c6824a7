//! Sets: distinct members in no order of their own.
//!
//! ```text
//! integers   | width 1 | integer | integer | ...        rising
//! small      | packed list |                                    in the order in which they came
//! large      | collection 4 | root 16 |                 a tree of rows of one element, by tag
//! ```
//! A tag is a part of the member's hash under the secret of the process, so it is the same in all
//! sets: large ones are combined by walking along their leaves side by side. A set that is empty
//! is no set: its key is removed.

mod add;
mod build;
mod combine;
mod cursor;
mod integers;
mod limit;
mod lookup;
mod pop;
mod read;
mod remove;
mod sample;
mod store;

pub use add::add;
pub use combine::{Flow, Operation, combine};
pub use limit::SetLimit;
pub use pop::{Pop, pop};
pub use read::{Members, Set, lookup_without_touch, read, read_all};
pub use remove::{move_member, remove};
pub use sample::{draw, random_member};
pub use store::{Stored, store};

use crate::key::{Encoding, Kind, ValueTag};
use packed::Element;
use tree::{ByShortTag, RowLeaf};

type Leaf = RowLeaf<ByShortTag>;

/// A member with its tag.
type Tagged<'t> = (u32, Element<'t>);

/// A set whose members together take more bytes is a tree, whatever it is called.
const SMALL_BYTES_MAX: usize = 60_000;

/// The value tag of a set that is no tree.
fn small_value_tag(encoding: Encoding) -> ValueTag {
    ValueTag::new(Kind::Set, encoding)
}

/// The value tag of a set that is a tree. It keeps the name of a compact form as long as its
/// members are few enough for that by the settings.
fn tree_value_tag(encoding: Encoding) -> ValueTag {
    ValueTag::of_tree(Kind::Set, encoding)
}

#[cfg(test)]
mod tests;
