//! ACL categories of a command, derived from its flags and group.

use crate::spec::{Flags, Group};
use crate::table::Row;

/// Commands outside the group that would put them among these.
const KEYSPACE: [&str; 4] = ["dbsize", "flushall", "flushdb", "swapdb"];
const DANGEROUS: [&str; 7] = ["flushall", "flushdb", "info", "keys", "sort", "sort_ro", "swapdb"];

/// The categories with their `@`, in the order of Valkey.
pub(super) fn names(row: &Row) -> Vec<&'static str> {
    let (flags, name) = (row.spec.flags, row.full_name.as_str());
    let has = |flag| flags.contains(flag);
    // Of commands that only have subcommands, nothing but their speed is told.
    let is_parent = !row.spec.subcommands.is_empty() && row.spec.arity != -1;
    let is_in = |group| row.spec.group == group && !is_parent;
    let is_command = name == "command" || name.starts_with("command|");
    // They belong to those whose elements they put in order.
    let sorts = name == "sort" || name == "sort_ro";
    let is_admin = has(Flags::ADMIN);
    let all = [
        ("@keyspace", (is_in(Group::Generic) && !sorts) || KEYSPACE.contains(&name)),
        ("@read", has(Flags::READONLY) && row.spec.group != Group::Scripting),
        ("@write", has(Flags::WRITE)),
        ("@set", is_in(Group::Set) || sorts),
        ("@sortedset", is_in(Group::SortedSet) || sorts),
        ("@list", is_in(Group::List) || sorts),
        ("@hash", is_in(Group::Hash)),
        ("@string", is_in(Group::String)),
        ("@bitmap", is_in(Group::Bitmap)),
        ("@hyperloglog", is_in(Group::HyperLogLog)),
        ("@geo", is_in(Group::Geo)),
        ("@stream", is_in(Group::Stream)),
        ("@pubsub", has(Flags::PUBSUB)),
        ("@admin", is_admin),
        ("@fast", has(Flags::FAST)),
        ("@slow", !has(Flags::FAST)),
        ("@blocking", has(Flags::BLOCKING)),
        ("@dangerous", is_admin || DANGEROUS.contains(&name)),
        ("@connection", is_in(Group::Connection) || is_command),
        ("@scripting", is_in(Group::Scripting)),
    ];
    all.into_iter().filter_map(|(name, holds)| holds.then_some(name)).collect()
}
