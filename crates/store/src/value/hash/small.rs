//! Small hashes: one packed list.

use super::deadline::{Deadline, Was};
use super::limit::{HashLimit, PACKED_BYTES};
use super::read::{Pair, next_pair};
use super::{DEADLINE, PLAIN, TIMED, stride_of, to_cell, value_tag_of_packed};
use crate::fault::NoSpace;
use crate::shard::{KeyMut, Reason};
use base::Millis;
use packed::{Element, PackedList, PackedListMut, Place, concat};

/// Most bytes of a row besides its texts.
const ROW_BYTES: usize = 2 * 9 + 9;

/// Upper bound of the bytes of a packed list with these fields.
pub(super) fn most_bytes<'t>(pairs: impl Iterator<Item = (&'t [u8], &'t [u8])>) -> usize {
    let cost = |(field, value): (&[u8], &[u8])| field.len() + value.len() + ROW_BYTES;
    packed::EMPTY.len() + pairs.map(cost).sum::<usize>()
}

/// Builds the packed list of fields set one after the other, in rows of `stride` columns; `None` if
/// it could take more than `bytes_max`.
pub(super) fn packed_of<'t>(
    pairs: impl Iterator<Item = (&'t [u8], &'t [u8])> + Clone,
    stride: usize,
    bytes_max: usize,
) -> Option<Vec<u8>> {
    let most = most_bytes(pairs.clone());
    if most > bytes_max {
        return None;
    }
    let mut bytes = vec![0; most];
    let mut packed = PackedListMut::empty_in(&mut bytes);
    for (field, value) in pairs {
        let (field, value) = (Element::of(field), Element::of(value));
        let view = packed.as_list();
        let fits = match view.find(field, view.front(), stride) {
            Some(place) => {
                let at = view.after(place);
                packed.replace(at, value)
            }
            None => packed.insert_row(view.end(), &[field, value, to_cell(None)][..stride]),
        };
        fits.ok()?;
    }
    let len = packed.byte_len();
    bytes.truncate(len);
    Some(bytes)
}

/// Finds a field; returns its place and its contents.
fn find<'x>(packed: PackedList<'x>, stride: usize, field: &[u8]) -> Option<(Place, Pair<'x>)> {
    let place = packed.find(Element::of(field), packed.front(), stride)?;
    Some((place, next_pair(&mut packed.iter_from(place), stride)?))
}

/// Sets a field. `None` if the hash must become large for it; no field has changed then.
#[inline]
pub(super) fn set(
    key: &mut KeyMut<'_, '_>,
    limit: HashLimit,
    field: &[u8],
    value: &[u8],
    deadline: Deadline,
) -> Result<Option<Was>, NoSpace> {
    let is_wide = matches!(deadline, Deadline::At(_)) || !limit.allows_texts(field, value);
    if is_wide && !widen(key)? {
        return Ok(None);
    }
    let stride = stride_of(key.value_tag());
    let packed = PackedList::new(key.bytes());
    let (place, pair) = find(packed, stride, field).unzip();
    let fields = packed.len() / stride + usize::from(place.is_none());
    let replaced = pair.as_ref().map_or(0, |pair| field.len() + pair.value.cost());
    let bytes = packed.full_len() + field.len() + value.len() + ROW_BYTES - replaced;
    if bytes > limit.packed_bytes_with(field, value) || !limit.allows_fields(fields) {
        return Ok(None);
    }
    let was = Was::of(pair.as_ref(), key.as_of());
    let old = pair.and_then(|pair| pair.deadline);
    let new = deadline.after(was, old);
    let value = Element::of(value);
    let Some(place) = place else {
        let (at, row) = (packed.len(), [Element::of(field), value, to_cell(new)]);
        key.insert_into_packed(at, &row[..stride])?;
        note(key, None, new);
        return Ok(Some(was));
    };
    let (row, place) = (place.index(), packed.after(place));
    key.replace_at(place, value)?;
    if old != new {
        key.replace_in_packed(row + DEADLINE, to_cell(new))?;
        note(key, old, new);
    }
    Ok(Some(was))
}

/// Sets or removes the deadline of an existing field; false if the hash must become large for it,
/// and no field has changed.
pub(super) fn set_deadline(
    key: &mut KeyMut<'_, '_>,
    field: &[u8],
    deadline: Option<Millis>,
) -> Result<bool, NoSpace> {
    if !widen(key)? {
        return Ok(false);
    }
    let packed = PackedList::new(key.bytes());
    if packed.full_len() + ROW_BYTES > PACKED_BYTES {
        return Ok(false);
    }
    let Some((place, pair)) = find(packed, TIMED, field) else { return Ok(true) };
    let (row, old) = (place.index(), pair.deadline);
    key.replace_in_packed(row + DEADLINE, to_cell(deadline))?;
    note(key, old, deadline);
    Ok(true)
}

