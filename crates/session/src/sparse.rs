//! Room of tables from which most entries were removed.

/// Entries for which a table always keeps its room.
const KEPT: usize = 28;
/// Part of its room below which a table is sparse.
const SPARSE: usize = 8;

/// Returns for how many entries a table should have room, behind a removal; `None` unless it is far
/// larger than that. It is so much smaller then that it pays for itself: most of the entries that
/// were there have been removed, and as many must come before it grows again.
pub fn smaller_room(entries: usize, room: usize) -> Option<usize> {
    (room > KEPT && entries < room / SPARSE).then_some(2 * entries)
}

#[cfg(test)]
mod tests {
    use super::{KEPT, smaller_room};
    use hashbrown::HashTable;

    #[test]
    fn a_table_shrinks_behind_most_of_its_removals_and_moves_each_entry_about_once() {
        let (mut table, number) = (HashTable::new(), 100_000_u64);
        let hash = |it: &u64| it.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for it in 0..number {
            table.insert_unique(hash(&it), it, hash);
        }
        let mut moved = 0;
        for it in 0..number {
            table.find_entry(hash(&it), |other| *other == it).expect("it is there").remove();
            if let Some(room) = smaller_room(table.len(), table.capacity()) {
                moved += table.len();
                table.shrink_to(room, hash);
                assert!(smaller_room(table.len(), table.capacity()).is_none());
            }
            assert!(table.capacity() <= KEPT.max(8 * (table.len() + 1)));
        }
        assert!(moved < 50_000, "{moved}");
    }
}
