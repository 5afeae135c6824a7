//! Foundation of all other crates: units, time, hashing, locks, memory of the operating system.
//!
//! ```text
//! units   Location, PositionHash, Millis, Tick ...   one type per unit
//! memory  Reservation, PageBytes                     address space that is touched lazily
//! lock    Lock        gate  Gate                     one shard; everything at once
//! meanwhile                                      others who are served during a long wait
//! contention  Waits                              waits for locks, where they are counted
//! key_filter  KeyFilter                          most keys that a table does not have
//! outbox  Outbox                                 messages behind the replies before them
//! wake    WakeState                                  wake-ups of an event loop
//! clock   Clock       random  Random                 time and random numbers, as arguments
//! pacer   Pacer                                      work in the background, in pieces
//! spool   Spool                                      bytes in files without a name
//! ```
//!
//! Owner: nobody; these are values and tools.
//! Not here: anything that knows of records, keys or clients.
//! Start at: `units.rs`, then `lock.rs`.
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

pub mod clock;
pub mod contention;
pub mod gate;
pub mod hash;
pub mod key_filter;
pub mod lock;
pub mod meanwhile;
pub mod memory;
pub mod mutex;
pub mod outbox;
pub mod pacer;
pub mod process;
pub mod random;
#[cfg(shuttle)]
mod shuttle_futex;
pub mod spool;
pub(crate) mod sync;
pub mod units;
pub mod wake;

pub use clock::{Clock, CoarseSteady, Stopwatch};
pub use gate::{Gate, GateMember};
pub use hash::KeyHasher;
pub use key_filter::KeyFilter;
pub use lock::{Lock, LockGuard};
pub use memory::{PageBytes, Reservation};
pub use outbox::Outbox;
pub use pacer::Pacer;
pub use random::Random;
pub use spool::Spool;
pub use units::{KeyspaceId, Location, Millis, PositionHash, SegmentId, ShardId, Steady, Tick};
pub use wake::WakeState;
