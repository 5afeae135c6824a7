//! Bulk construction of trees from rows in order.
//!
//! ```text
//! row, row, ... ─▶ | leaf that is being filled | ─▶ behind the last leaf of the tree
//! ```

use crate::edit::CELL_BYTES_MAX;
use crate::node::{NODE_BYTES, NoRoom, NodesMut, write};
use crate::root::Root;
use crate::row_leaf::RowLeaf;
use crate::rows::{HEAD_BYTES, Order, Rows, Tagged, tags_bytes};
use crate::tree::Tree;
use packed::{Element, PackedList};
use smallvec::SmallVec;

/// Bytes above which no row is added to a leaf in the order of tags, so that it has room for some
/// rows later: they come anywhere.
const FILLED_BYTES: usize = NODE_BYTES * 7 / 8;

/// Most bytes in front of the cells besides tags: heads, and room for further tags.
const FRONT_BYTES_MAX: usize = 64;

/// Cells of one row.
type Cells<'t> = SmallVec<[Element<'t>; 4]>;

/// A tree that is made of rows in order, from below.
#[derive(Debug)]
pub struct Builder<'n, N, O> {
    tree: Tree<'n, N, RowLeaf<O>>,
    filling: Filling,
}

/// Rows of the leaf that is being filled.
#[derive(Debug)]
struct Filling {
    /// Columns of its rows; those of the first one as long as there is none.
    stride: usize,
    tags: Vec<u32>,
    packed: Vec<u8>,
    /// Most bytes that the cells take.
    cost: usize,
}

impl<'n, N: NodesMut, O: Tagged> Tree<'n, N, RowLeaf<O>> {
    /// Makes a tree of rows of one element each. Their tags are in ascending order. Long texts are
    /// given as they are, and get nodes of their own here.
    ///
    /// # Errors
    /// When there is no room for it. Nodes made until then are left to the caller.
    pub fn of_tagged<'t>(
        nodes: &'n mut N,
        rows: impl Iterator<Item = (u32, Element<'t>)>,
    ) -> Result<Root, NoRoom> {
        let mut builder: Builder<'_, N, O> = Builder::new(nodes, 1)?;
        for (tag, element) in rows {
            builder.push(tag, &[element])?;
        }
        builder.finish()
    }
}

