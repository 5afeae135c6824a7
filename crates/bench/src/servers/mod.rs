//! Starts servers with equal settings, each on its cores, and stops them.
//!
//! | file | what |
//! |---|---|
//! | `program` | a server that can be started, given by its command line |
//! | `launch` | threads, cores and options of one start, for each kind of server |
//! | `server` | a running server: start, queries, end |
//! | `ended` | servers that ended by themselves |
//! | `pid` | process that serves a port |
//! | `peers` | the script that runs the peers, and all servers by their names |

mod ended;
mod launch;
mod peers;
mod pid;
mod program;
mod server;

pub use launch::{Kind, Launch};
pub use peers::Peers;
pub use pid::ask_pid;
pub use program::Program;
pub use server::Server;
