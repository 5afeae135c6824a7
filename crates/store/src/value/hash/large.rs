//! Large hashes: fields in trees.

use super::deadline::{Deadline, Was};
use super::limit::{HashLimit, PACKED_BYTES};
use super::read::{Hash, find_row, next_pair};
use super::{
    DEADLINE, FIELDS, LARGE, Leaf, PLAIN, SMALL, TIMED, VALUE, due, small, stride_of, to_cell,
};
use crate::fault::NoSpace;
use crate::key::{Kind, ValueTag};
use crate::shard::{KeyMut, Reason, WriteNodes};
use crate::value::collection::{root, short_tag_by};
use base::Millis;
use packed::{Element, PackedList, Place};
use tree::{ByShortTag, CELL_BYTES_MAX, NoRoom, Path, Root, Rows, Tree};

type FieldTree<'n, 'x, 'a> = Tree<'n, WriteNodes<'x, 'a>, Leaf>;

/// Place of a field in its leaf, or the place at which it would be inserted.
struct Spot {
    path: Path,
    stride: usize,
    row: Result<usize, usize>,
    deadline: Option<Millis>,
}

#[inline]
fn locate(tree: &FieldTree<'_, '_, '_>, tag: u32, field: &[u8]) -> Spot {
    let view = tree.view();
    let path = view.find_tag(tag);
    let rows = Rows::new(view.leaf(&path));
    let found = find_row(view.nodes, rows, tag, field);
    let row = found.map(|(row, _)| row).ok_or_else(|| rows.find_tag(tag));
    let deadline = found.and_then(|(_, pair)| pair.deadline);
    Spot { path, stride: rows.stride(), row, deadline }
}

/// Change of one field.
pub(super) struct Change<'t> {
    pub field: &'t [u8],
    /// New value; `None` keeps the value of an existing field.
    pub value: Option<&'t [u8]>,
    pub deadline: Option<Millis>,
}

/// Sets a field.
#[inline]
pub(super) fn set(
    key: &mut KeyMut<'_, '_>,
    limit: HashLimit,
    field: &[u8],
    value: &[u8],
    deadline: Deadline,
) -> Result<Was, NoSpace> {
    let value_tag = key.value_tag();
    if !value_tag.has_timed_parts() && !matches!(deadline, Deadline::At(_)) {
        let change = Change { field, value: Some(value), deadline: None };
        let was = put_row(key, &change)?;
        outgrow(key, limit, field, value);
        return Ok(was);
    }
    let pair = Hash::of(key.value()).get_any(field);
    let was = Was::of(pair.as_ref(), key.as_of());
    let deadline = deadline.after(was, pair.and_then(|pair| pair.deadline));
    change(key, &Change { field, value: Some(value), deadline })?;
    Ok(was)
}

/// Changes the value tag from listpack to hashtable once the hash is larger than clients expect of
/// a listpack.
#[inline]
fn outgrow(key: &mut KeyMut<'_, '_>, limit: HashLimit, field: &[u8], value: &[u8]) {
    if key.value_tag().encoding() != SMALL {
        return;
    }
    let fields = narrow::to_usize(root(key.bytes(), FIELDS).count);
    if limit.allows_fields(fields) && limit.allows_texts(field, value) {
        return;
    }
    key.set_value_tag(ValueTag::of_tree(Kind::Hash, LARGE));
}

/// Changes a field and updates the tree of deadlines.
pub(super) fn change(key: &mut KeyMut<'_, '_>, change: &Change<'_>) -> Result<(), NoSpace> {
    let pair = Hash::of(key.value()).get_any(change.field);
    let (old, new) = (pair.and_then(|pair| pair.deadline), change.deadline);
    let tag = short_tag_by(key.hasher(), change.field);
    // A deadline in the tree that belongs to no field is harmless; one that only a field has would
    // be missed by the sweep.
    if let Some(at) = new.filter(|_| new != old) {
        due::note(key, at, tag)?;
    }
    if put_row(key, change).is_err() {
        if let Some(at) = new.filter(|_| new != old) {
            due::forget(key, at, tag);
        }
        return Err(NoSpace);
    }
    if let Some(at) = old.filter(|_| new != old) {
        due::forget(key, at, tag);
    }
    due::mark(key);
    if let Some(at) = new.filter(|_| new != old) {
        key.note_part_deadline(at);
    }
    Ok(())
}

