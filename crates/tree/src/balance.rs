//! Balancing: keeps leaves and inner nodes neither too long nor too short.
//!
//! A leaf that is too long is shifted into a neighbour that has room; otherwise it and a neighbour
//! become three (Knuth, The Art of Computer Programming 3, section 6.2.4, B*-trees), so leaves are
//! four fifths full rather than two thirds.

use crate::inner::{Child, Inner, byte_len, encode};
use crate::leaf::{Leaf, Parts, Separator};
use crate::node::{NODE_BYTES, NODE_ROOM, NodeId, NodesMut, write};
use crate::path::Path;
use crate::tree::Tree;
use smallvec::SmallVec;

/// Most bytes of two neighbouring leaves that are shared out to two; longer ones become three.
const SHIFT_BYTES_MAX: usize = NODE_BYTES * 7 / 4;
/// Most bytes of two neighbouring nodes that are merged into one.
const MERGE_BYTES_MAX: usize = NODE_BYTES * 3 / 4;

impl<N: NodesMut, L: Leaf> Tree<'_, N, L> {
    /// Splits a leaf that is too long, or shares its rows with a neighbour.
    #[cold]
    pub(crate) fn split_leaf(&mut self, path: &Path) {
        let Some(step) = path.steps.last() else {
            return self.split_only_leaf(path.leaf);
        };
        let inner = Inner::new(self.nodes.bytes(step.node));
        let len = |at: usize| self.nodes.bytes(inner.child(at)).len();
        let neighbour = [step.at.wrapping_sub(1), step.at + 1]
            .into_iter()
            .filter(|at| *at < inner.len())
            .min_by_key(|at| len(*at));
        let Some(neighbour) = neighbour else {
            let parts = L::redistribute(&[self.nodes.bytes(path.leaf)], 2);
            return self.replace_leaves(path, step.at, 1, &parts);
        };
        let first = neighbour.min(step.at);
        let pair = [inner.child(first), inner.child(first + 1)].map(|node| self.nodes.bytes(node));
        let count = if pair[0].len() + pair[1].len() <= SHIFT_BYTES_MAX { 2 } else { 3 };
        let parts = L::redistribute(&pair, count);
        self.replace_leaves(path, first, 2, &parts);
    }

    fn split_only_leaf(&mut self, leaf: NodeId) {
        let parts = L::redistribute(&[self.nodes.bytes(leaf)], 2);
        let [left, right] = parts.as_slice() else { return };
        let separator = L::separator(self.nodes.read(), left, right);
        let other = self.nodes.allocate(right.len(), NODE_ROOM);
        self.nodes.bytes_mut(other).copy_from_slice(right);
        write(self.nodes, leaf, left);
        self.split_root_leaf([(leaf, L::count(left)), (other, L::count(right))], separator);
    }

    /// Replaces `count` leaves, from child `first` of the lowest inner node of a path on, by leaves
    /// with other contents.
    fn replace_leaves(&mut self, path: &Path, first: usize, count: usize, contents: &Parts) {
        let level = path.steps.len() - 1;
        let above = path.steps[level].node;
        let inner = Inner::new(self.nodes.bytes(above));
        let old: SmallVec<[NodeId; 3]> = (first..first + count).map(|at| inner.child(at)).collect();
        let mut new: SmallVec<[Child; 3]> = SmallVec::new();
        for (at, content) in contents.iter().enumerate() {
            // The first one keeps its separator.
            let separator = match at.checked_sub(1) {
                Some(before) => L::separator(self.nodes.read(), &contents[before], content),
                None => Separator::new(),
            };
            let node = if let Some(node) = old.get(at) {
                write(self.nodes, *node, content);
                *node
            } else {
                let node = self.nodes.allocate(content.len(), NODE_ROOM);
                self.nodes.bytes_mut(node).copy_from_slice(content);
                node
            };
            new.push(Child { node, count: L::count(content), separator });
        }
        old.iter().skip(contents.len()).for_each(|node| self.nodes.free(*node));
        let spliced = Inner::new(self.nodes.bytes(above)).spliced(first, count, &new);
        if spliced.len() <= NODE_BYTES {
            write(self.nodes, above, &spliced);
        } else {
            self.put_children(path, level, Inner::new(&spliced).to_children());
        }
        if contents.len() < count {
            self.shorten_inner(path, level);
        }
    }

    /// Merges a leaf that has become short with a neighbour, or removes it when it is empty.
    #[cold]
    pub(crate) fn shorten(&mut self, path: &Path, len: usize) {
        if L::count(self.nodes.bytes(path.leaf)) == 0 {
            return self.drop_leaf(path);
        }
        let Some(step) = path.steps.last() else { return };
        let inner = Inner::new(self.nodes.bytes(step.node));
        let fits = |at: usize| {
            at < inner.len() && self.nodes.bytes(inner.child(at)).len() + len <= MERGE_BYTES_MAX
        };
        let neighbour = [step.at.wrapping_sub(1), step.at + 1].into_iter().find(|at| fits(*at));
        let Some(neighbour) = neighbour else { return };
        let first = neighbour.min(step.at);
        let pair = [inner.child(first), inner.child(first + 1)].map(|node| self.nodes.bytes(node));
        let parts = L::redistribute(&pair, 1);
        self.replace_leaves(path, first, 2, &parts);
    }

    /// Removes the leaf of a path with all its rows; the only leaf of a tree stays, and the caller
    /// empties it. The path is invalid after that.
    pub fn remove_leaf(&mut self, path: &Path) {
        let count = L::count(self.nodes.bytes(path.leaf));
        self.add_count(path, -(count as i64));
        self.drop_leaf(path);
    }

    /// Removes a leaf whose count has been subtracted.
    fn drop_leaf(&mut self, path: &Path) {
        if !path.steps.is_empty() {
            self.nodes.free(path.leaf);
            self.drop_child(path, path.steps.len() - 1);
        }
    }

    /// Removes the child that a path takes at a level, whose node has been freed.
    fn drop_child(&mut self, path: &Path, level: usize) {
        let step = path.steps[level];
        let mut children = self.children(step.node);
        children.remove(step.at);
        if children.is_empty() {
            self.nodes.free(step.node);
            return match level.checked_sub(1) {
                Some(above) => self.drop_child(path, above),
                None => unreachable!("a tree keeps its last leaf"),
            };
        }
        write(self.nodes, step.node, &encode(&children));
        self.shorten_inner(path, level);
    }

    /// Merges the inner node at a level of a path with a neighbour, if it has become short. A root
    /// with one child is replaced by that child.
    fn shorten_inner(&mut self, path: &Path, level: usize) {
        let Some(above) = level.checked_sub(1) else {
            return self.lower_root();
        };
        let step = path.steps[above];
        if self.nodes.bytes(path.steps[level].node).len() > NODE_BYTES / 4 {
            return;
        }
        let parents = self.children(step.node);
        let pairs = [step.at.wrapping_sub(1), step.at];
        for first in pairs.into_iter().filter(|at| at.saturating_add(1) < parents.len()) {
            let (left, right) = (&parents[first], &parents[first + 1]);
            let mut children = self.children(left.node);
            let mut others = self.children(right.node);
            others[0].separator.clone_from(&right.separator);
            children.append(&mut others);
            if byte_len(&children) <= MERGE_BYTES_MAX {
                return self.merge_inner(path, above, first, &children);
            }
        }
    }

    /// Writes `children`, those of two neighbours whose parent is at a level of a path, into the
    /// first neighbour and frees the second.
    fn merge_inner(&mut self, path: &Path, level: usize, first: usize, children: &[Child]) {
        let step = path.steps[level];
        let mut parents = self.children(step.node);
        let right = parents.remove(first + 1);
        parents[first].count += right.count;
        write(self.nodes, parents[first].node, &encode(children));
        self.nodes.free(right.node);
        write(self.nodes, step.node, &encode(&parents));
        self.shorten_inner(path, level);
    }

    fn lower_root(&mut self) {
        while self.root.height > 0 {
            let inner = Inner::new(self.nodes.bytes(self.root.node));
            if inner.len() > 1 {
                return;
            }
            let child = inner.child(0);
            self.nodes.free(self.root.node);
            self.root.node = child;
            self.root.height -= 1;
        }
    }

    /// Returns the children of an inner node, to be changed.
    pub(crate) fn children(&self, node: NodeId) -> Vec<Child> {
        Inner::new(self.nodes.bytes(node)).to_children()
    }
}
