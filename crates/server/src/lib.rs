//! Composition root: makes the parts, gives each its handles, and runs the threads.
//!
//! ```text
//! main ──▶ start ──▶ listeners ──▶ worker 0 accepts, deals connections out
//!            │                        │ mailbox
//!            ├──▶ worker 1..n: ┌ event_loop   poller, inbox, connections, acceptor, timers
//!            │                 │     │ lends connections, one or a group of them
//!            │                 │     ▼
//!            │                 └ pipeline     read, batch ──▶ executor: thread, counts, replies
//!            │                                                    └──▶ command::execute
//!            ├──▶ handshakes of TLS, which give connections to workers
//!            ├──▶ background jobs: expiry, aging, cleaning at rest, limits, samples, save points
//!            ├──▶ saver: snapshots, one at a time
//!            ├──▶ sender: replicas, which workers hand to it
//!            └──▶ link: the primary, if one is followed
//! ```
//! A worker owns its connections and runs their commands to completion on any shard.
//!
//! Owner: nobody; nothing imports this crate but its own program.
//! Not here: what commands do (`command`), what is stored (`store`).
//! Start at: `start.rs`, then `worker.rs`, `event_loop.rs`, `pipeline.rs`, `executor.rs`.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

mod accept;
mod background_jobs;
mod background_process;
mod balance;
mod batch;
mod claim;
mod connection;
mod connections;
mod descriptors;
mod door;
mod durability;
mod end;
mod event_loop;
mod executor;
mod follow_settings;
mod front;
mod group;
mod journal;
mod judge;
mod kept_files;
mod limits;
mod link;
mod listen;
mod listeners;
mod load;
mod log_file;
mod log_line;
mod logging;
mod mail;
mod migrate;
mod oom_score;
mod other_memory;
mod output;
mod own_files;
mod peer_stream;
mod pipeline;
mod poller;
mod query;
mod replicas;
mod saver;
mod service_manager;
mod services;
mod signals;
mod start;
mod stream;
mod stream_in_files;
mod timers;
mod tls;
#[cfg(feature = "tls")]
mod tls_stream;
#[cfg(not(feature = "tls"))]
#[path = "no_tls_stream.rs"]
mod tls_stream;
mod users;
mod worker;

pub use judge::{Judgement, judge, judge_libraries};
pub use start::{StartError, run};
