//! YCSB: its core workloads, and its connectors for Redis and Memcached.
//!
//! ```text
//! properties ──▶ workload (which record, what with it) ──▶ connector (requests, replies)
//!                   ▲      ▲                                    │
//!                choose  record                 client (one operation each on its way)
//! ```
//! Operations and their frequencies are those of YCSB. Clients are not threads as in YCSB but
//! connections of one thread, so that two cores are enough for server and clients.

pub mod choose;
pub mod client;
pub mod connector;
pub mod measured;
pub mod memcached;
pub mod properties;
pub mod record;
pub mod redis;
pub mod resp;
pub mod summary;
pub mod workload;
