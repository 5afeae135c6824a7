//! Reading of a tree: paths to leaves, steps between leaves, counts.

use crate::inner::Inner;
use crate::leaf::Leaf;
use crate::node::{NodeId, Nodes};
use crate::path::{Path, Step};
use crate::root::Root;
use smallvec::SmallVec;
use std::marker::PhantomData;

/// View of a tree for reading.
#[derive(Debug)]
pub struct View<'n, N, L> {
    /// Nodes of the tree.
    pub nodes: N,
    /// Root of the tree.
    pub root: Root,
    leaf: PhantomData<(&'n [u8], L)>,
}

impl<N: Copy, L> Clone for View<'_, N, L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<N: Copy, L> Copy for View<'_, N, L> {}

impl<'n, N: Nodes<'n>, L: Leaf> View<'n, N, L> {
    /// Returns a view of the tree at `root`.
    #[inline]
    pub fn new(nodes: N, root: Root) -> View<'n, N, L> {
        View { nodes, root, leaf: PhantomData }
    }

    /// Returns the bytes of the leaf at the end of a path.
    #[inline]
    pub fn leaf(&self, path: &Path) -> &'n [u8] {
        self.nodes.bytes(path.leaf)
    }

    /// Descends to a leaf, at each inner node to the child that `choose` returns.
    #[inline]
    fn descend(&self, mut choose: impl FnMut(Inner<'_>) -> usize) -> Path {
        let mut steps = SmallVec::new();
        let mut node = self.root.node;
        for _ in 0..self.root.height {
            node = self.step_down(&mut steps, node, &mut choose);
        }
        self.nodes.prefetch(node);
        Path { steps, leaf: node }
    }

    #[inline]
    fn step_down(
        &self,
        steps: &mut SmallVec<[Step; 6]>,
        node: NodeId,
        choose: &mut impl FnMut(Inner<'_>) -> usize,
    ) -> NodeId {
        let inner = Inner::new(self.nodes.bytes(node));
        let at = choose(inner);
        steps.push(Step { node, at });
        inner.child(at)
    }

    /// Returns the path to the only leaf that can hold the wanted entry; `is_at_or_above` returns
    /// true if that is at or above a separator.
    #[inline]
    pub fn find(&self, is_at_or_above: impl Fn(&[u8]) -> bool) -> Path {
        self.descend(|inner| inner.find(&is_at_or_above))
    }

    /// Returns the path to the only leaf that can hold rows with a tag, in an order by tags.
    #[inline]
    pub fn find_tag(&self, tag: u32) -> Path {
        self.descend(|inner| inner.find_tag(tag))
    }

    /// Returns the leaf at the end of the path of `find_tag`, and prefetches it.
    #[inline]
    pub fn leaf_of_tag(&self, tag: u32) -> NodeId {
        let mut node = self.root.node;
        for _ in 0..self.root.height {
            let inner = Inner::new(self.nodes.bytes(node));
            node = inner.child(inner.find_tag(tag));
        }
        self.nodes.prefetch(node);
        node
    }

    /// Returns the path to the leaf of a position, and the position within it. A position beyond
    /// the end leads to the last leaf.
    #[inline]
    pub fn find_position(&self, position: u64) -> (Path, u64) {
        let (mut left, mut total) = (position, self.root.count);
        let path = self.descend(|inner| {
            let (at, rest) = inner.find_position(left, total);
            (left, total) = (rest, inner.count(at));
            at
        });
        (path, left)
    }

    /// Returns the path to the first leaf.
    #[inline]
    pub fn first(&self) -> Path {
        self.descend(|_| 0)
    }

    /// Returns the path to the last leaf.
    #[inline]
    pub fn last(&self) -> Path {
        self.descend(|inner| inner.len() - 1)
    }

    /// Returns the number of children of the root, or one if that is a leaf.
    #[inline]
    pub fn width(&self) -> usize {
        if self.root.height == 0 { 1 } else { Inner::new(self.nodes.bytes(self.root.node)).len() }
    }

    /// Returns the sum of the counts of all leaves before that of a path.
    pub fn count_before(&self, path: &Path) -> u64 {
        let count = |step: &Step| Inner::new(self.nodes.bytes(step.node)).count_before(step.at);
        path.steps.iter().map(count).sum()
    }

    /// Returns true if the leaf of a path is the last one.
    #[inline]
    pub fn is_last(&self, path: &Path) -> bool {
        path.steps.iter().all(|step| step.at + 1 == Inner::new(self.nodes.bytes(step.node)).len())
    }

    /// Returns true if the leaf of a path is the first one.
    #[inline]
    pub fn is_first(&self, path: &Path) -> bool {
        path.steps.iter().all(|step| step.at == 0)
    }

    /// Moves a path to the next leaf. At the last one returns false and leaves the path unchanged.
    #[inline]
    pub fn next(&self, path: &mut Path) -> bool {
        let can_go = |step: &Step| step.at + 1 < Inner::new(self.nodes.bytes(step.node)).len();
        self.turn(path, can_go, |at| at + 1, |_| 0)
    }

    /// Moves a path to the previous leaf. At the first one returns false and leaves the path
    /// unchanged.
    #[inline]
    pub fn previous(&self, path: &mut Path) -> bool {
        self.turn(path, |step| step.at > 0, |at| at - 1, |inner| inner.len() - 1)
    }

    /// Moves to another child at the lowest step for which `can` returns true, and descends from
    /// there.
    #[inline]
    fn turn(
        &self,
        path: &mut Path,
        can: impl Fn(&Step) -> bool,
        turn: impl Fn(usize) -> usize,
        mut choose: impl FnMut(Inner<'_>) -> usize,
    ) -> bool {
        let Some(level) = path.steps.iter().rposition(can) else { return false };
        let height = path.steps.len();
        path.steps.truncate(level + 1);
        let step = &mut path.steps[level];
        step.at = turn(step.at);
        let mut node = Inner::new(self.nodes.bytes(step.node)).child(step.at);
        while path.steps.len() < height {
            node = self.step_down(&mut path.steps, node, &mut choose);
        }
        path.leaf = node;
        true
    }
}
