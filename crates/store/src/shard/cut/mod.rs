//! The cut: one moment of which a snapshot keeps every key, while clients go on.
//!
//! ```text
//! shard    | saved ............ | place | not yet ....................... |   by position
//!                                           │ about to change
//!            noted  ◀── position hash ──────┤
//!            handed ◀── copy of the record ─┘ its nodes, if it has any: frozen
//! ```
//! The cut itself notes which keyspaces there are, while the gate is closed, and nothing else. A
//! saver then walks along each shard of each keyspace in the order of position hashes and copies
//! the records that it finds. A thread that changes a key before the saver has come to it hands its
//! record over first.
//!
//! * A key of the cut is **settled** once the walk has passed its position, or its position hash is
//!   noted. It becomes so exactly once, under its shard's lock, and in that moment its record is
//!   copied: by the walk, or by who is about to change it.
//! * Before that nobody changes its record, its entry or its nodes, but for where they lie, the
//!   access history, and of a string a CAS that is drawn and the bit of one that was fetched. Keys
//!   with the very same position hash are settled together.
//! * A key that is born is noted, and never saved: its keyspace is not of the cut, or the walk is
//!   past its position, or its position hash is noted.
//! * Large values are **frozen**: of their nodes the table alone is copied, and of that only
//!   references to its groups (`shard/frozen`). A node is shared while both tables name one
//!   location; a change copies it first, and a move changes both tables. No byte that a frozen
//!   table names counts as dead.
//! * Keyspaces of the cut are kept from lazy free when they are flushed, and frozen collections
//!   when their key goes, until the saver is through. To the cleaner both are alive.
//! * Nobody waits for the saver under a lock.
//!
//! | file | what is there |
//! |---|---|
//! | `unsaved` | what each shard knows of the cut, and what was handed over |
//! | `copies` | copies of records |
//! | `retained` | counts of bytes that only the snapshot retains |
//! | `shard/frozen` | nodes of large values, as they were |
//! | `shard/settle` | handing over before a change |
//! | `shard/save` | the saver's holds |

mod copies;
mod retained;
#[cfg(test)]
mod tests;
mod unsaved;

pub use copies::{Copied, Copies};
pub(crate) use unsaved::Cuts;
pub(super) use unsaved::Unsaved;
