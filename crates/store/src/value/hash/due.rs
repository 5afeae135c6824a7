//! Deadlines of fields: the earliest one, and the removal of expired fields.

use super::read::next_pair;
use super::small::Names;
use super::{DUE, DueLeaf, FIELDS, Leaf, TIMED, small};
use crate::access::Access;
use crate::fault::NoSpace;
use crate::key::{Key, Kind, ValueTag};
use crate::shard::{Event, KeyMut, ReadNodes, Reason, ValueRef, WriteNodes};
use crate::value::collection::{root, roots, value_of};
use base::Millis;
use packed::Element;
use tree::{ByKey, NoRoom, NodesMut, Path, Root, Rows, Tree, View};

/// Key of a row in the tree of deadlines. Fields that share tag and deadline share a row.
///
/// ```text
/// | deadline 8 | tag 4 |      big-endian, so that keys compare as the numbers do
/// ```
pub(super) type DueKey = [u8; 12];

type DueTree<'n, 'x, 'a> = Tree<'n, WriteNodes<'x, 'a>, DueLeaf>;

pub(super) fn key_of(deadline: Millis, tag: u32) -> DueKey {
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

/// Builds the tree of these deadlines, which come in ascending order.
pub(super) fn plant(nodes: &mut WriteNodes<'_, '_>, due: &[(Millis, u32)]) -> Result<Root, NoRoom> {
    let mut packed = packed::EMPTY.to_vec();
    for (deadline, tag) in due {
        packed::push(&mut packed, Element::Bytes(&key_of(*deadline, *tag)));
    }
    let leaf = Rows::of_packed(packed::PackedList::new(&packed), 1);
    Ok(DueTree::of_rows(nodes, &leaf)?.root)
}

/// Returns the path to the leaf of a key, the row at which the key stands or would be inserted, and
/// true if it is there.
fn locate(tree: &DueTree<'_, '_, '_>, key: &DueKey) -> (Path, usize, bool) {
    let view = tree.view();
    let path = view.find(|separator| *separator <= key[..]);
    let rows = Rows::new(view.leaf(&path));
    let row = rows.partition(|row| ByKey::key(rows, row) < &key[..]);
    let is_there = row < rows.len() && ByKey::key(rows, row) == &key[..];
    (path, row, is_there)
}

/// Adds the deadline of a field with this tag to the tree of deadlines.
pub(super) fn note(key: &mut KeyMut<'_, '_>, deadline: Millis, tag: u32) -> Result<(), NoSpace> {
    if !has_tree(key.bytes()) {
        add_tree(key)?;
    }
    let due = key_of(deadline, tag);
    let noted = key.change_tree::<DueLeaf, _>(DUE, |tree| {
        tree.ensure_change()?;
        let (path, row, is_there) = locate(tree, &due);
        if !is_there {
            tree.insert_row(&path, row, 0, &[Element::Bytes(&due)]);
        }
        Ok(())
    });
    noted.map_err(|_| NoSpace)
}

/// Adds the tree of deadlines to a large hash.
#[cold]
fn add_tree(key: &mut KeyMut<'_, '_>) -> Result<(), NoSpace> {
    let id = key.collection().expect("a large hash is kept in trees");
    let (value_tag, fields) = (key.value_tag(), root(key.bytes(), FIELDS));
    let due = DueTree::empty(&mut key.nodes_mut(), 1)?;
    let put = key.replace(value_tag, &value_of(id, &[fields, due]));
    if put.is_err() {
        key.nodes_mut().free(due.node);
    }
    put
}

/// Removes a deadline from its tree, unless another field with this tag shares it.
pub(super) fn forget(key: &mut KeyMut<'_, '_>, deadline: Millis, tag: u32) {
    if !has_tree(key.bytes()) || is_shared(key, deadline, tag) {
        return;
    }
    let due = key_of(deadline, tag);
    let forgotten = key.change_tree::<DueLeaf, _>(DUE, |tree| {
        let (path, row, is_there) = locate(tree, &due);
        if is_there {
            tree.remove_rows(&path, row, 1);
        }
        Ok(())
    });
    debug_assert!(forgotten.is_ok(), "a removal needs no room");
}

/// Returns true if a field has this tag and deadline.
fn is_shared(key: &KeyMut<'_, '_>, deadline: Millis, tag: u32) -> bool {
    let view = key.value().view::<Leaf>(FIELDS);
    let path = view.find_tag(tag);
    let rows = Rows::new(view.leaf(&path));
    due_rows(rows, tag, |at| at == deadline).next().is_some()
}

/// Iterates over the rows with this tag whose deadlines satisfy `is_due`.
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

/// Sets the mark in the value tag that says whether any field has a deadline.
pub(super) fn mark(key: &mut KeyMut<'_, '_>) {
    let (value_tag, value) = (key.value_tag(), key.bytes());
    let is_timed = has_tree(value) && root(value, DUE).count > 0;
    // Clients know a hash with deadlines of fields as a hashtable.
    let marked = if is_timed { ValueTag::of_tree(Kind::Hash, super::LARGE) } else { value_tag };
    key.set_value_tag(marked.with_timed_parts(is_timed));
}

/// Returns the earliest deadline among the fields of a hash; `None` if there is none, or the value
/// is not a hash.
pub(crate) fn earliest(value: ValueRef<'_>) -> Option<Millis> {
    let value_tag = value.value_tag();
    if !value_tag.has_timed_parts() {
        return None;
    }
    if !value_tag.is_tree() {
        return small::earliest(value.bytes());
    }
    first(&value.view::<DueLeaf>(DUE)).map(|(deadline, _)| deadline)
}

fn first(view: &View<'_, ReadNodes<'_>, DueLeaf>) -> Option<(Millis, u32)> {
    parse(ByKey::key(Rows::new(view.leaf(&view.first())), 0))
}

/// Outcome of a removal of expired fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Removed {
    /// Number of removed fields.
    pub fields: u64,
    /// True if more fields may have expired.
    pub is_more: bool,
}

