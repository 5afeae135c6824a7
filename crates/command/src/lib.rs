//! What a command is, and how it runs.
//!
//! ```text
//! request ──▶ RowMemo::find ──▶ admission ──▶ the handler of the row ──▶ Access (store) ──▶ Reply
//!                                  └─ refused, postponed, queued, or EXEC runs the queue
//! ```
//! A command is a row: it holds every fact about the command, and no other list names it. The rows
//! are those of `families`; the table of them is handed in, and a row refers back to it.
//!
//! ```text
//! execute, exec, script, waiting, applier   run commands
//! outstanding, migration              commands that others answer
//! admission                           whether a command runs, for each purpose
//! call, own_changes, table            what one command at work can do; how rows are found
//! rights, denial                      what its user may do; what becomes of what it may not
//! observer, monitor_lines, client_line   what others see of it
//! effects, element                    what it leaves in the journal, parts of its reply
//! row                                 what a row is, and the call that its handler gets
//! flags, key_spec, argument_fact, syntax, tips   what a row is made of
//! ```
//! A module uses those below it.
//!
//! Owner: each worker of the server runs calls.
//! Not here: rows and handlers (`families`), what clients are (`session`), sockets (`server`).
//! Start at: `row.rs`, then `call.rs`, then `execute.rs`.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

mod acknowledge;
pub mod admission;
mod applier;
mod argument_fact;
mod call;
pub mod client_line;
pub mod denial;
pub mod effects;
pub mod element;
mod exec;
mod execute;
mod file_commands;
pub mod find_row;
mod flags;
mod follower;
mod forget;
pub mod key_spec;
mod meanwhile;
mod migration;
mod monitor_lines;
mod observer;
mod outstanding;
mod own_changes;
pub mod rights;
mod row;
pub mod run;
pub mod script;
mod secrets;
mod shown;
mod simple_rights;
pub mod syntax;
mod table;
pub mod tips;
pub mod waiting;

pub use acknowledge::{
    NO_JOURNAL, answer_acknowledged, await_acknowledged, is_acknowledged, time_out, write_count,
    write_file_counts,
};
pub use admission::granted_for_batch;
pub use applier::{Applier, Next};
pub use argument_fact::{ArgumentFact, ArgumentFacts};
pub use call::{Environment, Invocation, Keys, windows};
pub use effects::Pieces;
pub use execute::execute;
pub use file_commands::{Followed, NotApplied, changes_data};
pub use find_row::RowMemo;
pub use flags::{
    Categories, FindDatabases, Flags, Group, LetsIn, Locks, NamesChannels, ReachesDatabases, Wakes,
};
pub use follower::{Followed as FollowedUnit, Follower, Parted, PartedKind};
pub use forget::{forget_all, forget_subscriptions, forget_tracking};
pub use key_spec::{FoundKeys, KeyFlags, KeySearch, KeySpec};
pub use migration::{ArrivalOutcome, answer_migration, finish_arrived, pack};
pub use monitor_lines::{begin_monitor, end_monitor, send_monitor_lines};
pub use observer::{Observer, Seen};
pub use outstanding::Outstanding;
pub use own_changes::{append_invalidations, mail_invalidations};
pub use row::{
    Call, Command, Handler, LAST_WORD, Outcome, Row, RunsScript, Table, Turn, Unanswered,
};
pub use run::Execution;
pub use secrets::{Positions, every_argument};
pub use waiting::{Timeout, Wait, count_unserved, resume_postponed, serve_losses};
