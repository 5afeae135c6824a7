//! Closed-loop load on one thread: every connection has one batch of requests in flight and
//! sends the next as soon as the last reply of the batch is there.
//!
//! The generator must cost less than the server it measures. So requests are prepared once and
//! only the digits of their keys are written per operation, and replies are counted, not parsed.

mod connection;
mod keys;
mod replies;
mod requests;
mod run;

pub use connection::{Connection, Progress};
pub use keys::{KeyChoice, Keys, shuffled};
pub use replies::{Replies, ReplyCounter, Unexpected};
pub use requests::{
    Deadlines, Expected, KEY_BYTES, KEY_COUNT_MAX, Operation, RequestShape, Requests, ValueSize,
};
pub use run::{Generator, Outcome, Stop};
