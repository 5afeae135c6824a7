//! Trees of rows of one fixed length, in the order of their keys.
//!
//! ```text
//! leaf    | rows 2 | key K, value V | key K, value V | ... | free |
//! ```

use crate::value::stream::facts::NO_ROOT;
use tree::{
    Leaf, NODE_BYTES, NoRoom, Nodes, NodesMut, Parts, Path, Root, Separator, Tree, View,
    shortest_between,
};

const HEAD_BYTES: usize = 2;
/// Divisor of the length for the slack of a growing leaf. A leaf shrinks when twice that slack is
/// free.
const SLACK_PART: usize = 8;
/// Most bytes of a record besides its content.
const RECORD_BYTES: usize = 64;

/// Leaf type for rows with keys of `K` bytes and values of `V` bytes.
#[derive(Debug)]
pub(super) enum Fixed<const K: usize, const V: usize> {}

/// Key and value of a row.
pub(super) type Row<const K: usize, const V: usize> = ([u8; K], [u8; V]);

#[inline]
fn count(leaf: &[u8]) -> usize {
    usize::from(u16::from_le_bytes([leaf[0], leaf[1]]))
}

#[inline]
fn set_count(leaf: &mut [u8], count: usize) {
    leaf[..HEAD_BYTES].copy_from_slice(&narrow::to_u16(count).to_le_bytes());
}

impl<const K: usize, const V: usize> Fixed<K, V> {
    const ROW: usize = K + V;

    /// Offset of a row.
    #[inline]
    fn at(row: usize) -> usize {
        HEAD_BYTES + Self::ROW * row
    }

    /// Bytes of all rows, one behind the other.
    fn rows(leaf: &[u8]) -> &[u8] {
        &leaf[HEAD_BYTES..Self::at(count(leaf))]
    }

    #[inline]
    fn key(leaf: &[u8], row: usize) -> &[u8; K] {
        leaf[Self::at(row)..].first_chunk().expect("a leaf holds the rows that it counts")
    }

    #[inline]
    fn value(leaf: &[u8], row: usize) -> [u8; V] {
        *leaf[Self::at(row) + K..].first_chunk().expect("a leaf holds the rows that it counts")
    }

    fn leaf_of(rows: &[u8]) -> Vec<u8> {
        let mut leaf = narrow::to_u16(rows.len() / Self::ROW).to_le_bytes().to_vec();
        leaf.extend_from_slice(rows);
        leaf
    }
}

impl<const K: usize, const V: usize> Leaf for Fixed<K, V> {
    #[inline]
    fn count(leaf: &[u8]) -> u64 {
        count(leaf) as u64
    }

    fn redistribute(leaves: &[&[u8]], parts: usize) -> Parts {
        let rows: Vec<u8> = leaves.iter().flat_map(|leaf| Self::rows(leaf)).copied().collect();
        let in_part = (rows.len() / Self::ROW).div_ceil(parts).max(1) * Self::ROW;
        rows.chunks(in_part).map(Self::leaf_of).collect()
    }

    fn separator<'n>(_: impl Nodes<'n>, left: &[u8], right: &[u8]) -> Separator {
        shortest_between(Self::key(left, count(left) - 1), Self::key(right, 0))
    }

    fn is_sound<'n>(_: impl Nodes<'n>, leaf: &[u8], from: &[u8], to: Option<&[u8]>) -> bool {
        let keys = || (0..count(leaf)).map(|row| &Self::key(leaf, row)[..]);
        Self::at(count(leaf)) <= leaf.len()
            && keys().is_sorted_by(|one, other| one < other)
            && keys().all(|key| key >= from && to.is_none_or(|to| key < to))
    }

    fn far_nodes(_: &[u8]) -> usize {
        0
    }
}

/// Position of a row, or the one at which it would be inserted.
struct RowAt {
    path: Path,
    row: usize,
    is_there: bool,
}

/// Finds the first row that is not below a key.
#[inline]
fn seek<'n, N: Nodes<'n>, const K: usize, const V: usize>(
    view: &View<'n, N, Fixed<K, V>>,
    key: &[u8; K],
) -> RowAt {
    let path = view.find(|separator| separator <= &key[..]);
    let leaf = view.leaf(&path);
    let len = count(leaf);
    let (mut low, mut high) = (0, len);
    // Appends are the most frequent case: check for the end first.
    if len > 0 && Fixed::<K, V>::key(leaf, len - 1) < key {
        low = len;
    }
    while low < high {
        let middle = low.midpoint(high);
        if Fixed::<K, V>::key(leaf, middle) < key { low = middle + 1 } else { high = middle }
    }
    let is_there = low < len && Fixed::<K, V>::key(leaf, low) == key;
    RowAt { path, row: low, is_there }
}

