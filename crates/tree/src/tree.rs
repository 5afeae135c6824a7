//! Changes to a tree: counts, new leaves, and splits of inner nodes.

use crate::inner::{Child, add_count, byte_len, encode};
use crate::leaf::{Leaf, Separator};
use crate::node::{NODE_BYTES, NODE_ROOM, NoRoom, NodeId, NodesMut, write};
use crate::path::Path;
use crate::root::Root;
use crate::view::View;
use smallvec::smallvec;
use std::marker::PhantomData;

/// Mutable view of a tree. The caller keeps its root.
#[derive(Debug)]
pub struct Tree<'n, N, L> {
    /// Nodes of the tree.
    pub nodes: &'n mut N,
    /// Root of the tree.
    pub root: Root,
    leaf: PhantomData<L>,
}

impl<'n, N: NodesMut, L: Leaf> Tree<'n, N, L> {
    /// Returns the tree at `root`.
    #[inline]
    pub fn new(nodes: &'n mut N, root: Root) -> Tree<'n, N, L> {
        Tree { nodes, root, leaf: PhantomData }
    }

    /// Makes a new tree that consists of one leaf.
    ///
    /// # Errors
    /// When there is no room for it.
    pub fn of_leaf(nodes: &'n mut N, leaf: &[u8]) -> Result<Tree<'n, N, L>, NoRoom> {
        nodes.ensure(leaf.len().max(NODE_ROOM))?;
        let node = nodes.allocate(leaf.len(), NODE_ROOM);
        nodes.bytes_mut(node).copy_from_slice(leaf);
        Ok(Tree::new(nodes, Root { node, height: 0, count: L::count(leaf) }))
    }

    /// Returns a view for reading.
    #[inline]
    pub fn view(&self) -> View<'_, N::Read<'_>, L> {
        View::new(self.nodes.read(), self.root)
    }

    /// Ensures room for a change of one leaf, by an entry of at most a node, and of all nodes above
    /// it.
    ///
    /// # Errors
    /// When there is no room for that.
    #[inline]
    pub fn ensure_change(&mut self) -> Result<(), NoRoom> {
        self.nodes.ensure(self.root.change_bytes())
    }

    /// Completes a change of the leaf of a path: adds `gained` to the counts, and splits or merges
    /// the leaf if it has become too long or too short. Returns true if the tree has kept its
    /// shape; otherwise all paths are invalid.
    #[inline]
    pub fn changed(&mut self, path: &Path, gained: i64) -> bool {
        if gained != 0 {
            self.add_count(path, gained);
        }
        let len = self.nodes.bytes(path.leaf).len();
        if len > NODE_BYTES {
            self.split_leaf(path);
        } else if gained < 0 && len < NODE_BYTES / 2 {
            self.shorten(path, len);
        } else {
            return true;
        }
        false
    }

    /// Adds to the counts on a path.
    #[inline]
    pub fn add_count(&mut self, path: &Path, gained: i64) {
        self.root.count = self.root.count.wrapping_add_signed(gained);
        for step in &path.steps {
            add_count(self.nodes.bytes_mut(step.node), step.at, gained);
        }
    }

    /// Adds a new leaf of `len` bytes behind that of a path, or before it, and has `fill` write it.
    /// The leaf there is unchanged, so that appending fills leaves to the end; no leaf then needs
    /// room for the row that would split it.
    pub fn insert_leaf(
        &mut self,
        path: &Path,
        is_behind: bool,
        len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) {
        let node = self.nodes.allocate(len, NODE_BYTES);
        let bytes = self.nodes.bytes_mut(node);
        fill(bytes);
        let count = L::count(bytes);
        self.root.count += count;
        let (old, new) = (self.nodes.bytes(path.leaf), self.nodes.bytes(node));
        let read = self.nodes.read();
        let (at, separator) = if is_behind {
            (1, L::separator(read, old, new))
        } else {
            (0, L::separator(read, new, old))
        };
        self.insert_child(path, path.steps.len(), at, Child { node, count, separator });
    }

    /// Inserts a child `offset` places from the one that a path takes at a level, and adds its
    /// count to all nodes above.
    fn insert_child(&mut self, path: &Path, level: usize, offset: usize, child: Child) {
        let gained = child.count as i64;
        let Some(step) = level.checked_sub(1).map(|level| path.steps[level]) else {
            return self.grow_root(child, offset);
        };
        for above in &path.steps[..level - 1] {
            add_count(self.nodes.bytes_mut(above.node), above.at, gained);
        }
        let mut children = self.children(step.node);
        let at = step.at + offset;
        if offset == 0 {
            // The new separator belongs to the child that was here, which is now behind the new
            // child.
            let old = std::mem::replace(&mut children[step.at].separator, child.separator);
            children.insert(at, Child { separator: old, ..child });
        } else {
            children.insert(at, child);
        }
        self.put_children(path, level - 1, children);
    }

    /// Makes a new root above the old one and another child, whose count the root includes already.
    fn grow_root(&mut self, child: Child, offset: usize) {
        let count = self.root.count - child.count;
        let separator = Separator::new();
        let old = Child { node: self.root.node, count, separator };
        let children = if offset == 0 {
            let Child { node, count, separator } = child;
            [Child { node, count, separator: Separator::new() }, Child { separator, ..old }]
        } else {
            [old, child]
        };
        self.put_root(&children);
    }

    /// Makes a new root with these children.
    pub(crate) fn put_root(&mut self, children: &[Child]) {
        let bytes = encode(children);
        let node = self.nodes.allocate(bytes.len(), bytes.len());
        self.nodes.bytes_mut(node).copy_from_slice(&bytes);
        self.root.node = node;
        self.root.height += 1;
    }

    /// Writes the children of the inner node at a level of a path, and splits it if they are too
    /// many.
    pub(crate) fn put_children(&mut self, path: &Path, level: usize, children: Vec<Child>) {
        let step = path.steps[level];
        let bytes = encode(&children);
        if bytes.len() <= NODE_BYTES || children.len() < 4 {
            write(self.nodes, step.node, &bytes);
            return;
        }
        let parts = self.split_children(step.node, children, step.at);
        let Some(above) = level.checked_sub(1) else {
            return self.put_root(&parts);
        };
        let mut children = self.children(path.steps[above].node);
        let at = path.steps[above].at;
        let [left, right] = parts;
        children[at].count = left.count;
        children.insert(at + 1, right);
        self.put_children(path, above, children);
    }

    /// Keeps a part of the children in their node, and moves the others to a new one. A node that
    /// grew at an end stays nearly full.
    fn split_children(
        &mut self,
        node: NodeId,
        mut left: Vec<Child>,
        grown_at: usize,
    ) -> [Child; 2] {
        let mut right = left.split_off(middle_of(&left, grown_at));
        let separator = std::mem::take(&mut right[0].separator);
        let count = |children: &[Child]| children.iter().map(|child| child.count).sum();
        let (left_count, right_count) = (count(&left), count(&right));
        write(self.nodes, node, &encode(&left));
        let bytes = encode(&right);
        let other = self.nodes.allocate(bytes.len(), bytes.len());
        self.nodes.bytes_mut(other).copy_from_slice(&bytes);
        [
            Child { node, count: left_count, separator: Separator::new() },
            Child { node: other, count: right_count, separator },
        ]
    }

    /// Makes a root above the two parts of a leaf that was the root.
    pub(crate) fn split_root_leaf(&mut self, parts: [(NodeId, u64); 2], separator: Separator) {
        let [(left, left_count), (right, right_count)] = parts;
        self.put_root(&[
            Child { node: left, count: left_count, separator: smallvec![] },
            Child { node: right, count: right_count, separator },
        ]);
    }
}

/// Returns the index at which children are split, of which the one at `grown_at` is new.
fn middle_of(children: &[Child], grown_at: usize) -> usize {
    let len = children.len();
    let middle = if grown_at + 3 > len {
        len - len / 8 - 1
    } else if grown_at < 2 {
        len / 8 + 1
    } else {
        len / 2
    };
    if byte_len(&children[..middle]).max(byte_len(&children[middle..])) <= NODE_BYTES {
        return middle;
    }
    // Separators differ in length. That of the child in the middle goes up, so both parts take
    // half of the bytes or less.
    let half = byte_len(children) / 2;
    let is_beyond = |end: &usize| byte_len(&children[..*end + 1]) > half;
    (1..len - 1).find(is_beyond).unwrap_or(len - 1)
}
