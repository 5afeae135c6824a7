//! Who is connected, what they may, and who is notified.
//!
//! ```text
//! instance                            handles to all parts, shared by all workers
//! clients, client, session            the registry; a client as others see it; as its worker does
//! access_control, acl_log             users, and what they were denied
//! needs                               what is granted: admission asks it
//! transaction, waiters, acknowledged  what a client has queued, watches, waits for
//! pubsub, tracking, notifications, monitors   who is notified of what
//! letter, message, notice, receivers  how clients are notified: by mail to the workers
//! statistics, observing               what is counted and noted
//! loading, saving, journal_state      the state of files, as clients see it
//! replicas, upstream                  who follows the stream of changes, and which one this does
//! scripts                             sources of scripts, and interpreters
//! libraries                           functions, and interpreters for them
//! ```
//! Nothing here knows a command: handlers and what runs them stand above.
//!
//! Owner: the server makes one `Instance`, and a `Session` for each connection.
//! Not here: commands (`command`, `families`), sockets and threads (`server`).
//! Start at: `instance.rs`, then `client.rs`, then `session.rs`.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

mod access_control;
mod access_modes;
mod acknowledged;
mod acl_log;
mod apart;
mod args;
mod carrier;
mod client;
pub mod client_eviction;
mod client_flags;
mod client_info;
mod client_memory;
mod clients;
mod count;
mod data_files;
mod database_key;
mod departures;
mod errors_below;
mod failover;
mod flood;
mod identity;
mod instance;
mod journal_state;
mod letter;
mod libraries;
mod line;
mod loading;
mod local_deadlines;
mod memcached_counts;
mod memory_facts;
mod message;
mod monitors;
mod needs;
mod notice;
mod notifications;
mod observing;
mod pause;
mod pending_flush;
mod place;
mod pubsub;
mod rare_bytes;
mod rates;
mod receivers;
mod refusal;
mod replicas;
mod saving;
mod scripts;
mod session;
mod shutdown;
mod sparse;
mod statistics;
mod tls_facts;
mod tracking;
mod transaction;
mod troubles;
mod upstream;
mod value_limits;
pub mod versions;
mod waiter;
mod waiters;

pub use access_control::{AccessControl, Found};
pub use access_modes::AccessModes;
pub use acknowledged::{Place, Wanted};
pub use acl_log::{AclLog, AclLogEntry, DeniedFor, DeniedNow, DeniedWithin};
pub use apart::Apart;
pub use args::{Args, write_request};
pub use carrier::{Carrier, Migration, Parcel, Target};
pub use client::{Client, ClientFlags, Endpoint, Owner};
pub use client_memory::Peak;
pub use clients::Clients;
pub use count::Count;
pub use data_files::{Reload, Rewrite};
pub use database_key::DatabaseKey;
pub use departures::Departure;
pub use failover::{Attempt, Failover, FailoverPhase};
pub use identity::Identity;
pub use instance::{DataFiles, Instance, NoDataFiles};
pub use letter::Letter;
pub use libraries::{Callee, Conflict, Libraries, Library, LibraryTable, OwnLibraries};
pub use line::{CurrentLine, Line, LineParts};
pub use memcached_counts::{MemcachedCounts, MemcachedTotals};
pub use memory_facts::{BASE_BYTES, MemoryFacts};
pub use message::{LARGE_PAYLOAD, Message, MessageBytes, Payload, SharedBytes};
pub use needs::{Needs, Troubles};
pub use notice::{Answer, Notice, Post};
pub use observing::{Distribution, Entry, LogKind, Sample, Series};
pub use pause::{Holder, Pause};
pub use pending_flush::PendingFlush;
pub use pubsub::{Name, PubSub, Topic};
pub use refusal::{Refusal, begin_of, begin_of_all};
pub use replicas::{Outlook, Phase, Replica, Replicas, Stream, StreamRequest, SyncFacts};
pub use saving::{Asker, Begun, Cancelled, SaveFacts, SavingFacts, When};
pub use scripts::{
    Digest, LongRun, LongRuns, OwnInterpreter, Parts, Reach, Room, Script, ScriptCache, Scripts,
    ShebangError, Stage, declared, library_options, log, script_options,
};
pub use session::{ReplyMode, Session};
pub use shutdown::{Shutdown, ShutdownRequests};
pub use statistics::{CommandTotals, MemcachedSums, WorkerStatistics};
pub use tls_facts::{CertificateFacts, Certificates, TlsFacts};
pub use tracking::{OwnTracking, Prefix, Tracker, TrackingOptions};
pub use transaction::Queue;
pub use troubles::WriteTroubles;
pub use upstream::{LinkState, Primary, Upstream, UpstreamFacts, WantedRole};
pub use value_limits::{
    checks_version, hash_limit, list_limit, set_limit, sorted_set_limit, timed_version,
    value_limits,
};
pub use versions::VALKEY as VALKEY_VERSION;
pub use waiter::{ClientState, Late, Request, State, Waiter, Wants};
pub use waiters::Waiters;
