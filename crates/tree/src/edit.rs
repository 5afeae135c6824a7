//! Insertion, replacement and removal of rows in a tree.

use crate::leaf::Leaf;
use crate::node::{NODE_BYTES, NoRoom, NodesMut};
use crate::path::Path;
use crate::row_leaf::{RowLeaf, widen};
use crate::rows::{Order, Rows, RowsMut};
use crate::tree::Tree;
use packed::{Element, Far};

impl<N: NodesMut, O: Order> Tree<'_, N, RowLeaf<O>> {
    /// Inserts a row before one of the leaf of a path. `ensure_change` must have been called, and
    /// the elements come from `cell`. Returns true if the tree has kept its shape; otherwise all
    /// paths are invalid.
    #[inline]
    pub fn insert_row(&mut self, path: &Path, row: usize, tag: u32, cells: &[Element<'_>]) -> bool {
        let rows = Rows::new(self.nodes.bytes(path.leaf));
        let (len, stride) = (rows.len(), rows.stride());
        if O::TAG_BYTES == 0 && rows.len_with(cells) > NODE_BYTES {
            let is_behind = row == len && self.view().is_last(path);
            if is_behind || row == 0 && self.view().is_first(path) {
                self.insert_leaf_of(path, is_behind, stride, tag, cells);
                return false;
            }
        }
        let growth = rows.growth_for(cells);
        if growth > 0 {
            self.grow_leaf(path, row, growth);
        }
        RowsMut::new(self.nodes.bytes_mut(path.leaf)).insert(row, tag, cells);
        self.changed(path, 1)
    }

    /// Grows a leaf by `growth` bytes, and to a full node where more is likely to follow at its
    /// front, as the free bytes must lie before the rows there.
    #[inline]
    fn grow_leaf(&mut self, path: &Path, row: usize, growth: usize) {
        let len = self.nodes.bytes(path.leaf).len() + growth;
        let is_front = row == 0 && O::TAG_BYTES == 0 && self.view().is_first(path);
        self.nodes.resize(path.leaf, if is_front { len.max(NODE_BYTES) } else { len });
    }

    #[cold]
    fn insert_leaf_of(
        &mut self,
        path: &Path,
        is_behind: bool,
        stride: usize,
        tag: u32,
        cells: &[Element<'_>],
    ) {
        let empty = Rows::empty::<O>(stride);
        let len = Rows::new(&empty).len_with(cells);
        self.insert_leaf(path, is_behind, len, |leaf| {
            leaf[..empty.len()].copy_from_slice(&empty);
            RowsMut::new(leaf).insert(0, tag, cells);
        });
    }

    /// Removes rows of the leaf of a path, which is invalid after that.
    #[inline]
    pub fn remove_rows(&mut self, path: &Path, row: usize, count: usize) {
        self.free_far(path, row, count);
        let mut rows = RowsMut::new(self.nodes.bytes_mut(path.leaf));
        rows.remove(row, count);
        let used = rows.byte_len();
        self.give_back(path, used);
        self.changed(path, -(count as i64));
    }

    /// Removes the rows with these ascending numbers from the leaf of a path, which is invalid
    /// after that.
    pub fn remove_some_rows(&mut self, path: &Path, numbers: &[usize]) {
        for row in numbers {
            self.free_far(path, *row, 1);
        }
        let mut rows = RowsMut::new(self.nodes.bytes_mut(path.leaf));
        let mut end = numbers.len();
        while let Some(last) = end.checked_sub(1) {
            // Adjacent rows are removed together.
            let begin = (0..last).rev().find(|at| numbers[*at] + 1 != numbers[at + 1]);
            let begin = begin.map_or(0, |at| at + 1);
            rows.remove(numbers[begin], end - begin);
            end = begin;
        }
        let used = rows.byte_len();
        self.give_back(path, used);
        self.changed(path, -(numbers.len() as i64));
    }

    /// Replaces an element of a row. `ensure_change` must have been called. The path is invalid
    /// after that.
    #[inline]
    pub fn replace_cell(&mut self, path: &Path, row: usize, column: usize, cell: Element<'_>) {
        let leaf = path.leaf;
        if let Some(far) = Rows::new(self.nodes.bytes(leaf)).far(row, column) {
            self.nodes.free(far.node);
        }
        let mut rows = RowsMut::new(self.nodes.bytes_mut(leaf));
        if let Err(growth) = rows.replace(row, column, cell) {
            let len = self.nodes.bytes(leaf).len() + growth;
            let mut rows = RowsMut::new(self.nodes.resize(leaf, len));
            rows.replace(row, column, cell).expect("the leaf has grown");
        }
        let used = RowsMut::new(self.nodes.bytes_mut(leaf)).byte_len();
        self.give_back(path, used);
        // A leaf that has become short is merged by a later removal.
        self.changed(path, 0);
    }

    /// Returns the element for a text. A long text gets a node of its own, which needs no `ensure`.
    ///
    /// # Errors
    /// When there is no room for that node.
    #[inline]
    pub fn cell<'t>(&mut self, text: &'t [u8]) -> Result<Element<'t>, NoRoom> {
        if text.len() <= CELL_BYTES_MAX { Ok(Element::of(text)) } else { self.far_cell(text) }
    }

    #[cold]
    fn far_cell<'t>(&mut self, text: &[u8]) -> Result<Element<'t>, NoRoom> {
        let node = self.nodes.allocate_long(text.len())?;
        self.nodes.bytes_mut(node).copy_from_slice(text);
        Ok(Element::Far(Far { node, len: text.len() as u64 }))
    }

    /// Frees the nodes of far elements among some rows.
    #[inline]
    fn free_far(&mut self, path: &Path, row: usize, count: usize) {
        let rows = Rows::new(self.nodes.bytes(path.leaf));
        let stride = rows.stride();
        let far: Vec<Far> = rows.packed().far_ones(row * stride, count * stride).collect();
        far.into_iter().for_each(|far| self.nodes.free(far.node));
    }

    /// Shortens a leaf to the bytes that it uses, if enough of it is free.
    #[inline]
    fn give_back(&mut self, path: &Path, used: usize) {
        let len = self.nodes.bytes(path.leaf).len();
        if len - used > len / GIVE_BACK_PART {
            self.nodes.resize(path.leaf, used);
        }
    }

    /// Adds columns, which hold zeros, to the rows of a leaf. `ensure_change` must have been
    /// called. The path is invalid after that.
    pub fn widen_leaf(&mut self, path: &Path, stride: usize) {
        let wide = widen::<O>(Rows::new(self.nodes.bytes(path.leaf)), stride);
        crate::node::write(self.nodes, path.leaf, &wide);
        self.changed(path, 0);
    }

    /// Removes `count` rows from a position on, or those up to the end. Calls `on_leaf` with the
    /// rows of each leaf before they are removed.
    pub fn remove_range(
        &mut self,
        position: u64,
        count: u64,
        mut on_leaf: impl FnMut(&N, Rows<'_>, usize, usize),
    ) {
        let mut left = count.min(self.root.count.saturating_sub(position));
        while left > 0 {
            let (path, from) = self.view().find_position(position);
            let rows = Rows::new(self.nodes.bytes(path.leaf));
            let from = narrow::to_usize(from);
            let taken = (rows.len() - from).min(usize::try_from(left).unwrap_or(usize::MAX));
            on_leaf(self.nodes, rows, from, taken);
            if taken == rows.len() && !path.steps.is_empty() {
                self.free_far(&path, from, taken);
                self.remove_leaf(&path);
            } else {
                self.remove_rows(&path, from, taken);
            }
            left -= taken as u64;
        }
    }

    /// Makes a tree of the rows of a leaf that may be longer than a node; the rows are in order.
    ///
    /// # Errors
    /// When there is no room for it.
    pub fn of_rows<'n>(nodes: &'n mut N, leaf: &[u8]) -> Result<Tree<'n, N, RowLeaf<O>>, NoRoom> {
        let count = Rows::new(leaf).dense_len().div_ceil(NODE_BYTES * 7 / 8).max(1);
        nodes.ensure((count + 2) * 2 * NODE_BYTES)?;
        let mut parts = RowLeaf::<O>::redistribute(&[leaf], count).into_iter();
        let mut tree = match parts.next() {
            Some(first) => Tree::of_leaf(nodes, &first)?,
            None => Tree::of_leaf(nodes, leaf)?,
        };
        for part in parts {
            let path = tree.view().last();
            tree.insert_leaf(&path, true, part.len(), |to| to.copy_from_slice(&part));
        }
        Ok(tree)
    }

    /// Makes a tree without rows.
    ///
    /// # Errors
    /// When there is no room for it.
    pub fn empty(nodes: &mut N, stride: usize) -> Result<crate::Root, crate::NoRoom> {
        let leaf = Rows::empty::<O>(stride);
        Ok(Tree::<N, RowLeaf<O>>::of_leaf(nodes, &leaf)?.root)
    }
}

/// Divisor: a leaf is shortened when more than this part of it is free.
const GIVE_BACK_PART: usize = 8;

/// Longest text that is kept in a leaf; a longer one gets a node of its own.
pub const CELL_BYTES_MAX: usize = NODE_BYTES / 4;
