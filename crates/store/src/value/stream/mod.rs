//! Streams: entries by id, and groups of consumers that read them.
//!
//! A stream is always a collection of trees; one without entries is still a stream.
//!
//! | file | content |
//! |---|---|
//! | `entry` | format of one entry in a block |
//! | `block` | leaves that hold entries |
//! | `edit` | changes of the tree of blocks, entry by entry |
//! | `facts` | facts about a stream besides its entries and groups |
//! | `limit`, `trim` | nodes as clients count them; removal of entries from the front |
//! | `change`, `read` | operations for commands |
//! | `group` | consumer groups |

mod block;
mod change;
mod edit;
mod entry;
mod facts;
pub mod group;
mod id;
mod limit;
mod read;
mod trim;
mod whole;

pub use change::{Add, AddError, Added, NewId, SetId, SetIdError, add, delete, set_id, trim};
pub use entry::{Entry, Pairs};
pub use id::Id;
pub use limit::NodeLimit;
pub use read::{Range, RangeBack, Stream, lookup_without_touch, read};
pub use trim::{Bound, Trim};
pub use whole::Whole;

#[cfg(test)]
mod tests;
