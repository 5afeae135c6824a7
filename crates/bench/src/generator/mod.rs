//! Load on one thread. In a closed loop every connection has one batch of requests in flight and
//! sends the next as soon as the last reply of the batch has arrived; in an open loop batches have
//! due times of their own.
//!
//! Requests of more than a command and a key are written anew by a [`Script`], from a line of text.
//!
//! The generator must cost less than the server it measures. So requests are prepared once and
//! only the digits of their keys are written per operation, and replies are counted, not parsed.

mod answer;
mod arrival;
mod below;
mod connection;
mod key_text;
mod keys;
mod lag;
mod memcached;
mod monitor;
mod open;
mod operation;
mod outcome;
mod permutation;
mod protocol;
mod replies;
mod requests;
mod run;
mod schedule;
mod script;
mod sizes;
mod source;
mod tally;
mod template;
mod wording;
mod zipf;

pub use answer::{Answer, Expected};
pub use arrival::{Arrival, Pace, Spacing, Stop};
pub use connection::{Connection, Progress};
pub use key_text::{KEY_BYTES, KEY_COUNT_MAX};
pub use keys::{KeyChoice, Keys, shuffled};
pub use lag::Lag;
pub use memcached::MemcachedCounter;
pub use monitor::Monitor;
pub use open::SHORTEST_SLEEP;
pub use operation::{Deadlines, Operation};
pub use outcome::{Ended, Outcome};
pub use protocol::Protocol;
pub use replies::{Replies, ReplyCounter, Unexpected};
pub use requests::{RequestShape, Requests};
pub use run::Generator;
pub use script::{Script, ScriptShape};
pub use sizes::{VALUE_BYTES_MAX, ValueSize};
pub use source::{Drawn, Source};
