//! Hashes that are one run.

use super::deadline::{Deadline, Was};
use super::limit::{HashLimit, RUN_BYTES};
use super::read::{Pair, next_pair};
use super::{DEADLINE, PLAIN, TIMED, label_of_run, stride_of, to_cell};
use crate::fault::NoSpace;
use crate::shard::{KeyMut, Reason};
use base::Millis;
use packed::{Element, Place, Run, RunMut, concat};

/// Bytes that a row takes besides its texts, at most.
const ROW_BYTES: usize = 2 * 9 + 9;

/// Bytes that the run of fields takes at most.
pub(super) fn most_bytes<'t>(pairs: impl Iterator<Item = (&'t [u8], &'t [u8])>) -> usize {
    let cost = |(field, value): (&[u8], &[u8])| field.len() + value.len() + ROW_BYTES;
    packed::EMPTY.len() + pairs.map(cost).sum::<usize>()
}

/// The run of fields that are set one after the other, in rows of so many columns; `None` if it
/// could take more than `bytes_max`.
pub(super) fn run_of<'t>(
    pairs: impl Iterator<Item = (&'t [u8], &'t [u8])> + Clone,
    stride: usize,
    bytes_max: usize,
) -> Option<Vec<u8>> {
    let most = most_bytes(pairs.clone());
    if most > bytes_max {
        return None;
    }
    let mut bytes = vec![0; most];
    let mut run = RunMut::empty_in(&mut bytes);
    for (field, value) in pairs {
        let (field, value) = (Element::of(field), Element::of(value));
        let view = run.as_run();
        let fits = match view.find(field, view.front(), stride) {
            Some(place) => {
                let at = view.after(place);
                run.replace(at, value)
            }
            None => run.insert_row(view.end(), &[field, value, to_cell(None)][..stride]),
        };
        fits.ok()?;
    }
    let len = run.byte_len();
    bytes.truncate(len);
    Some(bytes)
}

/// Where a field stands, and what it is.
fn find<'x>(run: Run<'x>, stride: usize, field: &[u8]) -> Option<(Place, Pair<'x>)> {
    let place = run.find(Element::of(field), run.front(), stride)?;
    Some((place, next_pair(&mut run.iter_from(place), stride)?))
}

/// Sets a field. `None` if the hash must become large for it: no field has changed then.
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
    let stride = stride_of(key.label());
    let run = Run::new(key.bytes());
    let (place, pair) = find(run, stride, field).unzip();
    let fields = run.len() / stride + usize::from(place.is_none());
    let replaced = pair.as_ref().map_or(0, |pair| field.len() + pair.value.cost());
    let bytes = run.full_len() + field.len() + value.len() + ROW_BYTES - replaced;
    if bytes > limit.run_bytes_with(field, value) || !limit.allows_fields(fields) {
        return Ok(None);
    }
    let was = Was::of(pair.as_ref(), key.as_of());
    let old = pair.and_then(|pair| pair.deadline);
    let new = deadline.after(was, old);
    let value = Element::of(value);
    let Some(place) = place else {
        let (at, row) = (run.len(), [Element::of(field), value, to_cell(new)]);
        key.insert_into_run(at, &row[..stride])?;
        note(key, None, new);
        return Ok(Some(was));
    };
    let (row, place) = (place.index(), run.after(place));
    key.replace_at(place, value)?;
    if old != new {
        key.replace_in_run(row + DEADLINE, to_cell(new))?;
        note(key, old, new);
    }
    Ok(Some(was))
}

/// Sets or takes away the deadline of a field that is there; false if the hash must become large
/// for it, and no field has changed.
pub(super) fn set_deadline(
    key: &mut KeyMut<'_, '_>,
    field: &[u8],
    deadline: Option<Millis>,
) -> Result<bool, NoSpace> {
    if !widen(key)? {
        return Ok(false);
    }
    let run = Run::new(key.bytes());
    if run.full_len() + ROW_BYTES > RUN_BYTES {
        return Ok(false);
    }
    let Some((place, pair)) = find(run, TIMED, field) else { return Ok(true) };
    let (row, old) = (place.index(), pair.deadline);
    key.replace_in_run(row + DEADLINE, to_cell(deadline))?;
    note(key, old, deadline);
    Ok(true)
}