impl<'n, N: NodesMut, O: Order> Builder<'n, N, O> {
    /// A tree without rows. As long as it has none, its leaf has this number of columns.
    ///
    /// # Errors
    /// When there is no room for it.
    pub fn new(nodes: &'n mut N, stride: usize) -> Result<Builder<'n, N, O>, NoRoom> {
        let tree = Tree::of_leaf(nodes, &Rows::empty::<O>(stride))?;
        let (tags, packed) = (Vec::new(), packed::EMPTY.to_vec());
        Ok(Builder { tree, filling: Filling { stride, tags, packed, cost: 0 } })
    }

    /// Adds a row behind all others; in orders without tags, the tag is zero. Long texts are given
    /// as they are, and get nodes of their own here. A leaf has as many columns as the longest of
    /// its rows; others hold zeros there.
    ///
    /// # Errors
    /// When there is no room for it. Nodes made until then are left to the caller.
    #[inline]
    pub fn push(&mut self, tag: u32, row: &[Element<'_>]) -> Result<(), NoRoom> {
        let mut cells: Cells<'_> = SmallVec::from_slice(row);
        for cell in &mut cells {
            if let Element::Bytes(text) = *cell
                && text.len() > CELL_BYTES_MAX
            {
                *cell = self.tree.cell(text)?;
            }
        }
        let most = if O::TAG_BYTES > 0 { FILLED_BYTES } else { NODE_BYTES };
        if self.filling.may_end_before::<O>(tag) && self.filling.is_full_for::<O>(&cells, most) {
            self.put_behind()?;
        }
        self.filling.push::<O>(tag, cells);
        Ok(())
    }

    /// Ends the tree, and returns its root.
    ///
    /// # Errors
    /// As those of `push`.
    pub fn finish(mut self) -> Result<Root, NoRoom> {
        if !self.filling.is_empty() {
            self.put_behind()?;
        }
        Ok(self.tree.root)
    }

    /// Appends the leaf that is being filled to the tree.
    fn put_behind(&mut self) -> Result<(), NoRoom> {
        let (leaf, tree) = (self.filling.take::<O>(), &mut self.tree);
        tree.ensure_change()?;
        if tree.root.count == 0 {
            write(tree.nodes, tree.root.node, &leaf);
            tree.root.count = Rows::new(&leaf).len() as u64;
            return Ok(());
        }
        let path = tree.view().last();
        tree.insert_leaf(&path, true, leaf.len(), |to| to.copy_from_slice(&leaf));
        Ok(())
    }
}

impl Filling {
    fn is_empty(&self) -> bool {
        PackedList::new(&self.packed).is_empty()
    }

    /// Returns true if the leaf may end before a row with this tag: rows with the same tag stay
    /// together, so that a search reads one leaf only.
    #[inline]
    fn may_end_before<O: Order>(&self, tag: u32) -> bool {
        let is_same = O::TAG_BYTES > 0 && self.tags.last() == Some(&tag);
        !is_same && !self.is_empty()
    }

    /// Returns true if the leaf with one more row would be longer than `most` bytes.
    #[inline]
    fn is_full_for<O: Order>(&self, row: &[Element<'_>], most: usize) -> bool {
        // Most rows are far from that.
        let far = most.saturating_sub(FRONT_BYTES_MAX + self.tags.len() * O::TAG_BYTES);
        let is_near = row.len() > self.stride || self.cost + cost_of(row) > far;
        is_near && self.len_with::<O>(row) > most
    }

    /// Returns the bytes of the leaf with one more row.
    fn len_with<O: Order>(&self, row: &[Element<'_>]) -> usize {
        let packed = PackedList::new(&self.packed);
        let rows = packed.len() / self.stride;
        let widened = row.len().saturating_sub(self.stride) * rows * Element::Integer(0).cost();
        HEAD_BYTES + tags_bytes(O::TAG_BYTES, rows + 1) + packed.len_with(row) + widened
    }

    #[inline]
    fn push<O: Order>(&mut self, tag: u32, mut row: Cells<'_>) {
        if self.is_empty() {
            self.stride = row.len();
        } else if row.len() > self.stride {
            self.widen(row.len());
        }
        row.resize(self.stride, Element::Integer(0));
        packed::push_row(&mut self.packed, &row);
        self.cost += cost_of(&row);
        if O::TAG_BYTES > 0 {
            self.tags.push(tag);
        }
    }

    /// Adds columns, which hold zeros.
    #[cold]
    fn widen(&mut self, stride: usize) {
        let narrow = std::mem::replace(&mut self.packed, packed::EMPTY.to_vec());
        let mut elements = PackedList::new(&narrow).iter();
        loop {
            let mut row: Cells<'_> = elements.by_ref().take(self.stride).collect();
            if row.is_empty() {
                break;
            }
            row.resize(stride, Element::Integer(0));
            packed::push_row(&mut self.packed, &row);
            self.cost += cost_of(&row[self.stride..]);
        }
        self.stride = stride;
    }

    /// Returns the bytes of the leaf, and begins another one.
    fn take<O: Order>(&mut self) -> Vec<u8> {
        let packed = PackedList::new(&self.packed);
        let leaf = if O::TAG_BYTES > 0 {
            Rows::of_tagged_packed::<O>(&self.tags, packed, self.stride)
        } else {
            Rows::of_packed(packed, self.stride)
        };
        self.cost = 0;
        self.tags.clear();
        self.packed.clear();
        self.packed.extend_from_slice(&packed::EMPTY);
        leaf
    }
}

/// Most bytes that the cells of a row take.
#[inline]
fn cost_of(row: &[Element<'_>]) -> usize {
    row.iter().map(|cell| cell.cost()).sum()
}
