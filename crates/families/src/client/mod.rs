//! CLIENT: facts that clients report about themselves, and commands about other clients.

mod conditions;
mod filter;
mod others;
mod own;
mod table;
mod tracking;

pub use table::TABLE;

#[cfg(test)]
mod tests;