/// Removes a field, and the key with its last field. An expired field is left to the sweep.
pub(super) fn remove(key: &mut KeyMut<'_, '_>, field: &[u8]) -> Was {
    let stride = stride_of(key.value_tag());
    let packed = PackedList::new(key.bytes());
    let Some((place, pair)) = find(packed, stride, field) else { return Was::Absent };
    if Was::of(Some(&pair), key.as_of()) == Was::Expired {
        return Was::Expired;
    }
    if packed.len() == stride {
        key.remove(Reason::Deleted);
        return Was::Present;
    }
    let old = pair.deadline;
    key.remove_from_packed(place, stride);
    note(key, old, None);
    Was::Present
}

/// Names of removed fields, if a listener needs them.
pub(super) type Names = Option<Vec<Vec<u8>>>;

/// Removes all fields whose deadlines have passed, and the key if none is left. Returns their
/// number.
pub(super) fn remove_due(key: &mut KeyMut<'_, '_>, names: &mut Names) -> u64 {
    let now = key.now();
    let packed = PackedList::new(key.bytes());
    let mut cells = packed.iter();
    let rows = std::iter::from_fn(|| next_pair(&mut cells, TIMED));
    let is_due = |deadline: Option<Millis>| deadline.is_some_and(|at| at <= now);
    let due = rows.enumerate().filter(|(_, pair)| is_due(pair.deadline));
    let due = due.inspect(|(_, pair)| {
        if let Some(names) = names {
            names.push(pair.field.with_text(<[u8]>::to_vec));
        }
    });
    let due: Vec<usize> = due.map(|(row, _)| row * TIMED).collect();
    if due.len() == packed.len() / TIMED {
        key.remove(Reason::Deleted);
        return due.len() as u64;
    }
    let mut packed = PackedListMut::new(key.bytes_mut());
    for at in due.iter().rev() {
        let place = packed.as_list().place(*at);
        packed.remove(place, TIMED);
    }
    key.shorten_packed();
    mark(key);
    due.len() as u64
}

/// Returns the earliest deadline in a packed list.
pub(super) fn earliest(bytes: &[u8]) -> Option<Millis> {
    let mut cells = PackedList::new(bytes).iter();
    let rows = std::iter::from_fn(|| next_pair(&mut cells, TIMED));
    rows.filter_map(|pair| pair.deadline).min()
}

/// Adds the column of deadlines to the rows, so that clients know the hash as a hashtable; false if
/// the packed list would be too long.
pub(super) fn widen(key: &mut KeyMut<'_, '_>) -> Result<bool, NoSpace> {
    let packed = PackedList::new(key.bytes());
    if stride_of(key.value_tag()) == TIMED {
        return Ok(true);
    }
    let rows = packed.len() / PLAIN;
    if packed.full_len() + rows * Element::Integer(0).cost() + ROW_BYTES > PACKED_BYTES {
        return Ok(false);
    }
    let mut zero = packed::EMPTY.to_vec();
    packed::push(&mut zero, to_cell(None));
    let zero = PackedList::new(&zero);
    let (mut pieces, mut place) = (Vec::with_capacity(2 * rows), packed.front());
    for _ in 0..rows {
        let next = packed.after(packed.after(place));
        pieces.extend([(packed, place, next), (zero, zero.front(), zero.end())]);
        place = next;
    }
    let mut wide = Vec::with_capacity(packed.full_len() + 2 * rows);
    concat(TIMED, &pieces, &mut wide);
    key.replace(value_tag_of_packed(TIMED), &wide)?;
    Ok(true)
}

/// Returns the rows without the column of deadlines, all of which must be empty.
pub(super) fn narrow(packed: PackedList<'_>) -> Vec<u8> {
    let (mut plain, mut cells) = (packed::EMPTY.to_vec(), packed.iter());
    while let Some(pair) = next_pair(&mut cells, TIMED) {
        packed::push_row(&mut plain, &[pair.field, pair.value]);
    }
    plain
}

/// Updates the value tag after the change of a deadline, and announces a new deadline to the sweep.
fn note(key: &mut KeyMut<'_, '_>, old: Option<Millis>, new: Option<Millis>) {
    if old == new {
        return;
    }
    if let Some(new) = new {
        key.set_value_tag(key.value_tag().with_timed_parts(true));
        key.note_part_deadline(new);
    } else {
        mark(key);
    }
}

/// Sets the mark in the value tag that says whether any field has a deadline.
fn mark(key: &mut KeyMut<'_, '_>) {
    let value_tag = key.value_tag();
    let is_timed = earliest(key.bytes()).is_some();
    key.set_value_tag(value_tag.with_timed_parts(is_timed));
}
