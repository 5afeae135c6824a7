//! Clients that wait for keys: BLPOP and its like.
//!
//! ```text
//! handler finds nothing ──▶ Wait::begin, under the locks of its keys ──▶ a line per key
//! a write touches a key that somebody waits for ──▶ serve: the first in its line runs again,
//!                                                   before the locks of the key go
//! timeout, CLIENT UNBLOCK, disconnect ──▶ out of all lines
//! its turn comes in a pause ──▶ postponed: it runs when the pause is over
//! ```
//! A waiter keeps its whole request, and a thread that writes to one of its keys runs the request
//! once more for it. It joins the lines before the locks of its keys are released, so no write is
//! missed. Its state makes sure that it gets one answer.
//!
//! The thread that writes holds the locks of its keys, and of all keys that the waiters it may
//! serve name, while it runs its own command and then theirs, first come, first served: so no other
//! client takes an element in between. The workers of the waiters send the replies, and know when
//! each wait ends (`timers` of the server).

mod serve;
mod timeout;
mod touched;
mod wait;

pub use serve::rerun::count_unserved;
pub use serve::{
    Waker, has_lines, look_again, resume_postponed, run, run_gathering, run_unit, serve_all,
    serve_losses,
};
pub use timeout::Timeout;
pub use touched::{Gathered, Request, Touch, begin_of_lines};
pub use wait::Wait;
