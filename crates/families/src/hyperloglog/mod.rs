//! HyperLogLogs: estimates of the number of different elements that were added to strings.

mod count;
mod debug;
mod table;

pub use table::TABLE;

#[cfg(test)]
mod tests;
