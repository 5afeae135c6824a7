//! The deadlines of fields: which one is next, and the removal of fields that are past theirs.

use super::read::next_pair;
use super::{DUE, DueLeaf, FIELDS, Leaf, TIMED, small};
use crate::access::{Access, NoSpace};
use crate::shard::{KeyMut, ReadNodes, Reason, ValueRef, WriteNodes};
use crate::shard::CollectionId;
use crate::key::{Key, Kind, Label};
use crate::value::collection::{root, roots, value_of};
use base::Millis;
use packed::Element;
use tree::{ByKey, NoRoom, NodesMut, Path, Root, Rows, Tree, View};

/// ```text
/// | deadline 8 | tag 4 |      big-endian, so that the bytes stand as the numbers do
/// ```
/// The key of a row in the tree of deadlines. Fields that share tag and deadline share a row.
type DueKey = [u8; 12];

type DueTree<'n, 'x, 'a> = Tree<'n, WriteNodes<'x, 'a>, DueLeaf>;

fn key_of(deadline: Millis, tag: u32) -> DueKey {
    let mut key = [0; 12];
    key[..8].copy_from_slice(&deadline.0.to_be_bytes());
    key[8..].copy_from_slice(&tag.to_be_bytes());
    key
}

fn parse(key: &[u8]) -> Option<(Millis, u32)> {
    let deadline = Millis(u64::from_be_bytes(*key.first_chunk()?));
    Some((deadline, u32::from_be_bytes(*key.last_chunk()?)))
}

fn has_tree(value: &[u8]) -> bool {
    roots(value) > DUE
}

/// The tree of these deadlines, which are in their order.
pub(super) fn plant(nodes: &mut WriteNodes<'_, '_>, due: &[(Millis, u32)]) -> Result<Root, NoRoom> {
    let mut run = packed::EMPTY.to_vec();
    for (deadline, tag) in due {
        packed::push(&mut run, Element::Bytes(&key_of(*deadline, *tag)));
    }
    let leaf = Rows::of_run(packed::Run::new(&run), 1);
    Ok(DueTree::of_rows(nodes, &leaf)?.root)
}

/// The way to the leaf of a key, and the row there at which it stands or would.
fn locate(tree: &DueTree<'_, '_, '_>, key: &DueKey) -> (Path, usize, bool) {
    let view = tree.view();
    let path = view.find(|separator| *separator <= key[..]);
    let rows = Rows::new(view.leaf(&path));
    let row = rows.partition(|row| ByKey::key(rows, row) < &key[..]);
    let is_there = row < rows.len() && ByKey::key(rows, row) == &key[..];
    (path, row, is_there)
}

/// Notes that a field with a tag ends then.
pub(super) fn note<'a>(
    key: &mut KeyMut<'_, '_>,
    deadline: Millis,
    tag: u32,
) -> Result<(), NoSpace> {
    let found = if has_tree(key.bytes()) { found } else { add_tree(key)? };
    let due = key_of(deadline, tag);
    let noted = key.change_tree::<DueLeaf, _>(DUE, |tree| {
        tree.ensure_change()?;
        let (path, row, is_there) = locate(tree, &due);
        if !is_there {
            tree.insert_row(&path, row, 0, &[Element::Bytes(&due)]);
        }
        Ok(())
    });
    noted.map_err(|_| NoSpace)?;
    Ok(found)
}

/// Gives a large hash its second tree.
#[cold]
fn add_tree<'a>(
    key: &mut KeyMut<'_, '_>,
) -> Result<(), NoSpace> {
    let (id, fields) = (access.tree_of(&found), root(key.bytes(), FIELDS));
    let label = key.label();
    let due = DueTree::empty(&mut access.nodes_of(key, id), 1)?;
    let put = key.put(label, &value_of(id, &[fields, due]));
    if put.is_err() {
        access.nodes_of(key, id).free(due.node);
    }
    put
}

/// Forgets a deadline, unless another field with the tag has it too.
pub(super) fn forget<'a>(
    key: &mut KeyMut<'_, '_>,
    deadline: Millis,
    tag: u32,
) {
    if !has_tree(key.bytes()) || is_shared(access, found, deadline, tag) {
        return;
    }
    let due = key_of(deadline, tag);
    let forgotten = access.change_tree::<DueLeaf, _>(key, found, DUE, |tree| {
        let (path, row, is_there) = locate(tree, &due);
        if is_there {
            tree.remove_rows(&path, row, 1);
        }
        Ok(())
    });
    debug_assert!(forgotten.is_ok(), "a removal needs no room");
}

/// Whether there is a field with this tag and deadline.
fn is_shared<'a>(access: &Access<'a>, found: &Found<'a>, deadline: Millis, tag: u32) -> bool {
    let view = key.value().view::<Leaf>(FIELDS);
    let path = view.find_tag(tag);
    let rows = Rows::new(view.leaf(&path));
    due_rows(rows, tag, |at| at == deadline).next().is_some()
}

