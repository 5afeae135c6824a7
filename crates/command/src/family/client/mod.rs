//! CLIENT: what clients tell about themselves, and what they learn of and do to each other.

mod filter;
mod line;
mod others;
mod own;
mod table;

pub use table::TABLE;

#[cfg(test)]
mod tests;