/// Removes about `most` fields at most whose deadlines have passed, and the key if none is left.
pub(crate) fn remove_due(access: &mut Access<'_>, key: &Key<'_>, most: usize) -> Removed {
    let Ok(mut hash) = access.open_without_touch(key, Kind::Hash) else {
        return Removed::default();
    };
    if !hash.exists() || !hash.value_tag().has_timed_parts() {
        return Removed::default();
    }
    // Names of fields are copied only if a listener will see them.
    let mut names = hash.guard().is_recording().then(Vec::new);
    let removed = if hash.value_tag().is_tree() {
        remove_from_trees(&mut hash, most, &mut names)
    } else {
        let fields = small::remove_due(&mut hash, &mut names);
        Removed { fields, is_more: false }
    };
    let guard = access.guard();
    guard.count_expired_parts(removed.fields);
    if removed.fields == 0 {
        guard.report_nothing();
        return removed;
    }
    guard.report_unasked(Event::FIELDS_EXPIRED, key, || {
        let words = [b"HDEL".to_vec(), key.bytes.to_vec()];
        words.into_iter().chain(names.unwrap_or_default()).collect()
    });
    access.record_del_if_gone(key);
    removed
}

fn remove_from_trees(key: &mut KeyMut<'_, '_>, most: usize, names: &mut Names) -> Removed {
    let mut tags = take_due(key, most);
    let is_more = tags.len() == most;
    // In order of tags, fields that share a leaf follow each other.
    tags.sort_unstable();
    tags.dedup();
    let fields = tags.iter().map(|tag| remove_fields(key, *tag, names)).sum();
    if root(key.bytes(), FIELDS).count == 0 {
        key.remove(Reason::Deleted);
        return Removed { fields, is_more: false };
    }
    mark(key);
    Removed { fields, is_more }
}

/// Removes up to `most` deadlines that have passed from their tree; returns the tags of their
/// fields.
fn take_due(key: &mut KeyMut<'_, '_>, most: usize) -> Vec<u32> {
    let (now, mut tags) = (key.now(), Vec::with_capacity(most));
    let view = key.value().view::<DueLeaf>(DUE);
    let mut path = view.first();
    loop {
        let rows = Rows::new(view.leaf(&path));
        let (before, left) = (tags.len(), most - tags.len());
        let due = rows.packed().iter().filter_map(|key| key.with_text(parse));
        tags.extend(due.take(left).take_while(|(at, _)| *at <= now).map(|(_, tag)| tag));
        if tags.len() == most || tags.len() - before < rows.len() || !view.next(&mut path) {
            break;
        }
    }
    let count = tags.len() as u64;
    let taken = key.change_tree::<DueLeaf, _>(DUE, |tree| {
        tree.remove_range(0, count, |_, _, _, _| ());
        Ok(())
    });
    debug_assert!(taken.is_ok(), "a removal needs no room");
    tags
}

/// Removes the fields with this tag whose deadlines have passed. Returns their number.
fn remove_fields(key: &mut KeyMut<'_, '_>, tag: u32, names: &mut Names) -> u64 {
    let now = key.now();
    let removed = key.change_tree::<Leaf, _>(FIELDS, |tree| {
        let mut removed = 0;
        loop {
            let view = tree.view();
            let path = view.find_tag(tag);
            let rows = Rows::new(view.leaf(&path));
            let Some(row) = due_rows(rows, tag, |at| at <= now).next() else { return Ok(removed) };
            if let Some(names) = names
                && let Some(pair) = next_pair(&mut rows.cells_from(row), TIMED)
            {
                names.push(pair.resolve(view.nodes).field.with_text(<[u8]>::to_vec));
            }
            tree.remove_rows(&path, row, 1);
            removed += 1;
        }
    });
    removed.unwrap_or(0)
}