/// Rows with a tag whose deadline is one that `is_due`.
fn due_rows(
    rows: Rows<'_>,
    tag: u32,
    is_due: impl Fn(Millis) -> bool,
) -> impl Iterator<Item = usize> {
    let from = if rows.stride() == TIMED { rows.find_tag(tag) } else { rows.len() };
    let with_tag = (from..rows.len()).take_while(move |row| rows.tag(*row) == tag);
    with_tag.filter(move |row| {
        let pair = next_pair(&mut rows.cells_from(*row), TIMED);
        pair.and_then(|pair| pair.deadline).is_some_and(&is_due)
    })
}

/// Makes the label tell whether there is any deadline.
pub(super) fn mark<'a>(key: &mut KeyMut<'_, '_>) -> Found<'a> {
    let (label, value) = (key.label(), key.bytes());
    let is_timed = has_tree(value) && root(value, DUE).weight > 0;
    // Fields with deadlines are known to be in a hashtable.
    let marked = if is_timed { Label::of_tree(Kind::Hash, super::LARGE) } else { label };
    key.set_label(marked.with_timed_parts(is_timed))
}

/// The earliest deadline of the fields of a hash; `nodes` gives those of a large one.
pub(crate) fn earliest<'x>(
    label: Label,
    value: &[u8],
    nodes: impl FnOnce(CollectionId) -> Option<ReadNodes<'x>>,
) -> Option<Millis> {
    if !label.has_timed_parts() {
        return None;
    }
    if !label.is_tree() {
        return small::earliest(value);
    }
    let nodes = nodes(CollectionId::read(value)?)?;
    let view = View::<_, DueLeaf>::new(nodes, root(value, DUE));
    first(&view).map(|(deadline, _)| deadline)
}

fn first(view: &View<'_, ReadNodes<'_>, DueLeaf>) -> Option<(Millis, u32)> {
    parse(ByKey::key(Rows::new(view.leaf(&view.first())), 0))
}

/// What was removed of a hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Removed {
    /// Fields.
    pub fields: u64,
    /// Whether there may be more of them.
    pub is_more: bool,
}

/// Removes up to about `most` fields whose deadline has passed, and the key if none is left.
pub(crate) fn remove_due(access: &mut Access<'_>, key: &Key<'_>, most: usize) -> Removed {
    let removed = match access.open_unseen(key, Kind::Hash) {
        Ok(Some(found)) if key.label().has_timed_parts() => {
            if key.label().is_tree() {
                remove_from_trees(key, most)
            } else {
                Removed { fields: small::remove_due(key), is_more: false }
            }
        }
        _ => Removed::default(),
    };
    access.lane.counters.expired_parts.add(removed.fields);
    removed
}

fn remove_from_trees<'a>(
    key: &mut KeyMut<'_, '_>,
    most: usize,
) -> Removed {
    let mut tags = take_due(key, most);
    let is_more = tags.len() == most;
    // Neighbours share leaves.
    tags.sort_unstable();
    tags.dedup();
    let fields = tags.iter().map(|tag| remove_fields(key, *tag)).sum();
    if root(key.bytes(), FIELDS).weight == 0 {
        key.remove(Reason::Deleted);
        return Removed { fields, is_more: false };
    }
    mark(key);
    Removed { fields, is_more }
}

/// Takes up to `most` deadlines that have passed; returns the tags of their fields.
fn take_due<'a>(
    key: &mut KeyMut<'_, '_>,
    most: usize,
) -> Vec<u32> {
    let (now, mut tags) = (key.now(), Vec::with_capacity(most));
    let view = key.value().view::<DueLeaf>(DUE);
    let mut path = view.first();
    loop {
        let rows = Rows::new(view.leaf(&path));
        let (before, left) = (tags.len(), most - tags.len());
        let due = rows.run().iter().filter_map(|key| key.with_text(parse));
        tags.extend(due.take(left).take_while(|(at, _)| *at <= now).map(|(_, tag)| tag));
        if tags.len() == most || tags.len() - before < rows.len() || !view.next(&mut path) {
            break;
        }
    }
    let count = tags.len() as u64;
    let taken = access.change_tree::<DueLeaf, _>(key, found, DUE, |tree| {
        tree.remove_range(0, count, |_, _, _, _| ());
        Ok(())
    });
    debug_assert!(taken.is_ok(), "a removal needs no room");
    tags
}

/// Removes the fields with a tag whose deadline has passed. Returns how many.
fn remove_fields<'a>(key: &mut KeyMut<'_, '_>, tag: u32) -> u64 {
    let now = key.now();
    let removed = access.change_tree::<Leaf, _>(key, found, FIELDS, |tree| {
        let mut removed = 0;
        loop {
            let view = tree.view();
            let path = view.find_tag(tag);
            let rows = Rows::new(view.leaf(&path));
            let Some(row) = due_rows(rows, tag, |at| at <= now).next() else { return Ok(removed) };
            tree.remove_rows(&path, row, 1);
            removed += 1;
        }
    });
    removed.unwrap_or(0)
}
