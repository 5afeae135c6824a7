//! Transactions: commands that a client queues, and keys that it watches, from WATCH and MULTI to
//! EXEC.
//!
//! ```text
//! MULTI ──▶ admission lacks NO_TRANSACTION ──▶ each command is copied into the queue
//! EXEC  ──▶ room for all ──▶ locks of all keys, of watched keys, and of keys of woken waiters
//!           ──▶ nothing watched has changed? ──▶ the commands, one by one ──▶ woken waiters
//!           locks go: all that is one unit
//! ```
//! The queue is part of the session, since only its worker sees it. Watched keys stand in a table;
//! a thread that changes a key looks there, under the lock of the key.

mod queue;
mod watch;

pub use queue::Queue;
pub use watch::{Watches, Watching};