/// Writes the row of a field.
#[inline]
fn put_row(key: &mut KeyMut<'_, '_>, change: &Change<'_>) -> Result<Was, NoSpace> {
    let tag = short_tag_by(key.hasher(), change.field);
    let was = key.change_tree::<Leaf, _>(FIELDS, |tree| {
        let value = change.value.map(|value| tree.cell(value)).transpose()?;
        let mut spot = locate(tree, tag, change.field);
        if change.deadline.is_some() && spot.stride == PLAIN {
            tree.ensure_change()?;
            tree.widen_leaf(&spot.path, TIMED);
            spot = locate(tree, tag, change.field);
        }
        match spot.row {
            Ok(row) => {
                replace(tree, tag, change, (spot, row), value)?;
                Ok(Was::Present)
            }
            Err(row) => {
                let field = tree.cell(change.field)?;
                tree.ensure_change()?;
                let value = value.unwrap_or(Element::Bytes(&[]));
                let cells = [field, value, to_cell(change.deadline)];
                tree.insert_row(&spot.path, row, tag, &cells[..spot.stride]);
                Ok(Was::Absent)
            }
        }
    });
    was.map_err(|_| NoSpace)
}

/// Overwrites value and deadline of a row.
#[inline]
fn replace(
    tree: &mut FieldTree<'_, '_, '_>,
    tag: u32,
    change: &Change<'_>,
    (spot, row): (Spot, usize),
    value: Option<Element<'_>>,
) -> Result<(), NoRoom> {
    if let Some(value) = value {
        tree.ensure_change()?;
        tree.replace_cell(&spot.path, row, VALUE, value);
    }
    if spot.deadline != change.deadline {
        let spot = locate(tree, tag, change.field);
        tree.ensure_change()?;
        if let Ok(row) = spot.row {
            tree.replace_cell(&spot.path, row, DEADLINE, to_cell(change.deadline));
        }
    }
    Ok(())
}

/// Removes a field, and the key with its last field. An expired field is left to the sweep.
pub(super) fn remove(key: &mut KeyMut<'_, '_>, field: &[u8]) -> Was {
    let old = if key.value_tag().has_timed_parts() {
        Hash::of(key.value()).get_any(field).and_then(|pair| pair.deadline)
    } else {
        None
    };
    if old.is_some_and(|at| at <= key.as_of()) {
        return Was::Expired;
    }
    let tag = short_tag_by(key.hasher(), field);
    let removed = key.change_tree::<Leaf, _>(FIELDS, |tree| {
        let spot = locate(tree, tag, field);
        if let Ok(row) = spot.row {
            tree.remove_rows(&spot.path, row, 1);
        }
        Ok(spot.row.is_ok())
    });
    if removed != Ok(true) {
        return Was::Absent;
    }
    if root(key.bytes(), FIELDS).count == 0 {
        key.remove(Reason::Deleted);
        return Was::Present;
    }
    if let Some(at) = old {
        due::forget(key, at, tag);
        due::mark(key);
    }
    Was::Present
}

/// Converts a small hash to one in trees that clients know as a hashtable.
pub(super) fn make_large(key: &mut KeyMut<'_, '_>) -> Result<(), NoSpace> {
    if !key.value_tag().is_tree() {
        enlarge(key)?;
    }
    key.set_value_tag(ValueTag::of_tree(Kind::Hash, LARGE));
    Ok(())
}

/// Converts a packed list to trees. Clients know the hash under the same encoding as before.
pub(super) fn enlarge(key: &mut KeyMut<'_, '_>) -> Result<(), NoSpace> {
    let old = key.value_tag();
    let packed = key.bytes();
    let value_tag = ValueTag::of_tree(Kind::Hash, old.encoding());
    if !old.has_timed_parts() {
        let is_plain = stride_of(old) == PLAIN;
        let packed =
            if is_plain { packed.to_vec() } else { small::narrow(PackedList::new(packed)) };
        return put_plain(key, value_tag, &packed);
    }
    let packed = packed.to_vec();
    let rows = Sorted::of(key, PackedList::new(&packed), TIMED);
    let due = rows.deadlines();
    let value_tag = value_tag.with_timed_parts(true);
    key.put_trees(value_tag, |nodes| Ok([rows.plant(nodes)?, due::plant(nodes, &due)?]))
}

