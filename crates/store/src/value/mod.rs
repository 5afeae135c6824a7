//! Operations of the commands on values: they take bytes and limits, no arguments, and return no
//! replies. One file per type.

pub mod bitmap;
mod collection;
mod gathered;
pub mod geo;
pub mod hash;
pub mod hyperloglog;
pub mod lcs;
pub mod list;
pub mod long_string;
pub mod set;
pub mod sorted_set;
pub mod stream;
pub mod string;
mod texts;
mod words;

pub use gathered::NotStored;
pub use texts::Texts;
