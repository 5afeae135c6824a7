//! Keyspaces and values: what a key means, kept in segments and found through the index.
//!
//! ```text
//! Store::lock ──▶ Access ──▶ Guard ──▶ index (where), heap (bytes), node tables    commands
//! upkeep      ──▶ cleaner, eviction ─────┘ │                                       space
//! background  ──▶ expiry, aging, lazy free ┘                                       time
//! ```
//! A command locks the shards of its keys, and through the resulting `Access` reads and changes
//! values. Everything that touches a record, commands and work in the background alike, does so
//! through a guard of its shard: `shard` is the one door, and the island of `unsafe`.
//!
//! Owner: the server, which hands a `&Store` and a `ThreadContext` to every thread.
//! Not here: arguments and replies (`command`), bytes of records (`heap`), buckets (`index`).
//! Start at: `shard/mod.rs`, then `access.rs`, then `cleaner.rs`.
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

mod access;
mod aging;
mod aside;
mod attributes;
mod beside;
mod budget;
mod cleaner;
mod counters;
mod cut;
mod databases;
mod deadlines;
pub mod eviction;
mod expiry;
mod fault;
mod key;
mod keyspaces;
mod lazy_free;
mod lifecycle;
mod limits;
mod pieces;
mod reserve;
mod scan;
mod shard;
mod store;
mod survivors;
pub mod value;

pub use access::Access;
pub use aside::Aside;
pub use attributes::{Attributes, Cas};
pub use beside::Beside;
pub use budget::Limits;
pub use counters::Totals;
pub use cut::{Cut, CutDatabase};
pub use databases::{Flush, KeyspaceFacts};
pub use deadlines::Deadlines;
pub use eviction::EvictionPolicy;
pub use expiry::{Looking, Swept};
pub use fault::{Fault, NoSpace, WrongKind};
pub use heap::ReclaimPolicy;
pub use key::{Encoding, Expiry, Key, Kind, Value};
pub use packed::Element;
pub use pieces::Pieces;
pub use scan::{ScanFilter, Scanned};
pub use shard::{
    Author, Change, Copied, Copies, Databases, Effect, EffectWords, Event, EventClass, Hold,
    Interests, KeyEvent, LOCKS_AHEAD, Listener, OwnedArgs, Presence, Reason, ShardSet, Sought,
    ThreadContext, Unit, UnitLog, ValueRef, WINDOW,
};
pub use store::{Store, StoreConfig};
