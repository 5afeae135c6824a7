//! Scripts: Lua 5.1 as Valkey runs it, which calls a host for everything that is not Lua.
//!
//! ```text
//! source ──compile──▶ function ──run──▶ values ──encode──▶ reply
//!                                │ redis.call                 ▲
//!                                ▼                            │
//!                         Host::call ──reply──▶ decode ──▶ values
//! ```
//!
//! * `interpreter`, `run`, `hook`, `sandbox`: what runs, how it ends, what it finds
//! * `proof`: which commands a script can call, and with which keys, before it runs
//! * `call`, `decode`, `encode`, `api`: the way to the host and back
//! * `json`, `message_pack`, `packed_struct`, `bits`, `math`: libraries, in safe Rust over `stack`
//! * `stack`, `guard`, `memory`: all that touches Lua's memory
//!
//! Lua raises errors by jumping over our frames. So no frame between Lua and a call of it holds a
//! value that must be dropped: what grows lies in `core`, and an error is raised last.
//!
//! Owner: an [`Interpreter`] owns everything that its scripts make.
//! Not here: commands, the cache of scripts, libraries of functions (`command`, `families`); the
//! sources of Lua, with guards of ours: `vendor/lua-src/README.md`.
//! Start at: `interpreter.rs`, then `stack.rs`.

mod api;
mod bits;
mod call;
mod core;
mod counted;
mod decode;
mod encode;
mod failure;
mod field;
mod guard;
mod hook;
mod host;
mod interpreter;
mod json;
mod library;
mod math;
mod memory;
mod message_pack;
mod number;
mod number_text;
mod packed_struct;
pub mod proof;
mod protect;
mod random;
mod registered;
mod run;
mod sandbox;
mod stack;

pub use api::sha1_hex;
pub use host::{Call, Host, LogLevel, Protocol, Replication, Verdict};
pub use interpreter::{Function, Interpreter, LibraryFunction, LoadError, OutOfMemory};
pub use registered::FunctionFlags;
pub use run::{Ending, Input};
pub use sandbox::{Options, Versions};
