//! Random commands against servers, from outside, for cases that no transcript covers.
//!
//! ```text
//! differential ──same commands──▶ Varve, a reference server     replies and values are compared
//! hammer       ──many at once───▶ Varve                         invariants are checked at the end
//! caches       ──reads, writes──▶ Varve                         no cache keeps an old value
//! effects      ──what is told──▶ a follower, live peers          data are compared
//! histories    ──transactions──▶ Varve                          some order explains all replies
//! rounds       ──random commands─▶ Varve with files              data are compared elsewhere
//! ```
//!
//! Owner: the servers that a run starts, and the seed that it prints.
//! Not here: figures (`bench`), single commands with known replies (`tests/transcripts`).
//! Start at: [`client`], then [`differential`] or [`hammer`].
#![forbid(unsafe_code)]

mod addresses;
pub mod caches;
pub mod client;
pub mod differential;
pub mod effects;
pub mod hammer;
pub mod histories;
pub mod rounds;
