//! Files of data, seen from outside: what an RDB file, an append-only file, a manifest or a
//! whole directory holds, whether it is whole, and who can read it.
//!
//! ```text
//! path ─▶ place (what is it?) ─▶ manifest ─▶ its files, one after the other
//!                             ├▶ rdb_file ─▶ walk ─▶ facts ─▶ servers
//!                             └▶ aof_file ─▶ journal's reader and inspection ─▶ facts ─▶ servers
//! findings ─▶ printed; truncate: what is behind a break goes to FILE.cut-off
//!                      mend: wrong numbers are written anew, the file stays as FILE.before-fix
//! ```
//! Files are opened for reading, in pieces; only `truncate` and `mend` write, when they are asked
//! to.
//!
//! Owner: the operator, who alone decides what is truncated or mended.
//! Not here: formats (`rdb`, `journal`), keys of a store, filling of servers (`import`).
//! Start at: `place.rs`, then `rdb_file.rs` and `aof_file.rs`.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

pub mod aof_file;
mod beside;
mod content;
pub mod finding;
pub mod flaws;
pub mod mend;
pub mod place;
pub mod rdb_file;
pub mod servers;
pub mod source;
pub mod truncate;
pub mod walk;
