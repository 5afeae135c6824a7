//! The table of all commands, built from the tables of the families.

use crate::{
    acl, bitmap, client, cluster, connection, generic, geo, hash, hyperloglog, list, memcached,
    observing, pubsub, replication, scripting, server, set, sorted_set, stream, string,
    transaction,
};
use command::{Command, Flags, Group, Table};
use session::Refusal;
use std::sync::LazyLock;

/// Tables of all families.
pub const FAMILIES: &[&[Command]] = &[
    string::TABLE,
    bitmap::TABLE,
    hash::TABLE,
    hyperloglog::TABLE,
    list::TABLE,
    set::TABLE,
    sorted_set::TABLE,
    geo::TABLE,
    stream::TABLE,
    generic::TABLE,
    connection::TABLE,
    client::TABLE,
    server::TABLE,
    replication::TABLE,
    transaction::TABLE,
    scripting::TABLE,
    pubsub::TABLE,
    observing::TABLE,
    cluster::TABLE,
    acl::TABLE,
];

/// Row of requests that name no command or have a wrong number of arguments. It never runs, since
/// one of its needs, `NAMED`, is granted to nobody.
const NAMELESS: Command =
    Command::plain(Group::Server, "", 0, Flags::empty(), "", |_| Err(Refusal::SYNTAX.into()));

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    Table::build(&TABLE, FAMILIES, &NAMELESS, memcached::HIDDEN, &memcached::COMMANDS)
});

/// The table of all commands; built at the first call.
#[inline]
pub fn table() -> &'static Table {
    &TABLE
}

#[cfg(test)]
mod tests {
    use super::*;
    use command::{Row, Wakes};
    use session::Needs;

    #[test]
    fn every_command_is_found_by_its_name_in_any_case() {
        let table = table();
        for row in table.rows().iter().filter(|row| row.parent.is_none()) {
            let found = table.find(row.spec.name.to_ascii_lowercase().as_bytes());
            assert_eq!(found.map(|found| found.id), Some(row.id), "{}", row.spec.name);
            for child in row.spec.subcommands {
                let found = row.find_child(child.name.to_ascii_lowercase().as_bytes());
                assert_eq!(found.map(|found| found.spec.name), Some(child.name));
            }
        }
        assert!(table.find(b"nosuchcommand").is_none());
        assert!(table.find(b"").is_none());
        assert!(table.find(&[b'x'; 4096]).is_none());
    }

    #[test]
    fn a_pause_of_writes_postpones_counting_which_may_change_a_value() {
        for (name, is_postponed) in [("pfadd", true), ("pfcount", true), ("get", false)] {
            let row = table().find(name.as_bytes());
            let needs = row.map(|row| row.needs.contains(Needs::WRITES_FLOW));
            assert_eq!(needs, Some(is_postponed), "{name}");
        }
    }

    #[test]
    fn names_are_unique_and_arity_covers_the_keys() {
        let table = table();
        let mut names = std::collections::BTreeSet::new();
        for row in table.rows() {
            assert!(names.insert(&row.full_name), "{} twice", row.full_name);
            assert!(row.first_key < row.spec.arity.unsigned_abs().into(), "{}", row.full_name);
            assert!(!row.spec.summary.is_empty(), "{}", row.full_name);
        }
    }

    #[test]
    fn what_writes_without_naming_keys_says_whom_it_wakes() {
        let writes = |row: &&Row| row.spec.flags.contains(Flags::WRITE);
        for row in table().rows().iter().filter(writes) {
            let is_said = !row.spec.keys.is_empty() || row.spec.wakes != Wakes::ItsKeys;
            assert!(is_said, "{}", row.full_name);
        }
    }

    #[test]
    fn commands_that_take_or_read_wake_no_waiter_and_commands_that_add_do() {
        let wakes = |name: &str| table().find(name.as_bytes()).map(|row| row.spec.wakes);
        let takes = "blpop brpop blmpop bzpopmin bzpopmax bzmpop xreadgroup xack xclaim \
                     xautoclaim xdel xtrim xsetid";
        for name in takes.split(' ') {
            assert_eq!(wakes(name), Some(Wakes::Nobody), "{name}");
        }
        for name in "blmove brpoplpush rpush zadd xadd sort restore rename del".split(' ') {
            assert_eq!(wakes(name), Some(Wakes::ItsKeys), "{name}");
        }
    }

    #[test]
    fn the_field_of_a_row_is_that_of_its_syntax() {
        for Row { spec, full_name, .. } in table().rows() {
            let words: Vec<&str> = spec.syntax.split([' ', '[', ']', '<', '>', '|']).collect();
            let has_field = spec.field_at == 0 || words[spec.field_at - 1] == "field";
            assert!(has_field && spec.field_at < spec.arity.unsigned_abs().into(), "{full_name}");
        }
    }
}