/// Returns the value of a key.
#[inline]
pub(super) fn find<'n, N: Nodes<'n>, const K: usize, const V: usize>(
    nodes: N,
    root: Root,
    key: &[u8; K],
) -> Option<[u8; V]> {
    if root.count == 0 {
        return None;
    }
    let view: View<'n, N, Fixed<K, V>> = View::new(nodes, root);
    let place = seek(&view, key);
    place.is_there.then(|| Fixed::<K, V>::value(view.leaf(&place.path), place.row))
}

/// Counts the rows before the first one that is not below a key.
pub(super) fn rank<'n, N: Nodes<'n>, const K: usize, const V: usize>(
    nodes: N,
    root: Root,
    key: &[u8; K],
) -> u64 {
    if root.count == 0 {
        return 0;
    }
    let view: View<'n, N, Fixed<K, V>> = View::new(nodes, root);
    let place = seek(&view, key);
    view.count_before(&place.path) + place.row as u64
}

/// Returns the last row.
pub(super) fn last<'n, N: Nodes<'n>, const K: usize, const V: usize>(
    nodes: N,
    root: Root,
) -> Option<Row<K, V>> {
    let before = root.count.checked_sub(1)?;
    let view: View<'n, N, Fixed<K, V>> = View::new(nodes, root);
    let (path, row) = view.find_position(before);
    let (leaf, row) = (view.leaf(&path), narrow::to_usize(row));
    Some((*Fixed::<K, V>::key(leaf, row), Fixed::<K, V>::value(leaf, row)))
}

/// Iterates over rows from a key on; a missing tree has none.
pub(super) fn walk<'n, N: Nodes<'n>, const K: usize, const V: usize>(
    nodes: N,
    root: Root,
    from: &[u8; K],
) -> impl Iterator<Item = Row<K, V>> + use<'n, N, K, V> {
    let mut state = (root.count > 0).then(|| {
        let view: View<'n, N, Fixed<K, V>> = View::new(nodes, root);
        let place = seek(&view, from);
        (view, place.path, place.row)
    });
    std::iter::from_fn(move || {
        let (view, path, row) = state.as_mut()?;
        let mut leaf = view.leaf(path);
        while *row >= count(leaf) {
            if !view.next(path) {
                return None;
            }
            (leaf, *row) = (view.leaf(path), 0);
        }
        let at = *row;
        *row += 1;
        Some((*Fixed::<K, V>::key(leaf, at), Fixed::<K, V>::value(leaf, at)))
    })
}

/// Sets the value of a key; returns the old one. A missing tree is created.
///
/// # Errors
/// When there is no room; nothing has changed then.
pub(super) fn put<N: NodesMut, const K: usize, const V: usize>(
    nodes: &mut N,
    root: &mut Root,
    key: &[u8; K],
    value: &[u8; V],
) -> Result<Option<[u8; V]>, NoRoom> {
    if root.node == NO_ROOT.node {
        nodes.ensure(HEAD_BYTES + RECORD_BYTES)?;
        let node = nodes.allocate(HEAD_BYTES, HEAD_BYTES);
        set_count(nodes.bytes_mut(node), 0);
        *root = Root { node, height: 0, count: 0 };
    }
    let mut tree: Tree<'_, N, Fixed<K, V>> = Tree::new(nodes, *root);
    tree.ensure_change()?;
    let place = seek(&tree.view(), key);
    let mut old = None;
    if place.is_there {
        let leaf = tree.nodes.bytes_mut(place.path.leaf);
        old = Some(Fixed::<K, V>::value(leaf, place.row));
        let at = Fixed::<K, V>::at(place.row) + K;
        leaf[at..at + V].copy_from_slice(value);
    } else {
        insert(&mut tree, &place, key, value);
    }
    *root = tree.root;
    Ok(old)
}

/// Changes the value of a key; false if there is no such key.
pub(super) fn update<N: NodesMut, const K: usize, const V: usize>(
    nodes: &mut N,
    root: Root,
    key: &[u8; K],
    change: impl FnOnce([u8; V]) -> [u8; V],
) -> bool {
    if root.count == 0 {
        return false;
    }
    let view: View<'_, _, Fixed<K, V>> = View::new(nodes.read(), root);
    let place = seek(&view, key);
    if place.is_there {
        let leaf = nodes.bytes_mut(place.path.leaf);
        let at = Fixed::<K, V>::at(place.row) + K;
        let value = change(Fixed::<K, V>::value(leaf, place.row));
        leaf[at..at + V].copy_from_slice(&value);
    }
    place.is_there
}

