//! Streams: entries by id, and groups of consumers that read them.
//!
//! A stream is always a collection of trees; one without entries is still a stream.
//!
//! | file | what |
//! |---|---|
//! | `entry` | how one entry stands in a block, and what is read of it |
//! | `block` | the leaves in which entries stand |
//! | `edit` | entries into and out of the tree of blocks |
//! | `facts` | what a stream knows of itself besides |
//! | `limit`, `trim` | nodes as clients count them, and what goes from the front |
//! | `change`, `read` | what commands ask for |
//! | `group` | groups of consumers |

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

pub use change::{Add, AddError, Added, NewId, SetId, SetIdError, add, delete, set_id, trim};
pub use entry::{Entry, Pairs};
pub use id::Id;
pub use limit::NodeLimit;
pub use read::{Range, RangeBack, Stream, lookup_without_touch, read};
pub use trim::{Bound, Trim};

#[cfg(test)]
mod tests;
