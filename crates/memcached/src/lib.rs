//! Memcached's text and meta protocol: requests in.
//!
//! ```text
//! bytes read ──▶ RequestParser ──spans──▶ Command and its words, in place
//!                     │ refused                 │ mg, ms, md, ma
//!                     ▼                         ▼
//!                 Refusal ──▶ error line    meta: the flags, typed
//! ```
//! A line of many keys leaves the parser as several requests of at most [`KEYS_MAX`] keys. A data
//! block that nobody wants is dropped as it comes, and is kept nowhere.
//!
//! What stands in the tests as measured was asked of a Memcached 1.6.45 over a socket. It differs
//! on purpose where results would depend on the pieces in which bytes arrive, or service would be
//! worse:
//!
//! | case | Memcached 1.6.45 | here |
//! |---|---|---|
//! | line above 2,048 bytes, not of keys, in one read | is read | closed, as in several reads |
//! | line of gat or gats above 2,048 bytes in several reads | closed | is read, as in one read |
//! | refused line with a data block | answered behind the block | answered before it |
//! | `me KEY b` | KEY as it stands | KEY decoded |
//! | `ma` with an opaque text that is too long | other errors first, done before | refused |
//! | not authenticated: a line of 6 bytes or fewer | closed | `CLIENT_ERROR unauthenticated` |
//!
//! Owner: the connection holds one parser and the buffers; this crate keeps no bytes of a request.
//! Not here: the binary protocol, sockets and buffers (`server`), what a command does (`families`).
//! Start at: `request.rs`, then `request/text.rs` and `meta.rs`.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

pub mod base64;
mod command;
pub mod meta;
pub mod number;
mod percent;
mod refusal;
pub mod reply;
mod request;
mod words;

pub use command::Command;
pub use percent::percent_encode;
pub use refusal::Refusal;
pub use request::{Arriving, KEYS_MAX, Limits, Progress, Refused, Request, RequestParser, Resume};
pub use words::{KEY_BYTES_MAX, is_word};
