//! Rows of the family. A server that is no part of a cluster refuses the subcommands of CLUSTER but
//! KEYSLOT, and HELP too.

use super::{keyslot, readonly, readwrite, refuse, row};
use command::ArgumentFact::{Display, Name, Since, Type};
use command::{
    Categories, Command, Flags, Group, Handler, KeyFlags, KeySpec, ReachesDatabases, Wakes, tips,
};

const ALWAYS: Flags = Flags::LOADING.union(Flags::STALE);
const ADMIN: Flags = Flags::ADMIN.union(Flags::STALE);
const CHANGES: Flags = ADMIN.union(Flags::NO_ASYNC_LOADING);
const FLUSHES: Flags = Flags::ADMIN.union(Flags::NO_ASYNC_LOADING).union(Flags::WRITE);
const ANY_TIME: Flags = ALWAYS.union(Flags::FAST);

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
        summary: "Lets a replica in a cluster answer reads; only CLIENT LIST shows it, as there is \
                  no cluster.",
        complexity: "O(1)",
        ..of_connection("READONLY", ANY_TIME, readonly)
    },
    Command {
        summary: "Takes READONLY back.",
        complexity: "O(1)",
        ..of_connection("READWRITE", ANY_TIME, readwrite)
    },
];

/// Row of a command without arguments that is about its connection.
const fn of_connection(name: &'static str, flags: Flags, run: Handler) -> Command {
    let mut row = row(name, 1, flags, "3.0.0", run);
    row.categories = Categories::CONNECTION;
    row
}

