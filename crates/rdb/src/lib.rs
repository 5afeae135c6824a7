//! Codec of RDB files and DUMP payloads, as Redis and Valkey write and read them.
//!
//! ```text
//! file     | REDIS 0011 | AUX ... | SELECT | RESIZE | key | key | ... | EOF | checksum 8 |
//! key      | attributes | deadline | idle time or frequency | ... | type | name | value |
//! payload                                       | type | value | version 2 | checksum 8 |    DUMP
//! ```
//! A value is a count of elements, or elements packed into one text (a *blob*: listpack, ziplist,
//! zipmap, intset) that may be compressed, or both. [`ValueReader`] reads all of them as the same
//! [`Part`]s, and goes on where it stopped when more bytes have come, so a value of any size is
//! read in pieces. Nothing is allocated by an announced count or length.
//!
//! Owner: the caller, which has the bytes; nothing here reads files or knows keys of a store.
//! Not here: values in memory (`store`), which form a value is written in, files (`snapshot`).
//! Start at: `format.rs`, then `input.rs`, then `value/mod.rs`.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

mod blob;
mod checksum;
mod dump;
mod error;
mod file;
mod format;
mod input;
mod lzf;
mod module;
mod output;
mod text;
mod value;

pub use blob::{Listpack, intset};
pub use checksum::Checksum;
pub use dump::{
    Checks, Payload, is_common_payload, open_libraries, open_payload, payload_version, seal_payload,
};
pub use error::{Error, Flaw};
pub use file::{Header, Item, KeyFacts, Opening, read_header, read_item, read_opening};
pub use format::{Dialect, Kind, ValueType, Version};
pub use input::Input;
pub use lzf::{Compressor, decompress};
pub use module::{skip_module_data, skip_module_value};
pub use output::Output;
pub use text::Text;
pub use value::{Miscount, Part, StreamFacts, StreamId, StreamNode, StreamPart, ValueReader};
