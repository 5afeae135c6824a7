//! Where the nodes of a collection lie.

use base::Location;
use std::ops::Range;
use std::sync::Arc;
use tree::NodeId;

/// Number of entries of a node table that are allocated together.
const GROUP: usize = 512;
/// Entries of the first group of a new table; it grows by this factor.
const FIRST_GROUP: usize = 4;

/// Locations of the nodes of one collection. Node 0 is never used.
///
/// Most collections take any number for a new node. A long string names its chunks by their places
/// instead: then no number is ever on the free list, and groups without a node are empty.
///
/// Tables share groups of entries: a clone costs a reference for each, and a change of an entry
/// first copies its group if another table has it too.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeTable {
    groups: Vec<Arc<[u64]>>,
    /// One more than the highest number handed out or put; zero before the first.
    end: NodeId,
    free: Option<NodeId>,
    /// Live bytes of all nodes.
    pub live_bytes: u64,
}

/// Bit set in the entry of a node in use; the entry of a free node is the next free node.
const IN_USE: u64 = 1 << 63;

impl NodeTable {
    /// Adds the record at `at` and returns its node number.
    pub fn add(&mut self, at: Location) -> NodeId {
        let entry = at.bits() | IN_USE;
        if let Some(node) = self.free {
            let next = narrow::low_u32(std::mem::replace(self.entry_mut(node), entry));
            self.free = (next != 0).then_some(next);
            return node;
        }
        let node = self.end.max(1);
        self.end = node + 1;
        self.make_entry(node as usize);
        *self.entry_mut(node) = entry;
        node
    }

    /// Makes the group of an entry long enough for it.
    fn make_entry(&mut self, number: usize) {
        let (group, at) = (number / GROUP, number % GROUP);
        if self.groups.len() <= group {
            let empty: Arc<[u64]> = Arc::default();
            self.groups.resize(group + 1, empty);
        }
        let old = &self.groups[group];
        if old.len() > at {
            return;
        }
        let len = if group > 0 { GROUP } else { GROUP.min((FIRST_GROUP * old.len()).max(at + 1)) };
        let mut longer = old.to_vec();
        longer.resize(len.max(FIRST_GROUP), 0);
        self.groups[group] = longer.into();
    }

    /// Location of a node; `None` if it is free.
    #[inline]
    pub fn find(&self, node: NodeId) -> Option<Location> {
        let entry = *self.groups.get(node as usize / GROUP)?.get(node as usize % GROUP)?;
        (entry & IN_USE != 0).then(|| Location::from_bits(entry))
    }

    #[inline]
    fn entry_mut(&mut self, node: NodeId) -> &mut u64 {
        &mut Arc::make_mut(&mut self.groups[node as usize / GROUP])[node as usize % GROUP]
    }

    /// Sets the new location of a node that was moved.
    #[inline]
    pub fn set(&mut self, node: NodeId, at: Location) {
        *self.entry_mut(node) = at.bits() | IN_USE;
    }

    /// Sets the location of a new node whose number the owner chose.
    pub fn put(&mut self, node: NodeId, at: Location) {
        debug_assert_eq!(self.free, None, "numbers are either chosen or handed out");
        self.make_entry(node as usize / GROUP * GROUP + GROUP - 1);
        self.end = self.end.max(node + 1);
        self.set(node, at);
    }

    /// Removes a node whose number the owner chose.
    pub fn remove(&mut self, node: NodeId) {
        *self.entry_mut(node) = 0;
    }

    /// Returns a table with the same numbers in use and free as in `other`, but without locations.
    pub fn like(other: &NodeTable) -> NodeTable {
        let blank = |entry: &u64| if entry & IN_USE == 0 { *entry } else { 0 };
        let groups = other.groups.iter().map(|group| group.iter().map(blank).collect()).collect();
        NodeTable { groups, live_bytes: 0, ..*other }
    }

    /// Frees a node number.
    pub fn free(&mut self, node: NodeId) {
        *self.entry_mut(node) = u64::from(self.free.unwrap_or(0));
        self.free = Some(node);
    }

    /// One more than the highest number handed out so far, free ones included.
    pub fn end(&self) -> NodeId {
        self.end
    }

    /// Numbers from `from` on in the first group that has entries there; `None` if no group has.
    /// A group without entries costs one step, however many numbers it stands for.
    pub fn group_from(&self, from: NodeId) -> Option<Range<NodeId>> {
        let groups = self.groups.iter().enumerate().skip(from as usize / GROUP);
        let mut numbers = groups.map(|(number, group)| {
            let begin = number * GROUP;
            let end = (begin + group.len()).min(self.end as usize);
            from.max(narrow::to_u32(begin))..narrow::to_u32(end)
        });
        numbers.find(|numbers| !numbers.is_empty())
    }

    /// Bytes that the table takes on the general heap.
    pub fn heap_bytes(&self) -> usize {
        let entries: usize = self.groups.iter().map(|group| group.len()).sum();
        size_of::<NodeTable>()
            + entries * size_of::<u64>()
            + self.groups.len() * size_of::<Arc<[u64]>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(number: u64) -> Location {
        Location::from_bits(number * 8)
    }

    #[test]
    fn node_numbers_are_used_again_and_keep_their_places() {
        let mut table = NodeTable::default();
        let nodes: Vec<NodeId> = (0..2_000).map(|number| table.add(at(number))).collect();
        assert_eq!(nodes[0], 1);
        assert_eq!(table.end(), 2_001);
        nodes.iter().step_by(3).for_each(|node| table.free(*node));
        assert_eq!(table.find(nodes[0]), None);
        assert_eq!(table.find(nodes[1]), Some(at(1)));
        for number in 0..700 {
            let node = table.add(at(5_000 + number));
            assert_eq!(table.find(node), Some(at(5_000 + number)));
        }
        assert_eq!(table.end(), 2_001 + 700 - 667);
        assert_eq!(table.find(0), None);
        assert_eq!(table.find(1 << 30), None);
    }

    #[test]
    fn groups_without_a_node_are_stepped_over() {
        let mut table = NodeTable::default();
        assert_eq!(table.group_from(1), None);
        table.put(3, at(1));
        table.put(30_000, at(2));
        assert_eq!(table.group_from(1), Some(1..512));
        assert_eq!(table.group_from(500), Some(500..512));
        assert_eq!(table.group_from(512), Some(29_696..30_001));
        assert_eq!(table.group_from(30_001), None);
    }

    #[test]
    fn a_clone_keeps_its_locations_while_the_other_table_changes() {
        let mut table = NodeTable::default();
        for number in 0..1_500 {
            table.add(at(number));
        }
        let frozen = table.clone();
        for node in (1..1_500).step_by(7) {
            table.set(node, at(9_000));
            table.free(node + 1);
        }
        for _ in 0..1_000 {
            table.add(at(7_000));
        }
        for (number, node) in (0..1_500).zip(1..) {
            assert_eq!(frozen.find(node), Some(at(number)));
        }
        assert_eq!((frozen.end(), frozen.find(1_501)), (1_501, None));
    }
}
