//! The link to a primary: one thread connects, takes its snapshot, and applies its stream.
//!
//! ```text
//! REPLICAOF ─▶ Roles ─▶ role ─▶ thread "link" ─▶ connect ─▶ Handshake
//!                                                  ├─ +FULLRESYNC ─▶ (file) ─▶ beside the old data
//!                                                  └─ +CONTINUE
//! socket ─▶ Units ─▶ Follower: applied ─▶ ring: the same bytes at the same offsets ─▶ ACK
//! ```
//! 1. A unit is applied and put into the stream within one stay in the gate, so a cut, an
//!    acknowledgement and a promotion agree on what the server has.
//! 2. What is not whole of a unit counts for nothing.
//! 3. Of what this server's own commands would say nothing is put while a primary is followed.
//! 4. The role changes in the closed gate; connecting, loading and writing of files come after it.
//! 5. The old data stays until that of the primary is there, and comes back if that fails.
//!
//! Owner: the thread `link`, which has the socket, a lane and the client of the link.
//! Not here: what is said (`replication`), how a unit runs (`command::Follower`).
//! Start at: `thread.rs`, then `follow.rs`.

mod follow;
mod incoming;
mod keep;
mod load;
mod roles;
mod socket;
mod thread;

pub use roles::Roles;
pub use thread::Link;
