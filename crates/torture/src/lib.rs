//! Servers under random commands, from outside: what no transcript thought of.
//!
//! ```text
//! differential ──same commands──▶ Varve, a reference server     replies and values are compared
//! hammer       ──many at once───▶ Varve                         invariants are checked at the end
//! ```
//!
//! Owner: each run owns the servers that it starts and the seed that it prints.
//! Not here: figures (`bench`), single commands with known replies (`tests/transcripts`).
//! Start at: [`client`], then [`differential`] or [`hammer`].
#![forbid(unsafe_code)]

pub mod client;
pub mod differential;
pub mod hammer;
