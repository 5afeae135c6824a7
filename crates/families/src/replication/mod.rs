//! Commands of replication: what replicas say to their primary, and who is told of it.
//!
//! | file | commands |
//! |---|---|
//! | `sync.rs` | REPLCONF, PSYNC, SYNC |
//! | `replicaof.rs` | REPLICAOF, SLAVEOF |
//! | `role.rs` | ROLE |
//!
//! PSYNC takes the connection away from its worker: the thread that serves replicas has it then,
//! and answers. What both sides say is in the crate `replication`.

mod replicaof;
pub(crate) mod role;
mod sync;
mod table;
#[cfg(test)]
mod tests;

pub use table::TABLE;
