//! The one ordered stream of units: what the append-only file stores and replicas receive.
//!
//! ```text
//! Lane::take ─▶ place ─▶ Lane::fill ─▶ Lane::withdraw          one lane for each worker
//!                │                         │
//!    tail += length of the unit       announcement gone
//!                │                         ▼
//! [released]──────[whole]════[being filled]════[tail]─ ─ ─▶  positions, in chunks of 1 MiB
//!        ▲       ▲
//!        │       └── Ring::read_from_end, read_from           a consumer is added
//!    Consumer::whole, slice, release                          each goes on at its own speed
//!        │
//!        ▼ one of them is the file's
//! Log::write ─▶ Writer ─▶ incremental file ─▶ SyncJob ─▶ safe
//!   rotate, replace ─▶ Set: manifest, base, incremental files, history
//!                        │
//!                        └─▶ inspect ─▶ AofReader: units again     when a server starts
//! ```
//! A unit is opaque bytes. A position is a byte of the stream, and later the replication offset.
//!
//! 1. The tail is changed by additions alone, so places follow each other without gap or overlap.
//! 2. Each position is filled once, by the lane that took its place, before the lane withdraws.
//! 3. While a lane has places that are not full, its announcement is at or below the first of them.
//! 4. So everything below the tail and all announcements is full: it is whole. What was declared
//!    whole stays so, since later places begin at the tail or behind it.
//! 5. The end of what is whole is the end of a unit: tail and announcements are never anything
//!    else.
//! 6. A chunk has a frame of memory from its first byte that is filled until its last is released.
//! 7. What is released is whole, and no consumer needs it: `released` is never above the position
//!    of a consumer, or above what is whole, and it rises under the lock of the consumers.
//! 8. Without a consumer, what is whole is released at the latest when a lane needs another chunk,
//!    so nothing grows for nobody.
//! 9. Nobody waits: taking a place is an addition, and who finds a chunk without a frame gives it
//!    one. Only a lane a whole table ahead of what is released waits for it, when it fills. The
//!    file's consumer is never that far behind, since writers are stalled before, and before they
//!    take locks; the owner of another consumer asks for `slowest` and dismisses it in time.
//!
//! 10. Bytes that are no data are known as such before they are whole.
//!
//! Of the files: (11) what was acknowledged as safe is in what `inspect` finds whole, whatever
//! power loss or failure follows; (12) of the files that the manifest names, only the last may be
//! torn; (13) after a failed sync nothing is written to that file again.
//!
//! To add a consumer of the journal, beside the file's: `Ring::read_from_end`, in
//! `ring/consumer.rs`. Nobody wakes it, so it looks now and then; there are units only while the
//! server has a reason to put them: a file, or replicas.
//!
//! Owner: the ring. A lane belongs to one thread, and so does each consumer, and the log.
//! Not here: what a unit means (`command`), threads, settings, who waits for which position.
//! Start at: `ring.rs`, then `writer.rs`, `set.rs` and `log.rs`.
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

mod chunks;
mod cut;
pub mod disk;
mod gap_line;
mod history_line;
pub mod inspect;
pub mod log;
pub mod manifest;
mod moment_line;
pub mod reader;
mod ring;
pub mod set;
mod stack;
mod sync;
pub mod sync_line;
pub mod unit;
pub mod writer;

pub use cut::CutMark;
pub use ring::{Consumer, ConsumerId, Lane, Place, ReadFromError, Ring, Slowest};
pub use unit::{Command, Words};

/// Bits of a position that lie within a chunk. Checkers of interleavings have chunks of four bytes.
pub(crate) const CHUNK_BITS: u32 = if cfg!(any(loom, shuttle)) { 2 } else { 20 };
/// Size of a chunk in bytes.
pub const CHUNK_BYTES: usize = 1 << CHUNK_BITS;