/// Removes a field, and the key with the last one. One past its deadline is left to the sweep.
pub(super) fn remove(key: &mut KeyMut<'_, '_>, field: &[u8]) -> Was {
    let stride = stride_of(key.label());
    let run = Run::new(key.bytes());
    let Some((place, pair)) = find(run, stride, field) else { return Was::Absent };
    if Was::of(Some(&pair), key.as_of()) == Was::Expired {
        return Was::Expired;
    }
    if run.len() == stride {
        key.remove(Reason::Deleted);
        return Was::Present;
    }
    let old = pair.deadline;
    key.remove_from_run(place, stride);
    note(key, old, None);
    Was::Present
}

/// The names of fields that are removed, where they are wanted.
pub(super) type Names = Option<Vec<Vec<u8>>>;

/// Removes all fields whose deadline has passed, and the key if none is left. Returns how many.
pub(super) fn remove_due(key: &mut KeyMut<'_, '_>, names: &mut Names) -> u64 {
    let now = key.now();
    let run = Run::new(key.bytes());
    let mut cells = run.iter();
    let rows = std::iter::from_fn(|| next_pair(&mut cells, TIMED));
    let is_due = |deadline: Option<Millis>| deadline.is_some_and(|at| at <= now);
    let due = rows.enumerate().filter(|(_, pair)| is_due(pair.deadline));
    let due = due.inspect(|(_, pair)| {
        if let Some(names) = names {
            names.push(pair.field.with_text(<[u8]>::to_vec));
        }
    });
    let due: Vec<usize> = due.map(|(row, _)| row * TIMED).collect();
    if due.len() == run.len() / TIMED {
        key.remove(Reason::Deleted);
        return due.len() as u64;
    }
    let mut run = RunMut::new(key.bytes_mut());
    for at in due.iter().rev() {
        let place = run.as_run().place(*at);
        run.remove(place, TIMED);
    }
    key.shorten_run();
    mark(key);
    due.len() as u64
}

/// The earliest deadline in a run.
pub(super) fn earliest(bytes: &[u8]) -> Option<Millis> {
    let mut cells = Run::new(bytes).iter();
    let rows = std::iter::from_fn(|| next_pair(&mut cells, TIMED));
    rows.filter_map(|pair| pair.deadline).min()
}

/// Gives rows the column of deadlines, with which clients know the hash as a hashtable; false if
/// the run would be too long.
pub(super) fn widen(key: &mut KeyMut<'_, '_>) -> Result<bool, NoSpace> {
    let run = Run::new(key.bytes());
    if stride_of(key.label()) == TIMED {
        return Ok(true);
    }
    let rows = run.len() / PLAIN;
    if run.full_len() + rows * Element::Integer(0).cost() + ROW_BYTES > RUN_BYTES {
        return Ok(false);
    }
    let mut zero = packed::EMPTY.to_vec();
    packed::push(&mut zero, to_cell(None));
    let zero = Run::new(&zero);
    let (mut pieces, mut place) = (Vec::with_capacity(2 * rows), run.front());
    for _ in 0..rows {
        let next = run.after(run.after(place));
        pieces.extend([(run, place, next), (zero, zero.front(), zero.end())]);
        place = next;
    }
    let mut wide = Vec::with_capacity(run.full_len() + 2 * rows);
    concat(TIMED, &pieces, &mut wide);
    key.put(label_of_run(TIMED), &wide)?;
    Ok(true)
}

/// The same rows without the column of deadlines, of which there are none.
pub(super) fn narrow(run: Run<'_>) -> Vec<u8> {
    let (mut plain, mut cells) = (packed::EMPTY.to_vec(), run.iter());
    while let Some(pair) = next_pair(&mut cells, TIMED) {
        packed::push_row(&mut plain, &[pair.field, pair.value]);
    }
    plain
}

/// For after a deadline was changed: the sweep must hear of the new one, and the label tells
/// whether there is any.
fn note(key: &mut KeyMut<'_, '_>, old: Option<Millis>, new: Option<Millis>) {
    if old == new {
        return;
    }
    if let Some(new) = new {
        key.set_label(key.label().with_timed_parts(true));
        key.note_part_deadline(new);
    } else {
        mark(key);
    }
}

/// Makes the label tell whether there is any deadline.
fn mark(key: &mut KeyMut<'_, '_>) {
    let label = key.label();
    let is_timed = earliest(key.bytes()).is_some();
    key.set_label(label.with_timed_parts(is_timed));
}
