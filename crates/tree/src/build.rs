//! Bulk construction of trees from rows in order.

use crate::edit::CELL_BYTES_MAX;
use crate::node::{NODE_BYTES, NoRoom, NodesMut, write};
use crate::root::Root;
use crate::row_leaf::RowLeaf;
use crate::rows::{Rows, Tagged};
use crate::tree::Tree;
use packed::{Element, PackedList};

/// Bytes above which no row is added to a leaf, so that it has room for some rows later.
const FILLED_BYTES: usize = NODE_BYTES * 7 / 8;

/// Rows of the leaf that is being filled.
struct Filling {
    tags: Vec<u32>,
    packed: Vec<u8>,
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
        let mut tree: Tree<'_, N, RowLeaf<O>> = Tree::of_leaf(nodes, &Rows::empty::<O>(1))?;
        let mut filling = Filling { tags: Vec::new(), packed: packed::EMPTY.to_vec() };
        for (tag, element) in rows {
            let cell = match element {
                Element::Bytes(text) if text.len() > CELL_BYTES_MAX => tree.cell(text)?,
                near => near,
            };
            // Rows with the same tag stay together, so that a search reads one leaf only.
            let may_part = filling.tags.last().is_some_and(|last| *last != tag);
            if may_part && filling.len_with::<O>(cell) > FILLED_BYTES {
                tree.put_behind(&mut filling)?;
            }
            filling.push(tag, cell);
        }
        tree.put_behind(&mut filling)?;
        Ok(tree.root)
    }

    /// Appends the rows gathered in `filling` to the tree as its last leaf.
    fn put_behind(&mut self, filling: &mut Filling) -> Result<(), NoRoom> {
        let leaf = filling.take::<O>();
        self.ensure_change()?;
        if self.root.count == 0 {
            write(self.nodes, self.root.node, &leaf);
            self.root.count = Rows::new(&leaf).len() as u64;
            return Ok(());
        }
        let path = self.view().last();
        self.insert_leaf(&path, true, leaf.len(), |to| to.copy_from_slice(&leaf));
        Ok(())
    }
}

impl Filling {
    /// Returns the bytes of the leaf with one more row.
    fn len_with<O: Tagged>(&self, cell: Element<'_>) -> usize {
        self.tags.len() * O::TAG_BYTES + PackedList::new(&self.packed).len_with(&[cell])
    }

    fn push(&mut self, tag: u32, cell: Element<'_>) {
        self.tags.push(tag);
        packed::push(&mut self.packed, cell);
    }

    fn take<O: Tagged>(&mut self) -> Vec<u8> {
        let leaf = Rows::of_tagged_packed::<O>(&self.tags, PackedList::new(&self.packed), 1);
        self.tags.clear();
        self.packed.clear();
        self.packed.extend_from_slice(&packed::EMPTY);
        leaf
    }
}