/// Sets a key to a large hash with the rows of a packed list, which have no deadlines.
fn put_plain(key: &mut KeyMut<'_, '_>, value_tag: ValueTag, packed: &[u8]) -> Result<(), NoSpace> {
    let rows = Sorted::of(key, PackedList::new(packed), PLAIN);
    key.put_trees(value_tag, |nodes| Ok([rows.plant(nodes)?]))
}

/// Sets a key to a large hash, known to clients as a hashtable, of fields set one after the other;
/// false if they are too many bytes.
pub(super) fn create<'t>(
    key: &mut KeyMut<'_, '_>,
    pairs: impl Iterator<Item = (&'t [u8], &'t [u8])> + Clone,
) -> Result<bool, NoSpace> {
    if small::most_bytes(pairs.clone()) > PACKED_BYTES {
        return Ok(false);
    }
    let mut rows: Vec<(&[u8], &[u8])> = pairs.collect();
    // The last pair with a name counts: reversed it comes first, and `dedup` keeps it.
    rows.reverse();
    rows.sort_by_key(|(field, _)| *field);
    rows.dedup_by_key(|(field, _)| *field);
    let mut packed = packed::EMPTY.to_vec();
    for (field, value) in rows {
        packed::push_row(&mut packed, &[Element::of(field), Element::of(value)]);
    }
    put_plain(key, ValueTag::of_tree(Kind::Hash, LARGE), &packed)?;
    Ok(true)
}

/// Rows of a packed list, sorted by their tags.
struct Sorted<'r> {
    packed: PackedList<'r>,
    stride: usize,
    rows: Vec<(u32, Place, Place)>,
    has_long: bool,
}

impl<'r> Sorted<'r> {
    fn of(key: &KeyMut<'_, '_>, packed: PackedList<'r>, stride: usize) -> Sorted<'r> {
        let mut rows = Vec::with_capacity(packed.len() / stride);
        let (mut place, mut has_long) = (packed.front(), false);
        while let Some(field) = packed.at(place) {
            let tag = field.with_text(|text| short_tag_by(key.hasher(), text));
            let mut end = place;
            for _ in 0..stride {
                let next = packed.after(end);
                has_long |= packed.bytes_between(end, next) > CELL_BYTES_MAX;
                end = next;
            }
            rows.push((tag, place, end));
            place = end;
        }
        rows.sort_unstable_by_key(|(tag, place, _)| (*tag, place.index()));
        Sorted { packed, stride, rows, has_long }
    }

    /// Returns pairs of deadline and tag in ascending order.
    fn deadlines(&self) -> Vec<(Millis, u32)> {
        let deadline = |(tag, place, _): &(u32, Place, Place)| {
            let pair = next_pair(&mut self.packed.iter_from(*place), self.stride)?;
            pair.deadline.map(|deadline| (deadline, *tag))
        };
        let mut due: Vec<(Millis, u32)> = self.rows.iter().filter_map(deadline).collect();
        due.sort_unstable();
        due.dedup();
        due
    }

    /// Builds the tree of fields from the rows.
    fn plant(&self, nodes: &mut WriteNodes<'_, '_>) -> Result<Root, NoRoom> {
        if !self.has_long {
            let leaf = Rows::of_tagged_rows::<ByShortTag>(self.packed, self.stride, &self.rows);
            return Ok(FieldTree::of_rows(nodes, &leaf)?.root);
        }
        let root = FieldTree::empty(nodes, self.stride)?;
        let mut tree = FieldTree::new(nodes, root);
        for (tag, place, _) in &self.rows {
            self.plant_row(&mut tree, *tag, *place)?;
        }
        Ok(tree.root)
    }

    fn plant_row(
        &self,
        tree: &mut FieldTree<'_, '_, '_>,
        tag: u32,
        place: Place,
    ) -> Result<(), NoRoom> {
        let row: Vec<Element<'_>> = self.packed.iter_from(place).take(self.stride).collect();
        let mut cells = row.clone();
        for (cell, element) in cells.iter_mut().zip(&row) {
            if let Element::Bytes(text) = element {
                *cell = tree.cell(text)?;
            }
        }
        tree.ensure_change()?;
        let path = tree.view().last();
        let at = Rows::new(tree.view().leaf(&path)).len();
        tree.insert_row(&path, at, tag, &cells);
        Ok(())
    }
}
