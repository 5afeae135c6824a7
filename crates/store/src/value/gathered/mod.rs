//! Rows of large values, gathered before trees are built of them.
//!
//! ```text
//! Shares   rows by tag      parted by the first bits of the tag, each part sorted alone
//! Runs     rows by order    pieces of a mebibyte, each sorted, then merged
//! ```
//! Both keep rows in pages of their own, and give these back to the system while the trees grow: at
//! most about one copy of the rows exists besides what is finished.

mod chunk;
mod runs;
mod shares;

pub(super) use chunk::{len_bytes, read_len, write_len};
pub(super) use runs::{RowAt, RowOrder, Runs};
pub(super) use shares::Shares;

use crate::fault::NoSpace;
use tree::NoRoom;

/// Reason why a gathered value was not stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotStored {
    /// There is no room.
    NoSpace,
    /// A member is there twice.
    Twice,
}

impl From<NoSpace> for NotStored {
    fn from(NoSpace: NoSpace) -> NotStored {
        NotStored::NoSpace
    }
}

impl From<NoRoom> for NotStored {
    fn from(NoRoom: NoRoom) -> NotStored {
        NotStored::NoSpace
    }
}
