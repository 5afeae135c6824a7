//! Tests of `file_commands` with the commands of all families.

use crate::table;
use command::{Group, changes_data};

#[test]
fn of_the_commands_of_a_cluster_only_the_one_that_removes_keys_changes_data() {
    let rows = table().rows().iter().filter(|row| row.spec.group == Group::Cluster);
    let names = rows.filter(|row| changes_data(row)).map(|row| &*row.full_name);
    assert_eq!(names.collect::<Vec<_>>(), ["cluster|flushslot"]);
}
