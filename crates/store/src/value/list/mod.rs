//! Lists: elements by position.
//!
//! A small list is one packed list, a large one a tree of rows of one element each. A key whose
//! list becomes empty is removed.

mod change;
mod limit;
mod read;

pub use change::{Pivot, insert, move_between, pop, push, remove, set, store, trim};
pub use limit::ListLimit;
pub(super) use limit::element_bytes;
pub use read::{Elements, ElementsBack, List, lookup_without_touch, read};

use tree::{ByPosition, RowLeaf};

type Leaf = RowLeaf<ByPosition>;

/// An end of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The end with index 0.
    Front,
    /// The end with index -1.
    Back,
}

/// Resolves `index` in a list of `len` elements, negative ones counted from the end; `None` beyond
/// either end.
pub fn position(len: u64, index: i64) -> Option<u64> {
    let at = if index < 0 { len.checked_sub(index.unsigned_abs())? } else { index as u64 };
    (at < len).then_some(at)
}

/// Resolves positions `start` to `end`, both included, in a list of `len` elements to the first
/// index and a count. Negative positions count from the end.
pub fn range(len: u64, start: i64, end: i64) -> (u64, u64) {
    let place = |at: i64| {
        if at < 0 { len.saturating_sub(at.unsigned_abs()) } else { at as u64 }
    };
    if end < 0 && end.unsigned_abs() > len {
        return (0, 0);
    }
    let (start, end) = (place(start), place(end).min(len.saturating_sub(1)));
    if start > end || start >= len { (0, 0) } else { (start, end - start + 1) }
}
