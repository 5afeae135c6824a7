//! Commands on keys of any kind.

mod copy;
pub(super) mod dump;
pub(super) mod expire;
mod keys;
mod migrate;
pub mod object;
pub mod scan;
mod sort;
mod table;
mod wait;

pub use table::TABLE;

#[cfg(test)]
mod tests;
