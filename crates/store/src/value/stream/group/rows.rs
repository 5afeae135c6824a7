//! Trees of rows ordered by their first element.

use packed::Element;
use std::cmp::Ordering;
use tree::{
    ByKey, NoRoom, Nodes, NodesMut, Order, Path, Root, RowLeaf, Rows, Separator, Tree, View,
    shortest_between,
};

/// Order by the bytes of the first element.
pub(super) trait Keyed: Order {
    /// Returns the key of a row.
    fn key<'n>(nodes: impl Nodes<'n>, rows: Rows<'n>, row: usize) -> &'n [u8];
}

impl Keyed for ByKey {
    #[inline]
    fn key<'n>(_: impl Nodes<'n>, rows: Rows<'n>, row: usize) -> &'n [u8] {
        ByKey::key(rows, row)
    }
}

/// Order by name; long names have nodes of their own.
#[derive(Debug)]
pub(in crate::value::stream) enum ByName {}

impl Keyed for ByName {
    #[inline]
    fn key<'n>(nodes: impl Nodes<'n>, rows: Rows<'n>, row: usize) -> &'n [u8] {
        match rows.cell(row, 0) {
            Some(Element::Bytes(name)) => name,
            Some(Element::Far(far)) => nodes.bytes(far.node),
            _ => &[],
        }
    }
}

impl ByName {
    fn with_key<'n, T>(
        nodes: impl Nodes<'n>,
        rows: Rows<'_>,
        row: usize,
        use_key: impl FnOnce(&[u8]) -> T,
    ) -> T {
        match rows.cell(row, 0) {
            Some(Element::Bytes(name)) => use_key(name),
            Some(Element::Far(far)) => use_key(nodes.bytes(far.node)),
            _ => use_key(&[]),
        }
    }
}

impl Order for ByName {
    fn separator<'n>(nodes: impl Nodes<'n>, left: Rows<'_>, right: Rows<'_>) -> Separator {
        ByName::with_key(nodes, left, left.len() - 1, |below| {
            ByName::with_key(nodes, right, 0, |above| shortest_between(below, above))
        })
    }

    fn is_below<'n>(nodes: impl Nodes<'n>, rows: Rows<'_>, row: usize, separator: &[u8]) -> bool {
        ByName::with_key(nodes, rows, row, |key| key < separator)
    }

    fn cmp_rows<'n>(nodes: impl Nodes<'n>, rows: Rows<'_>, row: usize, other: usize) -> Ordering {
        ByName::with_key(nodes, rows, row, |one| {
            ByName::with_key(nodes, rows, other, |other| one.cmp(other))
        })
    }
}

/// Position of a row, or the one at which it would be inserted.
#[derive(Debug)]
pub(super) struct RowAt {
    pub path: Path,
    pub row: usize,
    pub is_there: bool,
}

/// Finds the first row that is not below a key.
#[inline]
pub(super) fn seek<'n, N: Nodes<'n>, O: Keyed>(
    view: &View<'n, N, RowLeaf<O>>,
    key: &[u8],
) -> RowAt {
    let path = view.find(|separator| separator <= key);
    let rows = Rows::new(view.leaf(&path));
    let row = rows.partition(|row| O::key(view.nodes, rows, row) < key);
    let is_there = row < rows.len() && O::key(view.nodes, rows, row) == key;
    RowAt { path, row, is_there }
}

/// Returns the second element of the row with a key.
#[inline]
pub(super) fn find<'n, N: Nodes<'n>, O: Keyed>(
    nodes: N,
    root: Root,
    key: &[u8],
) -> Option<Element<'n>> {
    if root.count == 0 {
        return None;
    }
    let view: View<'n, N, RowLeaf<O>> = View::new(nodes, root);
    let place = seek(&view, key);
    let rows = Rows::new(view.leaf(&place.path));
    rows.cell(place.row, 1).filter(|_| place.is_there)
}

/// Iterates over rows from a key on, as two elements each; a missing tree has none.
pub(super) fn walk<'n, N: Nodes<'n>, O: Keyed>(
    nodes: N,
    root: Root,
    from: &[u8],
) -> impl Iterator<Item = [Element<'n>; 2]> + use<'n, N, O> {
    let begin = (root.count > 0).then(|| {
        let view: View<'n, N, RowLeaf<O>> = View::new(nodes, root);
        let place = seek(&view, from);
        let cells = Rows::new(view.leaf(&place.path)).cells_from(place.row);
        (view, place.path, cells)
    });
    let mut state = begin;
    std::iter::from_fn(move || {
        let (view, path, cells) = state.as_mut()?;
        loop {
            if let Some(first) = cells.next() {
                return Some([first, cells.next().unwrap_or(Element::Integer(0))]);
            }
            if !view.next(path) {
                return None;
            }
            *cells = Rows::new(view.leaf(path)).cells_from(0);
        }
    })
}

/// Number of columns in all these trees.
const COLUMNS: usize = 2;
/// Most bytes of a record besides its content.
const RECORD_BYTES: usize = 64;

/// Inserts a row, or replaces the second element of the row with its key. A missing tree is
/// created. Returns true if the row is new.
///
/// # Errors
/// When there is no room; nothing has changed then.
pub(super) fn put<N: NodesMut, O: Keyed>(
    nodes: &mut N,
    root: &mut Root,
    key: &[u8],
    cell: Element<'_>,
) -> Result<bool, NoRoom> {
    if root.node == 0 {
        let leaf = Rows::empty::<O>(COLUMNS);
        nodes.ensure(leaf.len() + RECORD_BYTES)?;
        let node = nodes.allocate(leaf.len(), leaf.len());
        nodes.bytes_mut(node).copy_from_slice(&leaf);
        *root = Root { node, height: 0, count: 0 };
    }
    let mut tree: Tree<'_, N, RowLeaf<O>> = Tree::new(nodes, *root);
    let place = seek(&tree.view(), key);
    if place.is_there {
        tree.ensure_change()?;
        tree.replace_cell(&place.path, place.row, 1, cell);
    } else {
        let name = match tree.cell(key)? {
            Element::Far(far) => Element::Far(far),
            _ => Element::Bytes(key),
        };
        tree.ensure_change()?;
        tree.insert_row(&place.path, place.row, 0, &[name, cell]);
    }
    *root = tree.root;
    Ok(!place.is_there)
}

/// Removes the row with a key; false if there is none.
pub(super) fn remove<N: NodesMut, O: Keyed>(nodes: &mut N, root: &mut Root, key: &[u8]) -> bool {
    if root.count == 0 {
        return false;
    }
    let mut tree: Tree<'_, N, RowLeaf<O>> = Tree::new(nodes, *root);
    let place = seek(&tree.view(), key);
    if place.is_there {
        tree.remove_rows(&place.path, place.row, 1);
        *root = tree.root;
    }
    place.is_there
}

/// Frees all nodes of a tree.
pub(super) fn clear<N: NodesMut, O: Keyed>(nodes: &mut N, root: &mut Root) {
    if root.node != 0 {
        let mut tree: Tree<'_, N, RowLeaf<O>> = Tree::new(nodes, *root);
        tree.remove_range(0, u64::MAX, |_, _, _, _| ());
        let leaf = tree.root.node;
        nodes.free(leaf);
        *root = super::super::facts::NO_ROOT;
    }
}
