//! Replicas of this server: one thread serves all of them, from the ring of the journal.
//!
//! ```text
//! worker ── PSYNC ──▶ Door ──▶ sender ──▶ History::decide ──▶ the stream, from the Backlog
//!                                │                        └─▶ a snapshot first
//!                                │    saver ─▶ Parcel (memory, then a file) ─▶ sockets
//!                                ◀── ACK ──▶ WAIT, INFO, min-replicas-to-write
//! ```
//! A replica is a position in the stream. Nothing is buffered for it: what it lacks is in the ring,
//! as far back as `repl-backlog-size`, and in files without a name behind that. So one that is slow
//! costs disk, and neither memory nor the time of clients. One that was lost keeps its place for
//! `repl-backlog-time`, and what its files have of before a start is read again when one asks. A
//! snapshot goes to its sockets while it is made; what the slowest has not taken of it goes to such
//! a file too, so the saver waits for nobody.
//!
//! 1. Nobody but the sender writes to replicas or reads from them; it waits for no socket.
//! 2. It sends what is whole, and with an append-only file what was written to that: a killed
//!    process comes back with all that its replicas have.
//! 3. It holds no lock of a shard, and is outside the gate but for a few instructions.
//! 4. Positions of replicas are at or behind the begin of the backlog.
//!
//! Owner: the thread `sender`, which has the connections, the backlog and a lane.
//! Not here: what is said (`replication`), units (`journal`), who waits (`command::acknowledge`).
//! Start at: `sender.rs`, then `link.rs`, `backlog.rs`.

mod admission;
mod backlog;
mod failover;
mod link;
mod pace;
mod parcel;
mod sender;
mod sync;
mod syncing;
mod throttle;
mod upkeep;

pub use sender::{ReplicaSender, new_id};
pub use upkeep::disk_max;
