//! The null server, and the program that measures Varve beside its peers.
//!
//! ```text
//! varve-bench ──▶ scenario ──▶ servers (start, pin, stop) ──▶ a process under test
//!                    │                                              ▲        │
//!                    ├────▶ generator (load over TCP) ──────────────┤        │
//!                    ├────▶ valkey_benchmark (beside it) ───────────┤        │
//!                    ├────▶ sink, feed (its replica, its primary) ──┤        │
//!                    ├────▶ moving (its clients, to another one) ───┤        │
//!                    ├────▶ ycsb (its workloads and connectors) ────┘        │
//!                    ├────▶ process (CPU and resident memory) ◀── /proc ─────┘
//!                    └────▶ report (tables and aims) ──▶ text, Markdown, JSON, HTML
//! ```
//!
//! Owner: measurement of figures, comparison with aims, and recording of results.
//! The server under test is a black box: a command line, a TCP port and a process id.
//!
//! Not here: anything that Varve itself uses. No product crate is imported, so that a fault
//! in the product cannot also bend the ruler.
//!
//! Start at: [`scenario`] for the measurements, [`generator::Generator::run`] for the load,
//! [`ycsb`] for the workloads of YCSB, [`null`] for the lower limit that every server is compared
//! with.
#![forbid(unsafe_code)]

mod address;
mod audience;
mod certificates;
pub mod cli;
mod control;
#[cfg(test)]
mod fake;
mod feed;
mod generator;
mod measure;
mod moving;
pub mod null;
pub mod process;
mod protocol;
mod replies;
mod report;
mod sampler;
mod scenario;
pub mod servers;
mod sink;
mod socket;
mod statistics;
mod valkey_benchmark;
mod ycsb;

pub use address::{Address, Stream};
pub use certificates::Certificates;

/// Readers of what servers and files hold, for the fuzz targets.
pub mod fuzzed {
    pub use crate::protocol::Protocol;
    pub use crate::replies::{Replies, ReplyReader, Value};
}
