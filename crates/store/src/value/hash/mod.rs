//! Hashes: fields with values, each of which may have a deadline.
//!
//! ```text
//! small   | packed list of rows |                        in the key's record
//! large   | collection | fields | deadlines |    roots of trees; the second one comes when needed
//! row     | field | value | deadline |           the third column comes when needed
//! ```
//! Rows of a packed list have two columns while clients know the hash as a listpack, and three when
//! they know it as a hashtable: for a field that expires, or a text that is long. Rows of the tree
//! of fields stand by their tags and have three columns leaf by leaf. The tree of deadlines has a
//! row for each pair of deadline and tag. A value tag tells whether there is any deadline, so that
//! the sweep visits the key. A hash that is empty is no hash: its key is removed.

mod ahead;
mod deadline;
mod due;
mod large;
mod limit;
mod number;
mod random;
mod read;
mod small;
mod write;

pub use ahead::prefetch_fields;
pub use deadline::{Deadline, Was};
pub use limit::HashLimit;
pub use number::{HashError, add, add_float};
pub use random::{random_field, random_fields};
pub use read::{Fields, Hash, Pair, lookup_without_touch, read};
pub use write::HashMut;

pub(crate) use due::{Removed, earliest, remove_due};

use crate::key::{Encoding, Kind, ValueTag};
use base::Millis;
use packed::Element;
use tree::{ByKey, ByShortTag, RowLeaf};

/// Leaves of the tree of fields.
type Leaf = RowLeaf<ByShortTag>;
/// Leaves of the tree of deadlines.
type DueLeaf = RowLeaf<ByKey>;

/// The numbers of the trees.
const FIELDS: usize = 0;
const DUE: usize = 1;

/// Columns of a row without a deadline, and with one.
const PLAIN: usize = 2;
const TIMED: usize = 3;
/// The column of values, and that of deadlines.
const VALUE: usize = 1;
const DEADLINE: usize = 2;

const SMALL: Encoding = Encoding::Listpack;
const LARGE: Encoding = Encoding::Hashtable;

/// Columns of the packed list of a small hash.
#[inline]
fn stride_of(value_tag: ValueTag) -> usize {
    if value_tag.encoding() == SMALL { PLAIN } else { TIMED }
}

/// The value tag of a hash that is one packed list with so many columns.
fn value_tag_of_packed(stride: usize) -> ValueTag {
    ValueTag::new(Kind::Hash, if stride == PLAIN { SMALL } else { LARGE })
}

/// The deadline that a cell of the third column holds.
#[inline]
fn to_deadline(cell: Option<Element<'_>>) -> Option<Millis> {
    match cell {
        Some(Element::Integer(millis)) if millis > 0 => Some(Millis(millis.cast_unsigned())),
        _ => None,
    }
}

/// What the third column holds for a deadline.
#[inline]
fn to_cell(deadline: Option<Millis>) -> Element<'static> {
    Element::Integer(deadline.map_or(0, |at| at.0.cast_signed()))
}

#[cfg(test)]
mod tests;
