//! What a primary and its replicas say to each other, and what they conclude from it.
//!
//! ```text
//! replica                                             primary
//! Handshake   PING, AUTH, REPLCONF ...  ───────────▶  Reader
//!             PSYNC id offset           ───────────▶  History::decide
//!             +CONTINUE [id]            ◀───────────    the bytes from that offset on are kept
//!             +FULLRESYNC id offset     ◀───────────    or a snapshot comes first
//! Transfer    $EOF:mark, or $length     ◀───────────
//! Units       the stream                ◀───────────
//!             REPLCONF ACK offset       ───────────▶  Said
//! ```
//! An offset counts bytes of the stream. PSYNC names the first byte that a replica lacks, and the
//! stream's first byte is 1 there: a replica that has `n` bytes asks for `n + 1`.
//!
//! Owner: the server, and a program that follows one.
//! Not here: sockets, time, the store; where bytes of the stream are kept (`journal`).
//! Start at: `history.rs`.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

pub mod handshake;
pub mod history;
pub mod names;
pub mod reader;
pub mod spoken;
pub mod transfer;
pub mod units;

pub use handshake::{Handshake, Next, Own, Synced};
pub use history::{Decision, Earlier, FullSync, History};
pub use journal::sync_line::ReplicationId;
pub use names::Names;
pub use reader::{Filter, Reader, Unusable};
pub use spoken::Said;
pub use transfer::{Ending, Transfer};
pub use units::{NoUnit, Unit, UnitCommand, Units};
