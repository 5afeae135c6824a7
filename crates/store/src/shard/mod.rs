//! Shards: slices of the hash space, each behind one lock, and the only way to what is kept there.
//!
//! ```text
//! Shards::lock ──▶ Guard ──▶ ValueRef   what a key holds, to be read; borrows the guard
//!                        ├─▶ KeyMut     a key, found or not, to be changed; borrows it exclusively
//!                        └─▶ Nodes      the nodes of a value that is a tree
//! ```
//! A guard is the right to the records, index entries and node tables of the shards that it holds.
//! What was found borrows the guard, so it outlives neither the lock nor a change. This folder is
//! the store's island of `unsafe`: every location that it follows stands in an index or a node
//! table of a locked shard, so its record stays where it is, and no other thread touches it.
//!
//! Every change of user data passes the guard's change point, `before_writing` or `before_removal`,
//! which notifies listeners before the first byte changes.
//!
//! | file | what is there |
//! |---|---|
//! | `shards` | what lies behind the locks |
//! | `locks`, `hold` | which shards are held, and by which thread; locks that are lent |
//! | `change`, `pending` | what changes, who listens, and what is not yet delivered |
//! | `thread_context` | what belongs to one thread |
//! | `guard` | locked shards: finding keys |
//! | `unit` | what a guard records for listeners |
//! | `append` | records that come and go, and all that is counted for them |
//! | `value_ref`, `read_nodes` | reading a value, and nodes of trees |
//! | `nodes` | changing nodes; `collections` and `node_table` tell where they lie |
//! | `collection_mut` | moving and freeing nodes |
//! | `cut`, `frozen` | what a snapshot keeps of what changes |
//! | `settle`, `save` | what is done for it before a change, and by its saver |
//! | `key_mut` | changing a key: its value, its deadline, its removal, its place |
//! | `attributes` | attributes of a string, and a record with room for them |
//! | `visit` | passes over the entries of a shard |
//! | `ahead` | looks without a lock, which are hints alone |

mod ahead;
mod append;
mod attributes;
mod change;
mod collection_mut;
mod collections;
mod cut;
mod found;
mod frozen;
mod guard;
mod hold;
mod key_mut;
mod locks;
mod node_table;
mod nodes;
mod pending;
mod read_nodes;
mod save;
mod settle;
mod shards;
#[cfg(test)]
mod tests;
mod thread_context;
mod unit;
mod value_ref;
mod visit;

pub use ahead::{LOCKS_AHEAD, Sought, WINDOW};
pub use change::{
    Author, Change, Databases, Effect, EffectWords, Event, EventClass, Interests, KeyEvent,
    Listener, OwnedArgs, Presence, Reason, Unit, UnitLog,
};
pub(crate) use collections::{CollectionId, Dying, GivenUp, Noted, parse_node_name};
pub use cut::{Copied, Copies};
pub(crate) use guard::Guard;
pub use hold::Hold;
pub(crate) use key_mut::KeyMut;
pub use locks::ShardSet;
pub(crate) use locks::{Asked, Lent};
pub(crate) use nodes::WriteNodes;
pub(crate) use pending::Pending;
pub(crate) use read_nodes::ReadNodes;
pub(crate) use shards::Shards;
pub(crate) use thread_context::Paid;
pub use thread_context::ThreadContext;
pub(crate) use unit::EVENTS_GATHERED;
pub use value_ref::ValueRef;
pub(crate) use visit::Verdict;
