//! Keyspaces and values: what a key means, kept in segments and found through the index.
//!
//! ```text
//! Store::lock ──▶ Access ──▶ index (where) ──▶ heap (bytes)        commands, under shard locks
//! upkeep      ──▶ cleaner, eviction                                space, between commands
//! chores      ──▶ expiry, aging, reaper                            time, off the workers
//! ```
//! A command locks the shards of its keys, and through the resulting `Access` reads and changes
//! records. Everything else that touches a record (cleaner, expiry, reaper) locks its shard too.
//!
//! Owner: the server, which hands a `&Store` and one `Lane` to every thread.
//! Not here: arguments and replies (`command`), bytes of records (`heap`), lines (`index`).
//! Start at: `access/mod.rs`, then `locks.rs`, then `cleaner.rs`.

mod access;
mod aging;
mod budget;
mod cleaner;
mod counters;
mod databases;
pub mod eviction;
mod expiry;
mod key;
mod keyspaces;
mod lane;
mod lifecycle;
mod limits;
mod reaper;
mod reserve;
mod scan;
mod shard;
mod store;
pub mod value;

pub use access::{Access, Expiry, Fault, NoSpace, WrongKind};
pub use budget::Limits;
pub use counters::Totals;
pub use databases::KeyspaceFacts;
pub use eviction::EvictionPolicy;
pub use key::{Encoding, Key, Kind, Value};
pub use lane::Lane;
pub use packed::Element;
pub use scan::{ScanFilter, Scanned};
pub use shard::{ShardSet, Sought};
pub use store::{Store, StoreConfig};
