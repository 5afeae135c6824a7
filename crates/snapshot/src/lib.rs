//! Values of a store as RDB: written from a key, and read back into one.
//!
//! ```text
//! value ──▶ Encoder::look ──▶ Encoder::write ──▶ rdb::Output            DUMP, Save
//! rdb::Input ──▶ Collector ──▶ Collected (whole, checked) ──▶ key       RESTORE, Load
//! ```
//! A value is read into memory of its own first, so that nothing of a damaged one is ever stored.
//! Files are loaded by several threads (`load`).
//!
//! Owner: commands and the server, which have the locks of the key.
//! Not here: the format (`rdb`), replies (`command`).
//! Start at: `payload.rs`, then `encode.rs`, then `collect.rs`.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

mod collect;
mod commands;
mod encode;
mod groups;
mod id;
mod limits;
mod list;
mod load;
mod payload;
mod restore;
mod save;
mod save_progress;
mod slice;
mod stream;

pub use collect::{Collected, Collector};
pub use encode::{Encoder, Form, Looked};
pub use limits::Limits;
pub use load::{Expired, Load, LoadError, Loaded, Progress, StreamMark};
pub use payload::{dump, read_payload};
pub use save::{Fields, Save};
pub use save_progress::{SaveError, SaveProgress};
