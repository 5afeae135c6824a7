//! Trimming: removal of entries from the front.

use super::Id;
use super::block::{Block, BlockLeaf};
use super::edit::{self, Entries};
use super::entry::Packed;
use super::facts::Facts;
use tree::{Nodes, NodesMut, View};

/// Bound up to which a stream is trimmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// Keeps this number of entries.
    Length(u64),
    /// Keeps entries with this id or a higher one.
    Id(Id),
}

/// Options of a trim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trim {
    /// Bound of the trim.
    pub to: Bound,
    /// `Some` to remove whole nodes only, and at most this number of entries; zero for any number.
    pub whole_nodes: Option<u64>,
}

impl Trim {
    /// Returns true if what it removes depends on how entries are kept.
    pub fn is_approximate(&self) -> bool {
        self.whole_nodes.is_some()
    }
}

/// Trims entries and updates the facts. Returns the number removed.
pub(super) fn apply<N: NodesMut>(tree: &mut Entries<'_, N>, facts: &mut Facts, how: Trim) -> u64 {
    let count = count(&tree.view(), facts, how);
    if count > 0 {
        remove(tree, facts, count);
    }
    count
}

/// Counts the entries that a trim removes.
pub(super) fn count<'n, N: Nodes<'n>>(
    view: &View<'n, N, BlockLeaf>,
    facts: &mut Facts,
    how: Trim,
) -> u64 {
    let before = count_all(view, how.to);
    match how.whole_nodes {
        None => before,
        Some(limit) => count_nodes(view, facts, before, limit),
    }
}

/// Removes the first `count` entries and updates the facts.
pub(super) fn remove<N: NodesMut>(tree: &mut Entries<'_, N>, facts: &mut Facts, count: u64) {
    facts.tail.count_in(tree);
    let removed = edit::remove_front(tree, count);
    facts.note_removed(removed, tree.root.count);
}

/// Counts the entries before a bound.
fn count_all<'n, N: Nodes<'n>>(view: &View<'n, N, BlockLeaf>, to: Bound) -> u64 {
    match to {
        Bound::Length(len) => view.root.count.saturating_sub(len),
        Bound::Id(id) => {
            let key = id.to_bytes();
            let path = view.find(|separator| separator <= &key[..]);
            view.count_before(&path) + Block::new(view.leaf(&path)).seek(id).index() as u64
        }
    }
}

/// Counts the entries in nodes that lie completely within the first `before` entries.
///
/// An addition that trims asks each time, and mostly nothing is to be removed: that the first node
/// reaches beyond these entries is known without a walk over it.
fn count_nodes<'n, N: Nodes<'n>>(
    view: &View<'n, N, BlockLeaf>,
    facts: &mut Facts,
    before: u64,
    limit: u64,
) -> u64 {
    if before == 0 || before < head_entries(view, facts) {
        return 0;
    }
    let (mut counted, mut node) = (0, 0);
    let mut entries = all(view);
    for entry in entries.by_ref().take(narrow::to_usize(before)) {
        if entry.starts() {
            (counted, node) = (counted + node, 0);
        }
        node += 1;
        if limit > 0 && counted + node > limit {
            return counted;
        }
    }
    let is_whole = entries.next().is_none_or(|next| next.starts());
    if is_whole { counted + node } else { counted }
}

/// Returns the number of entries of the first node, which are counted once.
fn head_entries<'n, N: Nodes<'n>>(view: &View<'n, N, BlockLeaf>, facts: &mut Facts) -> u64 {
    let len = view.root.count;
    if facts.nodes <= 1 {
        return len;
    }
    if facts.head_entries == 0 {
        let next = all(view).skip(1).position(|entry| entry.starts());
        facts.head_entries = narrow::to_u32(next.map_or(narrow::to_usize(len), |at| at + 1));
    }
    facts.head_entries.into()
}

