//! Changing a tree: counts, new leaves at the ends, and what a changed leaf asks for.

use crate::inner::{Child, add_count, byte_len, encode};
use crate::leaf::{Leaf, Separator};
use crate::node::{NODE_BYTES, NODE_ROOM, NoRoom, NodeId, NodesMut, write};
use crate::path::Path;
use crate::root::Root;
use crate::view::View;
use smallvec::smallvec;
use std::marker::PhantomData;

/// A tree that is changed. Its root is the caller's to keep.
#[derive(Debug)]
pub struct Tree<'n, N, L> {
    /// Its nodes.
    pub nodes: &'n mut N,
    /// Where it begins.
    pub root: Root,
    leaf: PhantomData<L>,
}

impl<'n, N: NodesMut, L: Leaf> Tree<'n, N, L> {
    /// The tree at `root`.
    #[inline]
    pub fn new(nodes: &'n mut N, root: Root) -> Tree<'n, N, L> {
        Tree { nodes, root, leaf: PhantomData }
    }

    /// A new tree that consists of one leaf.
    ///
    /// # Errors
    /// When there is no room for it.
    pub fn of_leaf(nodes: &'n mut N, leaf: &[u8]) -> Result<Tree<'n, N, L>, NoRoom> {
        nodes.ensure(leaf.len().max(NODE_ROOM))?;
        let node = nodes.allocate(leaf.len(), NODE_ROOM);
        nodes.bytes_mut(node).copy_from_slice(leaf);
        Ok(Tree::new(nodes, Root { node, height: 0, count: L::count(leaf) }))
    }

    /// The same, for reading.
    #[inline]
    pub fn view(&self) -> View<'_, N::Read<'_>, L> {
        View::new(self.nodes.read(), self.root)
    }

    /// Makes sure that one leaf can be changed, by an entry of at most a node, and all above it.
    ///
    /// # Errors
    /// When there is no room for that.
    #[inline]
    pub fn ensure_change(&mut self) -> Result<(), NoRoom> {
        self.nodes.ensure(self.root.change_bytes())
    }

    /// For after the leaf of a path was changed: counts what it gained, and splits or merges it if
    /// it has become too long or too short. Returns whether the tree has kept its shape: if not,
    /// all paths are void after that.
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

    /// Puts a new leaf of `len` bytes behind that of a path, or before it, for `fill` to write.
    /// The leaf there stays as it is, so that what is appended fills leaves to the end; none of
    /// them needs room for the row for which others are split.
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

    /// Puts a child `offset` places from the one that a path takes at a level, and adds what it
    /// counts to all above.
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
            // The separator belongs to the child that was here: it is now behind the new one.
            let old = std::mem::replace(&mut children[step.at].separator, child.separator);
            children.insert(at, Child { separator: old, ..child });
        } else {
            children.insert(at, child);
        }
        self.put_children(path, level - 1, children);
    }

    /// Makes the root a child beside another one, which counts what the root has gained already.
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

    /// Makes a new root above these children.
    pub(crate) fn put_root(&mut self, children: &[Child]) {
        let bytes = encode(children);
        let node = self.nodes.allocate(bytes.len(), bytes.len());
        self.nodes.bytes_mut(node).copy_from_slice(&bytes);
        self.root.node = node;
        self.root.height += 1;
    }

    /// Writes the children of the inner node at a level of a path, which is split if they have
    /// become too many.
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

    /// Leaves a part of the children to their node, and gives the others to a new one. What grew
    /// at an end is left full.
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

    /// A root above a leaf that was split while it was the root.
    pub(crate) fn split_root_leaf(&mut self, parts: [(NodeId, u64); 2], separator: Separator) {
        let [(left, left_count), (right, right_count)] = parts;
        self.put_root(&[
            Child { node: left, count: left_count, separator: smallvec![] },
            Child { node: right, count: right_count, separator },
        ]);
    }
}

/// Where children are parted, of which the one at `grown_at` is new.
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
