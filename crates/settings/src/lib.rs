//! Table of settings, configuration file, and values at run time.
//!
//! One row describes one setting: its name, what it may hold, its default, whether it can change
//! while the server runs, and a line for the manual. Everything else (CONFIG GET, CONFIG SET,
//! the configuration file, CONFIG REWRITE, the manual) is derived from the rows.
//!
//! Owner: [`Settings`] owns the values; it is shared by all threads behind an `Arc`.
//! Not here: what a setting does (the crates that read it), replies to clients (`command`),
//! applying a change to sockets, limits and the working directory (the server registers a hook for
//! that).
//! Start at: [`network`] for how rows look, [`Setting::get`] for reading one,
//! [`Settings::set_many`] for changing some, [`load`] for the start of the server.
//!
//! | file | content |
//! |---|---|
//! | `rows/*.rs` | the table, grouped by subject: a new setting is one row there |
//! | `row.rs` | everything that describes a setting |
//! | `choice.rs` | the settings that choose among names, as Rust enums |
//! | `value.rs` | conversion of values from and to words |
//! | `live.rs`, `defaults.rs` | the shared values, and the defaults |
//! | `names.rs`, `change.rs`, `query.rs` | finding a row; CONFIG SET; CONFIG GET |
//! | `handle.rs` | typed reading |
//! | `file.rs`, `include.rs`, `command_line.rs` | configuration at start |
//! | `rewrite.rs` | CONFIG REWRITE |
//! | `whole_file.rs` | reading and replacing a whole file |
//! | `manual.rs` | the table as Markdown |
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

mod change;
mod choice;
mod command_line;
mod defaults;
mod error;
mod file;
mod handle;
mod include;
mod live;
mod manual;
mod names;
mod query;
mod rewrite;
mod row;
mod rows;
mod value;
mod whole_file;

pub use change::{Changed, Origin};
pub use choice::{
    AppendFsync, AuthClients, BusyScope, CertificateUser, DebugAccess, DisklessLoad, LogFormat,
    LogLevel, LogTimestampFormat, MaxmemoryPolicy, OomScore, PropagationErrorBehavior,
    PubSubDefault, RdbReader, ReclaimPolicy, ShutdownFlags, Supervised, VersionCheck,
};
pub use command_line::{Invocation, Loaded, load};
pub use error::{FileError, RewriteError, SetError, system_text};
pub use file::{Sources, load_text};
pub use handle::{Read, Setting};
pub use live::{Settings, UserLine};
pub use manual::manual;
pub use names::{find, is_sensitive};
pub use row::{Kind, Notation, Row};
pub use rows::{
    all, general, journal, limits, memcached, memory, network, observing, replication, scripting,
    snapshots, tls, users, values,
};
pub use value::{ClientsMemory, EventClasses, OutputLimit, OutputLimits, SavePoint, SavePoints};
pub use whole_file::{read_whole, replace_whole};
