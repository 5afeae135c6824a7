//! Load: clients on one thread, driven by one event loop.
//!
//! ```text
//! Load ──▶ Sender ─┐   next: a batch, or when to ask again
//!          Probe ──├──▶ EventLoop ──▶ Connections ──▶ server
//!          Ycsb  ──┘◀──                ReplyReader ◀──
//!                      heard: the replies of a batch
//! ```
//! A [`Client`] is a kind of connections: it determines what they send and when, and takes what
//! comes back. Several kinds share a thread, so that none is delayed by a second thread of the
//! clients.
//!
//! The generator must cost less than the server that it measures: requests are written from
//! templates into one buffer, and replies are counted, not parsed.
//!
//! | file | what |
//! |---|---|
//! | `event_loop` | the loop and its connections, and what a client is |
//! | `load`, `sender` | requests, keys and pace as data; the client that sends them |
//! | `probe` | a client that looks for pauses |
//! | `schedule`, `outcome` | due times and delays; what was measured |
//! | `keys`, `sizes`, `template` | what requests are made of |

mod event_loop;
mod keys;
mod load;
mod outcome;
mod probe;
mod schedule;
mod sender;
mod sizes;
mod template;

pub use event_loop::{Batch, Client, EventLoop, Received};
pub use keys::{Keys, shuffled};
pub use load::{Arrival, KeyChoice, Load, Stop};
pub use outcome::{Meter, Monitor, Outcome, quantile_us};
pub use probe::{Moment, Pause, Probe};
pub use schedule::{Lag, Turn};
pub use sender::Sender;
pub use sizes::Sizes;
pub use template::{Chance, Template};
