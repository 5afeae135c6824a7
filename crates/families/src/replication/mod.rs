//! Commands of replication: what replicas say to their primary, and who is told of it.
//!
//! | file | commands |
//! |---|---|
//! | `sync.rs` | REPLCONF, PSYNC, SYNC |
//! | `replicaof.rs` | REPLICAOF, SLAVEOF |
//! | `failover.rs` | FAILOVER |
//! | `role.rs` | ROLE |
//!
//! PSYNC takes the connection away from its worker: the thread that serves replicas has it then,
//! and answers. What both sides say is in the crate `replication`.

mod failover;
mod replicaof;
pub(crate) mod role;
mod sync;
mod table;
#[cfg(test)]
mod tests;

pub use table::TABLE;

use command::Table;
use users::User;

/// Returns true if a user may run one of the commands by which a client becomes a replica.
pub(crate) fn may_be_replica(table: &Table, user: &User) -> bool {
    let mut rows = table::OF_REPLICAS.iter().filter_map(|name| table.find(name));
    rows.any(|row| user.may_simply(narrow::to_u16(row.id), None, None))
}
