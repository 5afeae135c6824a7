//! Table of settings: one file per subject, one row per setting.
//!
//! A row is written once, inside `rows!`, together with the typed handle that reads it. Handles
//! know their index at compile time, and a handle whose type does not fit its row does not compile.
//! The indices of a group begin where those of the group before it end, which it names.

pub(crate) mod absent;
mod declare;
pub mod general;
pub(crate) mod idle;
pub mod journal;
pub mod limits;
pub mod memcached;
pub mod memory;
pub mod network;
pub mod observing;
pub mod replication;
pub mod scripting;
pub mod snapshots;
pub mod tls;
pub mod users;
pub mod values;

use crate::live::SLOTS_MAX;
use crate::row::Row;

/// Groups in the order of their indices, with their titles in the manual.
pub(crate) const GROUPS: [(&str, &[Row]); 17] = [
    ("Network", network::ROWS),
    ("General", general::ROWS),
    ("Memory", memory::ROWS),
    ("Limits", limits::ROWS),
    ("Values", values::ROWS),
    ("Snapshots", snapshots::ROWS),
    ("Append-only file", journal::ROWS),
    ("Observing", observing::ROWS),
    ("Scripts", scripting::ROWS),
    ("Users", users::ROWS),
    ("TLS", tls::ROWS),
    ("Replication", replication::ROWS),
    ("Memcached", memcached::ROWS),
    ("Refused: what asks for features of Valkey that this server does not have", absent::ROWS),
    ("Without effect: replication", idle::replication::ROWS),
    ("Without effect: cluster mode", idle::cluster::ROWS),
    ("Without effect: threads, memory, process and messages of Valkey", idle::other::ROWS),
];

/// Number of settings.
const COUNT: usize = index_of_group(GROUPS.len());

/// Returns all rows in the order of their indices.
pub fn all() -> impl Iterator<Item = &'static Row> {
    GROUPS.iter().flat_map(|(_, rows)| rows.iter())
}

const _: () = {
    let ends = [
        network::END,
        general::END,
        memory::END,
        limits::END,
        values::END,
        snapshots::END,
        journal::END,
        observing::END,
        scripting::END,
        users::END,
        tls::END,
        replication::END,
        memcached::END,
    ];
    let mut group = 0;
    while group < ends.len() {
        group += 1;
        assert!(ends[group - 1] == index_of_group(group), "groups name those before them");
    }
    assert!(COUNT <= SLOTS_MAX);
};

/// Returns the index of the first row of a group.
const fn index_of_group(group: usize) -> usize {
    let mut index = 0;
    let mut before = 0;
    while before < group {
        index += GROUPS[before].1.len();
        before += 1;
    }
    index
}

/// Returns the row at an index.
pub(crate) const fn row_at(index: usize) -> &'static Row {
    let mut group = 0;
    let mut left = index;
    while left >= GROUPS[group].1.len() {
        left -= GROUPS[group].1.len();
        group += 1;
    }
    &GROUPS[group].1[left]
}

#[cfg(test)]
mod tests {
    use super::{COUNT, all, row_at};
    use crate::row::Kind;
    use crate::value::{default_of, parse_over};
    use std::collections::HashSet;

    #[test]
    fn every_name_and_alias_is_used_once_and_lower_case() {
        let mut seen = HashSet::new();
        for row in all() {
            for name in [row.name, row.alias].into_iter().filter(|name| !name.is_empty()) {
                assert!(seen.insert(name), "{name} is used twice");
                assert_eq!(name, name.to_lowercase());
            }
        }
    }

    #[test]
    fn every_row_has_a_line_for_the_manual() {
        for row in all() {
            assert!(row.doc.len() >= 10, "{} needs a line for the manual", row.name);
        }
    }

    #[test]
    fn slots_number_the_rows_in_order() {
        assert_eq!(all().count(), COUNT);
        for (index, row) in all().enumerate() {
            assert_eq!(row_at(index).name, row.name);
        }
    }

    #[test]
    fn every_default_is_accepted_as_a_value() {
        for row in all() {
            let default = default_of(row);
            let words = default.words();
            let words: Vec<&[u8]> = words.iter().map(Vec::as_slice).collect();
            let parsed =
                parse_over(row, &words, &default).unwrap_or_else(|e| panic!("{}: {e}", row.name));
            assert_eq!(parsed, default, "{}", row.name);
        }
    }

    #[test]
    fn names_of_choices_differ_by_more_than_case_and_defaults_exist() {
        for row in all() {
            if let Kind::OneOf { names, default } = row.kind {
                assert!(default < names.len(), "{}", row.name);
                let lower: HashSet<String> = names.iter().map(|name| name.to_lowercase()).collect();
                assert_eq!(lower.len(), names.len(), "{}", row.name);
            }
        }
    }
}