fn insert<N: NodesMut, const K: usize, const V: usize>(
    tree: &mut Tree<'_, N, Fixed<K, V>>,
    place: &RowAt,
    key: &[u8; K],
    value: &[u8; V],
) {
    let RowAt { path, row, .. } = place;
    let write = |leaf: &mut [u8], row: usize, len: usize| {
        let at = Fixed::<K, V>::at(row);
        leaf.copy_within(at..Fixed::<K, V>::at(len), at + K + V);
        leaf[at..at + K].copy_from_slice(key);
        leaf[at + K..at + K + V].copy_from_slice(value);
        set_count(leaf, len + 1);
    };
    let leaf = tree.nodes.bytes(path.leaf);
    let (count, len) = (count(leaf), leaf.len());
    let needed = Fixed::<K, V>::at(count + 1);
    if needed > NODE_BYTES && *row == count && tree.view().is_last(path) {
        // Appended rows start a new leaf, so that leaves fill up to the end.
        return tree.insert_leaf(path, true, Fixed::<K, V>::at(1), |leaf| write(leaf, 0, 0));
    }
    if needed > len {
        let slack = (needed + needed / SLACK_PART).min(NODE_BYTES);
        tree.nodes.resize(path.leaf, slack.max(needed));
    }
    write(tree.nodes.bytes_mut(path.leaf), *row, count);
    tree.changed(path, 1);
}

/// Removes a key; returns its value.
pub(super) fn remove<N: NodesMut, const K: usize, const V: usize>(
    nodes: &mut N,
    root: &mut Root,
    key: &[u8; K],
) -> Option<[u8; V]> {
    if root.count == 0 {
        return None;
    }
    let mut tree: Tree<'_, N, Fixed<K, V>> = Tree::new(nodes, *root);
    let RowAt { path, row, is_there } = seek(&tree.view(), key);
    if !is_there {
        return None;
    }
    let leaf = tree.nodes.bytes_mut(path.leaf);
    let (value, count) = (Fixed::<K, V>::value(leaf, row), count(leaf));
    let (at, end) = (Fixed::<K, V>::at(row), Fixed::<K, V>::at(count));
    leaf.copy_within(at + K + V..end, at);
    set_count(leaf, count - 1);
    let (len, used) = (leaf.len(), Fixed::<K, V>::at(count - 1));
    if len - used > len / SLACK_PART * 2 {
        tree.nodes.resize(path.leaf, used);
    }
    tree.changed(&path, -1);
    *root = tree.root;
    Some(value)
}

/// Frees all nodes of a tree.
pub(super) fn clear<N: NodesMut, const K: usize, const V: usize>(nodes: &mut N, root: &mut Root) {
    if root.node == NO_ROOT.node {
        return;
    }
    let mut tree: Tree<'_, N, Fixed<K, V>> = Tree::new(nodes, *root);
    loop {
        let path = tree.view().first();
        if tree.view().is_last(&path) {
            break;
        }
        tree.remove_leaf(&path);
    }
    // A root with only one child is replaced by that child, so the last leaf is the root.
    let leaf = tree.root.node;
    nodes.free(leaf);
    *root = NO_ROOT;
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::Random;
    use std::collections::BTreeMap;
    use tree::MemoryNodes;

    type Key = [u8; 8];
    type Value = [u8; 3];

    fn check(nodes: &MemoryNodes, root: Root, model: &BTreeMap<Key, Value>) {
        let view: View<'_, _, Fixed<8, 3>> = View::new(nodes, root);
        assert_eq!(view.verify(), Ok(nodes.len()));
        assert!(walk::<_, 8, 3>(nodes, root, &[0; 8]).eq(model.iter().map(|(k, v)| (*k, *v))));
        assert_eq!(last::<_, 8, 3>(nodes, root), model.last_key_value().map(|(k, v)| (*k, *v)));
    }

    #[test]
    fn rows_follow_a_map() {
        let (mut random, mut nodes, mut root) =
            (Random::from_seed(4), MemoryNodes::default(), NO_ROOT);
        let mut model: BTreeMap<Key, Value> = BTreeMap::new();
        // Take node number zero, which stands for a missing tree.
        nodes.allocate(0, 0);
        for step in 0..20_000_u64 {
            // Keys that grow at the end, and scattered ones.
            let number = if random.one_in(2) { step } else { random.below(4_000) };
            let (key, value) = (number.to_be_bytes(), [step as u8; 3]);
            if random.below(12) < 5 + 3 * (step / 4_000 % 2) {
                assert_eq!(remove(&mut nodes, &mut root, &key), model.remove(&key));
            } else {
                let old = put(&mut nodes, &mut root, &key, &value).expect("room");
                assert_eq!(old, model.insert(key, value));
            }
            let probe = random.below(5_000).to_be_bytes();
            let is_there = update(&mut nodes, root, &probe, |[one, ..]: Value| [one, 7, 8]);
            assert_eq!(is_there, model.contains_key(&probe));
            model.entry(probe).and_modify(|value| (value[1], value[2]) = (7, 8));
            assert_eq!(find(&nodes, root, &probe), model.get(&probe).copied());
            let before = model.range(..probe).count() as u64;
            assert_eq!(rank::<_, 8, 3>(&nodes, root, &probe), before);
            if step % 500 == 499 {
                nodes.free(0);
                check(&nodes, root, &model);
                assert_eq!(nodes.allocate(0, 0), 0);
            }
        }
        clear::<_, 8, 3>(&mut nodes, &mut root);
        assert_eq!((root, nodes.len()), (NO_ROOT, 1));
    }
}
