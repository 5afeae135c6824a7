//! The journal at work: units of all threads in one ring, written to files by one thread, made safe
//! by another.
//!
//! ```text
//! worker ── unit ──▶ lane ──▶ ring ──▶ writer ──▶ file ──▶ syncer
//!   │                          │          │                  │
//!   │ changes are stalled ◀────┘ far      │ written          │ safe
//!   └ replies wait for their position ◀───┴──────────────────┘
//! ```
//! A thread puts a unit while it holds the unit's locks, and goes on. Under `appendfsync always`
//! the reply of a change is marked with the unit's position, and leaves when that is safe: one sync
//! for all who wait. While more than the budget waits for the disk, changes are stalled before
//! they take locks. With the journal off nothing is copied; turning it on and off happens while the
//! gate is closed.
//!
//! Changes that were stalled go on in the order in which they came. Much at a time is written
//! past the cache of the system; under `appendfsync always` the file has padding ahead, which
//! written bytes replace.
//!
//! Owner: the thread of the writer, which has the file's consumer of the ring, and the files.
//! Start at: `writer.rs`.

mod base_job;
mod begin;
mod claim;
mod disk_thread;
mod ending;
mod failure;
mod history;
mod lane;
mod latency;
mod opening;
mod policy;
mod reasons;
mod retry;
mod rotation;
mod shared;
mod sync;
mod wake;
mod writer;

pub use begin::{Begin, UnsafeEnd};
pub use claim::append_folder;
pub use ending::Ending;
pub use reasons::Reason;
pub use shared::Journal;
pub use writer::JournalThread;
