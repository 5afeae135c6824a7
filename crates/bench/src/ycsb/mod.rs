//! YCSB: its core workloads, and its connectors for Redis and Memcached.
//!
//! ```text
//! properties ──▶ Workload ──▶ Talk (requests of one operation) ──▶ Clients ──▶ EventLoop
//! ```
//! Operations and their frequencies are those of YCSB. Clients are not threads as in YCSB but
//! connections of one thread, so that two cores are enough for server and clients.

mod client;
mod properties;
mod talk;
mod workload;

pub use client::{ByKind, Plan, play};
pub use properties::Properties;
pub use workload::{Kind, Workload};
