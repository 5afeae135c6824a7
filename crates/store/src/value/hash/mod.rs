//! Hashes: fields with values, each of which may have a deadline.
//!
//! ```text
//! small   | packed list of rows |                        in the key's record
//! large   | collection | fields | deadlines |    roots of trees; the second one comes when needed
//! row     | field | value | deadline |           the third column comes when needed
//! ```
//! Rows of a packed list have two columns while clients know the hash as a listpack, and three when
//! they know it as a hashtable: for a field that expires, or a text that is long. Rows in the tree
//! of fields are ordered by tag; each leaf has three columns once one of its fields needs them. The
//! tree of deadlines has a row for each pair of deadline and tag. A mark in the value tag says that
//! there is a deadline, so that the sweep visits the key. A key whose hash becomes empty is
//! removed.

mod ahead;
mod deadline;
mod due;
mod gathered;
mod large;
mod limit;
mod number;
mod random;
mod read;
mod small;
mod write;

pub use ahead::prefetch_fields;
pub use deadline::{Deadline, Was};
pub use gathered::GatheredHash;
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

/// Leaf type of the tree of fields.
type Leaf = RowLeaf<ByShortTag>;
/// Leaf type of the tree of deadlines.
type DueLeaf = RowLeaf<ByKey>;

/// Indexes of the trees.
const FIELDS: usize = 0;
const DUE: usize = 1;

/// Number of columns in a row without and with deadline.
const PLAIN: usize = 2;
const TIMED: usize = 3;
/// Columns of the value and of the deadline.
const VALUE: usize = 1;
const DEADLINE: usize = 2;

const SMALL: Encoding = Encoding::Listpack;
const LARGE: Encoding = Encoding::Hashtable;

/// Number of columns in the packed list of a small hash.
#[inline]
fn stride_of(value_tag: ValueTag) -> usize {
    if value_tag.encoding() == SMALL { PLAIN } else { TIMED }
}

/// Value tag of a small hash with this number of columns.
fn value_tag_of_packed(stride: usize) -> ValueTag {
    ValueTag::new(Kind::Hash, if stride == PLAIN { SMALL } else { LARGE })
}

/// Reads the deadline in a cell of the third column; `None` if there is none.
#[inline]
fn to_deadline(cell: Option<Element<'_>>) -> Option<Millis> {
    match cell {
        Some(Element::Integer(millis)) if millis > 0 => Some(Millis(millis.cast_unsigned())),
        _ => None,
    }
}

/// Returns the cell of the third column for a deadline.
#[inline]
fn to_cell(deadline: Option<Millis>) -> Element<'static> {
    Element::Integer(deadline.map_or(0, |at| at.0.cast_signed()))
}

#[cfg(test)]
mod tests;