/// Rows of the subcommands.
const SUBCOMMANDS: &[Command] = &[
    Command {
        summary: "Gives slots to the node.",
        syntax: "slot [slot ...]",
        complexity: "O(N), N slots",
        ..row("ADDSLOTS", -3, CHANGES, "3.0.0", refuse)
    },
    Command {
        summary: "Gives ranges of slots to the node.",
        syntax: "start-slot end-slot [start-slot end-slot ...]",
        arguments: &[("start-slot-end-slot", Name("range"))],
        complexity: "O(N), N slots",
        ..row("ADDSLOTSRANGE", -4, CHANGES, "7.0.0", refuse)
    },
    Command {
        tips: tips::NONDETERMINISTIC,
        summary: "Raises the epoch of the cluster.",
        complexity: "O(1)",
        ..row("BUMPEPOCH", 2, CHANGES, "3.0.0", refuse)
    },
    Command {
        summary: "Gives up moving slots.",
        complexity: "O(N), N moves of slots",
        databases: ReachesDatabases::All,
        ..row("CANCELSLOTMIGRATIONS", 2, CHANGES, "9.0.0", refuse)
    },
    Command {
        tips: tips::NONDETERMINISTIC,
        summary: "Counts who reports that a node has failed.",
        syntax: "node-id",
        arguments: &[("node-id", Type("string"))],
        complexity: "O(N), N reports",
        history: &[("9.0.0", "Reports about nodes that have failed for sure are not counted.")],
        ..row("COUNT-FAILURE-REPORTS", 3, ADMIN, "3.0.0", refuse)
    },
    Command {
        summary: "Counts the keys of a slot.",
        syntax: "slot",
        complexity: "O(1)",
        ..row("COUNTKEYSINSLOT", 3, Flags::STALE, "3.0.0", refuse)
    },
    Command {
        summary: "Takes slots from the node.",
        syntax: "slot [slot ...]",
        complexity: "O(N), N slots",
        ..row("DELSLOTS", -3, CHANGES, "3.0.0", refuse)
    },
    Command {
        summary: "Takes ranges of slots from the node.",
        syntax: "start-slot end-slot [start-slot end-slot ...]",
        arguments: &[("start-slot-end-slot", Name("range"))],
        complexity: "O(N), N slots",
        ..row("DELSLOTSRANGE", -4, CHANGES, "7.0.0", refuse)
    },
    Command {
        summary: "Makes a replica the primary.",
        syntax: "[FORCE | TAKEOVER]",
        arguments: &[("operation", Name("options"))],
        complexity: "O(1)",
        ..row("FAILOVER", -2, CHANGES, "3.0.0", refuse)
    },
    Command {
        categories: Categories::KEYSPACE,
        wakes: Wakes::Nobody,
        summary: "Removes the keys of a slot.",
        syntax: "slot [ASYNC | SYNC]",
        complexity: "O(N), N keys of the slot",
        databases: ReachesDatabases::All,
        ..row("FLUSHSLOT", -3, FLUSHES, "9.0.0", refuse)
    },
    Command {
        summary: "Takes all slots from the node.",
        complexity: "O(1)",
        ..row("FLUSHSLOTS", 2, CHANGES, "3.0.0", refuse)
    },
    Command {
        summary: "Removes a node from the table of nodes.",
        syntax: "node-id",
        complexity: "O(1)",
        ..row("FORGET", 3, CHANGES, "3.0.0", refuse)
    },
    Command {
        tips: tips::NONDETERMINISTIC,
        summary: "Returns keys of a slot.",
        syntax: "slot count",
        complexity: "O(N), N keys that are returned",
        ..row("GETKEYSINSLOT", 4, Flags::STALE, "3.0.0", refuse)
    },
    Command {
        summary: "Lists slots on their way.",
        complexity: "O(N), N moves of slots",
        ..row("GETSLOTMIGRATIONS", 2, CHANGES, "9.0.0", refuse)
    },
    Command {
        summary: "Lists the subcommands.",
        complexity: "O(1)",
        ..row("HELP", 2, ALWAYS, "5.0.0", refuse)
    },
    Command {
        tips: tips::NONDETERMINISTIC,
        summary: "Tells about the node and its cluster.",
        complexity: "O(1)",
        ..row("INFO", 2, ALWAYS, "3.0.0", refuse)
    },
    Command {
        summary: "Returns the slot of a key.",
        syntax: "key",
        arguments: &[("key", Type("string"))],
        complexity: "O(N), N bytes of the key",
        ..row("KEYSLOT", 3, Flags::STALE, "3.0.0", keyslot)
    },
    Command {
        tips: tips::NONDETERMINISTIC,
        summary: "Lists the connections between nodes.",
        complexity: "O(N), N nodes",
        ..row("LINKS", 2, Flags::STALE, "7.0.0", refuse)
    },
    Command {
        summary: "Brings the node together with another one.",
        syntax: "ip port [cluster-bus-port]",
        arguments: &[("cluster-bus-port", Since("4.0.0"))],
        complexity: "O(1)",
        history: &[("4.0.0", "A port of the bus may be given.")],
        ..row("MEET", -4, CHANGES, "3.0.0", refuse)
    },
    Command {
        summary: "Moves slots to other nodes.",
        syntax: "SLOTSRANGE start-slot end-slot [start-slot end-slot ...] NODE node-id \
                 [SLOTSRANGE start-slot end-slot [start-slot end-slot ...] NODE node-id ...]",
        complexity: "O(N), N slots",
        databases: ReachesDatabases::All,
        ..row("MIGRATESLOTS", -4, CHANGES, "9.0.0", refuse)
    },
    Command {
        summary: "Returns the id of the node.",
        complexity: "O(1)",
        ..row("MYID", 2, ALWAYS, "3.0.0", refuse)
    },
    Command {
        tips: tips::NONDETERMINISTIC,
        summary: "Returns the id of the shard of the node.",
        complexity: "O(1)",
        ..row("MYSHARDID", 2, ALWAYS, "7.2.0", refuse)
    },
    Command {
        tips: tips::NONDETERMINISTIC,
        summary: "Lists the nodes, a line for each.",
        complexity: "O(N), N nodes",
        ..row("NODES", 2, ALWAYS, "3.0.0", refuse)
    },
    Command {
        tips: tips::NONDETERMINISTIC,
        summary: "Lists the replicas of a primary.",
        syntax: "node-id",
        complexity: "O(N), N replicas",
        ..row("REPLICAS", 3, ADMIN, "5.0.0", refuse)
    },
    Command {
        summary: "Makes the node a replica of another one, or of none.",
        syntax: "<node-id | NO ONE>",
        arguments: &[("operation", Name("args")), ("no-one", Since("9.0.0"))],
        complexity: "O(1)",
        history: &[("9.0.0", "NO ONE.")],
        ..row("REPLICATE", -3, CHANGES, "3.0.0", refuse)
    },
    Command {
        summary: "Makes the node forget its cluster.",
        syntax: "[HARD | SOFT]",
        arguments: &[("operation", Name("reset-type"))],
        complexity: "O(N), N nodes; all keys may be removed",
        ..row("RESET", -2, ADMIN.union(Flags::NOSCRIPT), "3.0.0", refuse)
    },
    Command {
        summary: "Writes the state of the cluster to the disk.",
        complexity: "O(1)",
        ..row("SAVECONFIG", 2, CHANGES, "3.0.0", refuse)
    },
    Command {
        summary: "Sets the epoch of a new node.",
        syntax: "config-epoch",
        complexity: "O(1)",
        ..row("SET-CONFIG-EPOCH", 3, CHANGES, "3.0.0", refuse)
    },
    Command {
        summary: "Says to which node a slot belongs or goes.",
        syntax: "slot <IMPORTING node-id | MIGRATING node-id | NODE node-id | STABLE> \
                 [TIMEOUT timeout]",
        arguments: &[
            ("operation", Name("subcommand")),
            ("IMPORTING", Name("importing")),
            ("IMPORTING", Display("node-id")),
            ("MIGRATING", Name("migrating")),
            ("MIGRATING", Display("node-id")),
            ("NODE", Name("node")),
            ("NODE", Display("node-id")),
            ("TIMEOUT", Since("8.0.0")),
        ],
        complexity: "O(1)",
        history: &[("8.0.0", "TIMEOUT.")],
        ..row("SETSLOT", -4, CHANGES.union(Flags::MAY_REPLICATE), "3.0.0", refuse)
    },
    Command {
        tips: tips::NONDETERMINISTIC,
        summary: "Lists the shards with their slots and nodes.",
        complexity: "O(N), N nodes",
        history: &[("9.1.0", "The id of a shard and the zone of a node.")],
        ..row("SHARDS", 2, ALWAYS, "7.0.0", refuse)
    },
    Command {
        tips: tips::NONDETERMINISTIC,
        summary: "Lists the replicas of a primary; REPLICAS is its name today.",
        syntax: "node-id",
        complexity: "O(N), N replicas",
        ..row("SLAVES", 3, ADMIN, "3.0.0", refuse)
    },
    Command {
        tips: tips::EACH_SHARD,
        summary: "Tells how slots are used.",
        syntax: "<SLOTSRANGE start-slot end-slot | ORDERBY <metric [LIMIT limit] [ASC | DESC]>>",
        arguments: &[("operation", Name("filter"))],
        complexity: "O(N), N slots; O(N*log(N)) with ORDERBY",
        ..row("SLOT-STATS", -4, ALWAYS, "8.0.0", refuse)
    },
    Command {
        tips: tips::NONDETERMINISTIC,
        summary: "Lists the slots with their nodes.",
        complexity: "O(N), N nodes",
        history: &[
            ("4.0.0", "The ids of the nodes."),
            ("7.0.0", "More about the network."),
            ("9.1.0", "The zone of a node."),
        ],
        ..row("SLOTS", 2, ALWAYS, "3.0.0", refuse)
    },
    Command {
        summary: "Moves the keys of slots, between nodes only.",
        complexity: "That of its subcommand",
        ..row(
            "SYNCSLOTS",
            -3,
            CHANGES.union(Flags::MAY_REPLICATE).union(Flags::SYSTEM),
            "9.0.0",
            refuse,
        )
    },
];