/// Iterates over all entries of a tree.
fn all<'n, N: Nodes<'n>>(view: &View<'n, N, BlockLeaf>) -> impl Iterator<Item = Packed<'n>> {
    let (view, mut path) = (*view, view.first());
    let mut block = Block::new(view.leaf(&path));
    let mut packed = block.packed.iter();
    std::iter::from_fn(move || {
        loop {
            if let Some(element) = packed.next() {
                return Some(block.packed(element));
            }
            if !view.next(&mut path) {
                return None;
            }
            block = Block::new(view.leaf(&path));
            packed = block.packed.iter();
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::stream::edit::{NewEntry, append, new_tree};
    use std::cell::Cell;
    use tree::{MemoryNodes, NodeId, Root, Tree};

    /// Nodes that count how often one is read.
    #[derive(Clone, Copy)]
    struct Counted<'n> {
        nodes: &'n MemoryNodes,
        reads: &'n Cell<usize>,
    }

    impl<'n> Nodes<'n> for Counted<'n> {
        fn bytes(self, node: NodeId) -> &'n [u8] {
            self.reads.set(self.reads.get() + 1);
            Nodes::bytes(self.nodes, node)
        }
    }

    /// Stream whose nodes, as clients count them, have so many entries, with ids from 1 on.
    struct Stream {
        nodes: MemoryNodes,
        root: Root,
        facts: Facts,
        reads: Cell<usize>,
    }

    impl Stream {
        fn of(node_lens: &[u64]) -> Stream {
            let mut nodes = MemoryNodes::default();
            let root = new_tree(&mut nodes).expect("room");
            let mut tree: Entries<'_, _> = Tree::new(&mut nodes, root);
            let (mut facts, mut id) = (Facts::default(), Id::MIN);
            for starts in node_lens.iter().flat_map(|len| (0..*len).map(|at| at == 0)) {
                id.ms += 1;
                let new = NewEntry::new([&b"name"[..], b"some value"].into_iter());
                append(&mut tree, &mut facts.tail, id, starts, &new).expect("room");
                facts.note_added(id, starts, new.in_listpack());
            }
            let root = tree.root;
            Stream { nodes, root, facts, reads: Cell::new(0) }
        }

        /// Counts what a trim of whole nodes removes, and the reads of nodes for that.
        fn count(&mut self, to: Bound, limit: u64) -> (u64, usize) {
            self.reads.set(0);
            let nodes = Counted { nodes: &self.nodes, reads: &self.reads };
            let how = Trim { to, whole_nodes: Some(limit) };
            (count(&View::new(nodes, self.root), &mut self.facts, how), self.reads.get())
        }
    }

    /// Entries of the whole nodes among the first `before` entries, and within the limit.
    fn expected(node_lens: &[u64], before: u64, limit: u64) -> u64 {
        let most = if limit == 0 { before } else { before.min(limit) };
        let add = |sum: &mut u64, len: &u64| {
            *sum += len;
            Some(*sum)
        };
        node_lens.iter().scan(0, add).take_while(|sum| *sum <= most).last().unwrap_or(0)
    }

    #[test]
    fn as_many_whole_nodes_go_as_lie_before_the_bound() {
        for lens in [&[][..], &[1], &[5], &[1, 1, 1], &[10, 10, 3], &[3, 40, 1, 2, 300]] {
            let (mut stream, len) = (Stream::of(lens), lens.iter().sum::<u64>());
            for (before, limit) in (0..=len).flat_map(|it| [0, 1, 4, 20, 44].map(|at| (it, at))) {
                let to = [Bound::Length(len - before), Bound::Id(Id { ms: before + 1, seq: 0 })];
                for to in to {
                    let counted = stream.count(to, limit).0;
                    assert_eq!(counted, expected(lens, before, limit), "{to:?} of {lens:?}");
                }
            }
            assert_eq!(stream.count(Bound::Length(len + 1), 0).0, 0);
        }
    }

    #[test]
    fn a_trim_that_removes_nothing_reads_few_nodes_however_long_the_first_one_is() {
        for lens in [&[5_000][..], &[5_000, 1], &[5_000, 5_000]] {
            let (mut stream, len) = (Stream::of(lens), lens.iter().sum::<u64>());
            if lens.len() > 1 {
                // Its entries are counted once.
                assert_eq!(stream.count(Bound::Length(len - 1), 0).0, 0);
            }
            for before in [1, 2_500, 4_999] {
                for to in [Bound::Length(len - before), Bound::Id(Id { ms: before + 1, seq: 0 })] {
                    let (counted, reads) = stream.count(to, 0);
                    assert_eq!(counted, 0, "{to:?} of {lens:?}");
                    assert!(reads < 10, "{reads} reads for {to:?} of {lens:?}");
                }
            }
            let (counted, reads) = stream.count(Bound::Length(0), 100);
            assert_eq!(counted, 0);
            assert!(reads < 20, "{reads} reads within a limit, of {lens:?}");
        }
    }
}
