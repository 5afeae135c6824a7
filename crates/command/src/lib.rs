//! The table of commands and their families.
//!
//! ```text
//! request ──▶ RowMemo::find ──▶ admit ──▶ family handler ──▶ Access (store) ──▶ Reply (wire)
//!                                 └─ a named refusal
//! ```
//! A command is a row of its family's table and a handler beside it. Handlers deal with arguments
//! and replies, not with memory layout. The row holds every fact about the command; no other list
//! names it. The effect on values is implemented in `store::value`.
//!
//! ```text
//! execute, exec, waiting::serve       run commands
//! manual                              tells about all of them
//! commands                            the table of all families
//! family/*                            rows and handlers
//! outstanding                         commands that others answer
//! call, waiting::wait, own_changes    one command at work
//! notifications, tracking, observing, monitors   what others see of it
//! instance, session, statistics       what it works on
//! pubsub, transaction, waiting::lines subscriptions, watched keys, waiting lines
//! receivers, acknowledged             who gets messages, who waits for the disk
//! table, spec, key_spec, argument_fact, needs   what a row is; knows neither calls nor families
//! ```
//! A module uses those below it.
//!
//! Owner: the server makes one `Instance`, and each of its workers runs calls.
//! Not here: sockets, threads and event loops (`server`), what values are (`store`).
//! Start at: `spec.rs`, then `call.rs`, then `family/string/read.rs`, then `execute.rs`.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

mod access_modes;
mod acknowledge;
mod acknowledged;
mod admission;
mod applier;
mod args;
mod argument_fact;
mod call;
mod carrier;
mod client;
mod client_eviction;
mod client_flags;
mod client_info;
mod client_memory;
mod clients;
mod commands;
mod count;
mod database_key;
mod departures;
mod effects;
mod element;
mod exec;
mod execute;
mod family;
mod file_commands;
mod find_row;
mod flood;
mod identity;
mod instance;
mod journal_state;
mod key_spec;
mod letter;
mod libraries;
mod loading;
mod manual;
mod message;
mod migration;
mod monitor_lines;
mod monitors;
mod needs;
mod notice;
mod notifications;
mod observer;
mod observing;
mod outstanding;
mod own_changes;
mod pause;
mod place;
mod pubsub;
mod rates;
mod receivers;
mod refusal;
mod run;
mod saving;
mod secrets;
mod session;
mod sparse;
mod spec;
mod statistics;
pub mod syntax;
mod table;
#[cfg(test)]
mod testing;
mod tips;
#[cfg(test)]
mod told;
mod tracking;
mod transaction;
mod value_limits;
mod versions;
mod waiter;
mod waiters;
mod waiting;

pub use access_modes::AccessModes;
pub use acknowledge::{settle_acknowledged, time_out};
pub use admission::granted_for_batch;
pub use applier::{Applier, Next};
pub use args::Args;
pub use call::{Call, Command, Environment, Handler, Invocation, Keys, Outcome, Row, Table, Turn};
pub use carrier::{Carrier, Migration, Parcel, Target};
pub use client::{Client, ClientFlags, ClientInfo, Endpoint, Owner};
pub use client_memory::{MemorySum, Peak, RecentPeaks};
pub use clients::Clients;
pub use commands::table;
pub use count::Count;
pub use database_key::DatabaseKey;
pub use departures::{Departure, Departures};
pub use execute::execute;
pub use family::forget_all;
pub use file_commands::{Followed, NotApplied, changes_data};
pub use find_row::RowMemo;
pub use identity::Identity;
pub use instance::{DataFiles, Instance, NoDataFiles, Reload, Rewrite, Shutdown};
pub use journal_state::{JournalState, Rewrites};
pub use key_spec::{FindKeys, FoundKeys, KeyFlags, KeySearch, KeySpec};
pub use letter::{Letter, Receiver};
pub use libraries::Libraries;
pub use loading::{Loading, LoadingFacts};
pub use manual::manual;
pub use message::{Message, MessageBytes, SharedBytes};
pub use migration::Settled;
pub use monitor_lines::tell_monitors;
pub use needs::{Grants, Needs, Troubles};
pub use notice::{Answer, Notice, Nowhere, Post};
pub use observer::{Observer, Seen};
pub use outstanding::Outstanding;
pub use own_changes::tell_behind_answer;
pub use pause::Pause;
pub use pubsub::{PubSub, Subscriptions, Topic};
pub use rates::Rates;
pub use refusal::Refusal;
pub use run::Execution;
pub use saving::{Asker, Begun, Cancelled, SaveFacts, SavingFacts, When};
pub use session::{ReplyMode, Session};
pub use spec::{Categories, CommandSpec, Flags, Group, Locks, Wakes};
pub use statistics::{
    CommandCounts, CommandTotals, ServerCounts, ServerTotals, Statistics, Sums, WorkerStatistics,
};
pub use tracking::{Tracking, TrackingOptions};
pub use transaction::Watches;
pub use value_limits::{checks_version, timed_version, value_limits};
pub use versions::VALKEY as VALKEY_VERSION;
pub use waiter::Waiter;
pub use waiters::Waiters;
pub use waiting::{count_unserved, resume_held_back, serve_losses};
