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
    match how.whole_nodes {
        None => count_all(view, how.to),
        Some(limit) => count_nodes(view, facts, how.to, limit),
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

/// Counts the entries in nodes that lie completely before a bound.
fn count_nodes<'n, N: Nodes<'n>>(
    view: &View<'n, N, BlockLeaf>,
    facts: &mut Facts,
    to: Bound,
    limit: u64,
) -> u64 {
    let len = view.root.count;
    let is_kept = |gone: u64, entry: &Packed<'_>| match to {
        // Without this entry, fewer than `most` would remain: its node is kept.
        Bound::Length(most) => len - gone <= most,
        Bound::Id(id) => entry.id >= id,
    };
    if let Bound::Length(most) = to {
        if len <= most {
            return 0;
        }
        if facts.head_entries == 0 {
            facts.head_entries = count_head(view);
        }
        if facts.head_entries > 0 && len < most.saturating_add(facts.head_entries.into()) {
            return 0;
        }
    }
    let (mut counted, mut node) = (0, 0);
    for entry in all(view) {
        if entry.starts() && node > 0 {
            if limit > 0 && counted + node > limit {
                return counted;
            }
            (counted, node) = (counted + node, 0);
        }
        if is_kept(counted + node, &entry) {
            return counted;
        }
        node += 1;
    }
    if limit > 0 && counted + node > limit { counted } else { counted + node }
}

/// Counts the entries of the first node; zero if it is also the last one, or very long.
fn count_head<'n, N: Nodes<'n>>(view: &View<'n, N, BlockLeaf>) -> u32 {
    let mut behind = all(view).take(HEAD_ENTRIES_MAX).skip(1);
    behind.position(|entry| entry.starts()).map_or(0, |at| narrow::to_u32(at) + 1)
}

/// Longest first node whose count is kept; longer ones are counted anew each time.
const HEAD_ENTRIES_MAX: usize = 1024;

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
