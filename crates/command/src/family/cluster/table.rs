//! Rows of the family; the subcommands of CLUSTER have their own file.

use super::subcommands::SUBCOMMANDS;
use super::{agree, refuse, row};
use crate::argument_fact::ArgumentFact::{Name, Type};
use crate::call::{Command, Handler};
use crate::key_spec::{KeyFlags, KeySpec};
use crate::spec::{Categories, Flags, Group};
use crate::tips;

const ANY_TIME: Flags = Flags::LOADING.union(Flags::STALE).union(Flags::FAST);

/// Rows of the family.
pub const TABLE: &[Command] = &[
    Command {
        summary: "Allows the next command to use a slot that is on its way to this node; refused, \
                  as there is no cluster.",
        complexity: "O(1)",
        ..of_connection("ASKING", Flags::FAST, refuse)
    },
    Command {
        summary: "Tells about a cluster and changes it; there is none, so that only KEYSLOT works.",
        ..Command::parent(Group::Cluster, "CLUSTER", "3.0.0", SUBCOMMANDS)
    },
    Command {
        keys: &[KeySpec::one(KeyFlags::NOT_KEY)],
        categories: Categories::KEYSPACE,
        tips: tips::CURSOR,
        summary: "Returns keys of a cluster step by step; refused, as there is no cluster.",
        syntax: "cursor [MATCH pattern] [COUNT count] [TYPE type] [SLOT slot]",
        arguments: &[("cursor", Type("string")), ("MATCH", Name("match-pattern"))],
        complexity: "O(N), N keys that are returned",
        ..row("CLUSTERSCAN", -2, Flags::READONLY, "9.1.0", refuse)
    },
    Command {
        summary: "Lets a replica in a cluster answer reads; of no effect, as there is no cluster.",
        complexity: "O(1)",
        ..of_connection("READONLY", ANY_TIME, agree)
    },
    Command {
        summary: "Takes READONLY back; of no effect, as there is no cluster.",
        complexity: "O(1)",
        ..of_connection("READWRITE", ANY_TIME, agree)
    },
];

/// Row of a command without arguments that is about its connection.
const fn of_connection(name: &'static str, flags: Flags, run: Handler) -> Command {
    Command { categories: Categories::CONNECTION, ..row(name, 1, flags, "3.0.0", run) }
}
