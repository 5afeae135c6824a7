//! Commands on keys of any kind.

mod copy;
mod dump;
pub(super) mod expire;
mod keys;
mod migrate;
mod object;
pub mod scan;
mod sort;
mod table;
mod wait;

pub use table::TABLE;

#[cfg(test)]
mod tests;
