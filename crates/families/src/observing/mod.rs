//! What is seen of commands at work: COMMANDLOG, SLOWLOG, LATENCY.

mod commandlog;
mod latency;
mod monitor;
mod table;
#[cfg(test)]
mod tests;

pub use table::TABLE;
