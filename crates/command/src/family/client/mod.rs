//! CLIENT: facts that clients report about themselves, and commands about other clients.

mod filter;
mod line;
mod others;
mod own;
mod table;

pub use table::TABLE;

#[cfg(test)]
mod tests;
