//! RESP2 and RESP3: requests in, replies out.
//!
//! ```text
//! bytes read ──▶ RequestParser ──spans──▶ the arguments, in place
//!                     │ refused
//!                     ▼
//!               ProtocolError ──▶ Reply ──▶ bytes to write
//! ```
//!
//! Owner: the connection holds one parser and the buffers; this crate keeps no bytes of a multibulk
//! request.
//! Not here: sockets and buffers (`server`), what a command means (`command`), number texts
//! (`text`).
//! Start at: `request.rs`, then `reply.rs`.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

mod error;
mod lengths;
mod lent;
mod reply;
mod request;

pub use error::ProtocolError;
pub use lent::{Lent, LentBytes};
pub use reply::{Mark, Protocol, Reply};
pub use request::{Limits, Progress, RequestParser, Span};
