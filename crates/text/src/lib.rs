//! Numbers, patterns and quoted words, as clients and configuration files write them.
//!
//! ```text
//! bytes ──▶ integer, float, decimal, memory ──▶ numbers ──▶ the same text as Valkey prints
//!       ──▶ glob (patterns over keys, channels, settings)
//!       ──▶ words (quoted words of inline requests and configuration lines)
//!       ──▶ attribute_note (what files and streams tell of strings besides their values)
//! ```
//!
//! Owner: nobody; everything here is a function of its arguments.
//! Not here: replies and requests (`wire`), the meaning of a setting (`settings`).
//! Start at: `integer.rs`, then `words.rs`.
//!
//! Every function takes bytes as they came from outside, returns `None` or an error for those it
//! refuses, and neither panics nor works longer than its documentation says.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::cast_possible_truncation))]

mod attribute_note;
mod decimal;
mod exponent;
mod float;
mod glob;
mod grisu;
mod hexadecimal;
mod integer;
mod memory;
mod words;

pub use attribute_note::AttributeNote;
pub use decimal::{FLOAT_TEXT_BYTES_MAX, FloatError, add_floats, parse_f64_wide};
pub use float::{format_f64, format_f64_digits, format_g17, parse_f64, parse_f64_bound, write_f64};
pub use glob::glob_match;
pub use integer::{IntegerText, parse_i64, parse_u64, write_i64, write_u64};
pub use memory::parse_memory;
pub use words::{quote, quote_to, split_args};
