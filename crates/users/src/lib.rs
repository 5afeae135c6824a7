//! Users, and what they may do.
//!
//! ```text
//! rules ──apply──▶ User: its root selector and further ones ──decide──▶ allowed, or the reason
//!                       │                                   ▲
//!                       └──describe──▶ rules again          └── Asked: command, keys, database
//! ```
//!
//! * `catalog`: the commands and categories that rules may name
//! * `selector`: what is allowed together, by its parts `commands`, `keys`, `channels`, `databases`
//! * `user`: name, passwords and selectors; `rule`: what is wrong with a rule; `language`: what
//!   rules mean on a server
//! * `decision`: whether a request is allowed, and why not
//! * `table`, `file`: all users, and their lines in a file
//!
//! A user is never changed once others see it: a change makes a new one.
//!
//! Owner: `AccessControl` of `session` keeps the table; `rights.rs` of `command` asks.
//! Not here: rows of commands and where their keys stand (`command`); clients, the log of what was
//! denied (`session`).
//! Start at: `user.rs`, then `decision.rs`.

#![forbid(unsafe_code)]

mod catalog;
mod channels;
mod commands;
mod databases;
mod decision;
mod file;
mod keys;
mod language;
mod password;
mod pattern;
mod rule;
mod selector;
mod table;
mod user;

pub use catalog::{Catalog, CommandFacts, CommandId};
pub use decision::{
    Asked, AskedChannel, AskedDatabases, AskedKey, Denied, Reason, decide, decide_on_all_keys,
};
pub use file::{describe_line, read_file, write_file};
pub use keys::Access;
pub use language::Language;
pub use password::PasswordHash;
pub use rule::{RuleError, SetError, has_blanks};
pub use selector::Selector;
pub use table::Users;
pub use user::{DEFAULT, User};
