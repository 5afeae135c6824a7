//! Starts servers with equal settings, each on its cores, and stops them.
//!
//! | file | what |
//! |---|---|
//! | `program` | a server that can be started, by its command line |
//! | `launch` | threads, cores and options of one start, as each kind of server takes them |
//! | `server` | one that runs: waited for, asked, ended |
//! | `ended` | what is known of those that ended by themselves |
//! | `pid` | which process serves a port |
//! | `peers` | the script that runs the servers Varve is compared with, and all by their names |

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
