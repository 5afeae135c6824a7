//! Starts servers with equal settings, each on its cores, and stops them.
//!
//! | file | what |
//! |---|---|
//! | `program` | a server that can be started; the peers, and all servers by their names |
//! | `launch` | threads, cores and options of one start, for each kind of server |
//! | `server` | a running server: start, queries, end |

mod launch;
mod program;
mod server;

pub use launch::{Kind, Launch};
pub use program::{Peers, Program};
pub use server::Server;
