//! What becomes of the commands of an append-only file.
//!
//! A file holds what has changed data where it was written. So each command that would change data
//! is executed, or the file is not loaded: nobody should find out later that something is missing.
//! What would not change data is passed over and counted, since nothing is missing without it.
//!
//! | command | what becomes of it |
//! |---|---|
//! | changes data, may publish (rows with `WRITE` or `MAY_REPLICATE`) | executed |
//! | the same, refused: another type, no such group, bad arguments | stops the start |
//! | chooses a database (`SELECTS`) | executed; refused, it stops the start |
//! | FUNCTION LOAD, DELETE, FLUSH, RESTORE | executed: libraries are kept |
//! | FUNCTION LOAD, DELETE, RESTORE of what nobody can load | passed over: changed nothing |
//! | EVAL, EVALSHA, FCALL, SCRIPT LOAD, as old servers write them | executed |
//! | reads; of connections, transactions, messages, settings, the server | passed over |
//! | the same of servers that have users, replicas, a cluster | passed over |
//! | CLUSTER FLUSHSLOT, which removes keys | stops the start: refused, as there is no cluster |
//! | an unknown name or subcommand, a wrong number of arguments | stops the start |
//! | anything without memory for it, or of 4 GiB | stops the start |
//!
//! With `propagation-error-behavior` `ignore`, what would stop the start is logged, counted and
//! left out, but for what those behind it need: their database, and memory.

use crate::flags::{Flags, Group};
use crate::row::Command;
use crate::row::Row;
use session::{Args, Refusal};

/// What became of a command of a file.
#[derive(Debug)]
pub enum Followed {
    /// It was executed.
    Executed,
    /// It changes no data, so it was not executed.
    PassedOver,
    /// It changes no data, since it fails wherever it is executed.
    Fruitless(Refusal),
}

/// Reason why a command of a file was not executed.
#[derive(Debug)]
pub enum NotApplied {
    /// There is no such command.
    Unknown,
    /// It has a wrong number of arguments.
    Misused,
    /// It does not fit what its keys hold.
    Refused(Refusal),
    /// What follows cannot be executed either: there is no room, or no such database.
    Impossible(Refusal),
}

impl NotApplied {
    /// True if what follows can be executed without it.
    pub fn can_be_left_out(&self) -> bool {
        !matches!(self, NotApplied::Impossible(_))
    }
}

/// True for commands that change data. Nodes of a cluster tell their replicas, and their files, how
/// slots move; the keys that come and go with a slot are in commands of their own.
pub fn changes_data(row: &Row) -> bool {
    let Command { flags, group, .. } = row.spec;
    flags.contains(Flags::WRITE) || flags.contains(Flags::MAY_REPLICATE) && *group != Group::Cluster
}

/// Decides about a command whose row changes no data, or that has none.
#[cold]
pub(crate) fn follow_other(row: &'static Row, args: Args<'_>) -> Result<Followed, NotApplied> {
    let named = row.table().find(args.get(0));
    if row.id != row.table().nameless().id {
        return Ok(Followed::PassedOver);
    }
    match named {
        // Without a row of its own, it names no subcommand.
        Some(row) if row.spec.subcommands.is_empty() || args.len() < 2 => Err(NotApplied::Misused),
        _ => Err(NotApplied::Unknown),
    }
}
