//! Addition and removal of entries.

use super::edit::{self, NewEntry};
use super::facts::{ENTRIES, Facts, value_of};
use super::limit::NodeLimit;
use super::trim::{self, Trim};
use super::{Id, Stream};
use crate::access::Access;
use crate::fault::{Fault, NoSpace};
use crate::key::{Encoding, Key, Kind, ValueTag};
use crate::shard::{KeyMut, Reason, WriteNodes};
use crate::value::collection::root;
use std::iter;
use tree::NoRoom;

type Entries<'n, 'x, 'a> = edit::Entries<'n, WriteNodes<'x, 'a>>;

/// Most bytes of an entry, all names and values together.
const ENTRY_BYTES_MAX: usize = 1 << 30;

/// Choice of the id of a new entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewId {
    /// The current millisecond with sequence 0, or the id after the last one if the clock is not
    /// ahead of it.
    Now,
    /// This millisecond, with the first free sequence.
    At(u64),
    /// This id.
    Given(Id),
}

/// Reason for which an entry was not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddError {
    /// The id is not above that of the last entry.
    NotAbove,
    /// The last id is the highest one.
    Exhausted,
    /// The entry is longer than a gibibyte.
    TooLong,
    /// The key holds something else, or there is no room.
    Fault(Fault),
}

impl From<Fault> for AddError {
    fn from(fault: Fault) -> AddError {
        AddError::Fault(fault)
    }
}

impl From<NoSpace> for AddError {
    fn from(fault: NoSpace) -> AddError {
        AddError::Fault(fault.into())
    }
}

/// Options of an addition.
#[derive(Clone, Copy, Debug)]
pub struct Add {
    /// Id of the entry.
    pub id: NewId,
    /// True to add to an existing stream only.
    pub only_existing: bool,
    /// Trimming after the addition.
    pub trim: Option<Trim>,
    /// Limits of nodes as clients count them.
    pub limit: NodeLimit,
}

/// Outcome of an addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Added {
    /// Id of the entry.
    pub id: Id,
    /// Number of trimmed entries.
    pub trimmed: u64,
}

/// Adds an entry, whose names and values come in turn. The stream is created if need be; `None` if
/// it does not exist and `only_existing` is set.
///
/// # Errors
/// See [`AddError`]; nothing has changed then.
pub fn add<'t>(
    access: &mut Access<'_>,
    key: &Key<'_>,
    how: Add,
    texts: impl Iterator<Item = &'t [u8]> + Clone,
) -> Result<Option<Added>, AddError> {
    let mut key = access.open(key, Kind::Stream).map_err(Fault::from)?;
    let is_new = !key.exists();
    if is_new && how.only_existing {
        return Ok(None);
    }
    let mut facts = if is_new { Facts::default() } else { Facts::read(key.bytes()) };
    let id = next_id(how.id, facts.last_id, key.now().0)?;
    let new = NewEntry::new(texts);
    if new.len() > ENTRY_BYTES_MAX {
        return Err(AddError::TooLong);
    }
    if is_new {
        create(&mut key)?;
    }
    let starts = how.limit.starts_node(&facts, new.len());
    let trimmed = key.change_tree(ENTRIES, |tree| {
        edit::append(tree, &mut facts.tail, id, starts, &new)?;
        facts.note_added(id, starts, new.in_listpack());
        Ok(how.trim.map_or(0, |how| trim::apply(tree, &mut facts, how)))
    });
    if trimmed.is_err() && is_new {
        key.remove(Reason::Deleted);
    }
    let trimmed = trimmed?;
    facts.write(key.bytes_mut());
    Ok(Some(Added { id, trimmed }))
}

fn next_id(new: NewId, last: Id, now: u64) -> Result<Id, AddError> {
    if last == Id::MAX {
        return Err(AddError::Exhausted);
    }
    let id = match new {
        NewId::Now if now > last.ms => Some(Id { ms: now, seq: 0 }),
        NewId::Now => last.next(),
        NewId::At(ms) if ms == last.ms => last.seq.checked_add(1).map(|seq| Id { ms, seq }),
        NewId::At(ms) => Some(Id { ms, seq: 0 }),
        NewId::Given(id) => Some(id),
    };
    id.filter(|id| *id > last).ok_or(AddError::NotAbove)
}

/// Creates an empty stream under a missing key.
pub(super) fn create(key: &mut KeyMut<'_, '_>) -> Result<(), NoSpace> {
    let value_tag = ValueTag::of_tree(Kind::Stream, Encoding::Stream);
    let id = key.new_collection()?;
    let built = edit::new_tree(&mut key.nodes_of(id)).map_err(NoSpace::from);
    let put = built.and_then(|entries| key.replace(value_tag, &value_of(id, entries)));
    if put.is_err() {
        key.give_up(id);
    }
    put
}

/// Changes the entries of a stream and its facts.
pub(super) fn change<'a, T>(
    key: &mut KeyMut<'_, 'a>,
    change: impl FnOnce(&mut Entries<'_, '_, 'a>, &mut Facts) -> Result<T, NoRoom>,
) -> Result<T, Fault> {
    let mut facts = Facts::read(key.bytes());
    let done = key.change_tree(ENTRIES, |tree| change(tree, &mut facts))?;
    facts.write(key.bytes_mut());
    Ok(done)
}

/// Removes the entries with these ids. Returns the number removed; the stream stays, even if empty.
///
/// # Errors
/// When the key does not hold a stream.
pub fn delete(
    access: &mut Access<'_>,
    key: &Key<'_>,
    mut ids: impl Iterator<Item = Id>,
) -> Result<u64, Fault> {
    let Some(mut key) = access.open(key, Kind::Stream)?.existing() else { return Ok(0) };
    let stream = Stream::of(key.value());
    let Some(first) = ids.find(|id| stream.get(*id).is_some()) else { return Ok(0) };
    change(&mut key, |tree, facts| {
        let mut count = 0;
        facts.tail.count_in(tree);
        for id in iter::once(first).chain(ids) {
            let Some(removed) = edit::remove(tree, id) else { continue };
            facts.note_removed(removed, tree.root.count);
            facts.max_deleted = facts.max_deleted.max(id);
            count += 1;
        }
        Ok(count)
    })
}

/// Removes entries from the front. Returns their number.
///
/// # Errors
/// When the key does not hold a stream.
pub fn trim(access: &mut Access<'_>, key: &Key<'_>, how: Trim) -> Result<u64, Fault> {
    let Some(mut key) = access.open(key, Kind::Stream)?.existing() else { return Ok(0) };
    let Stream { entries, mut facts, .. } = Stream::of(key.value());
    let count = trim::count(&entries, &mut facts, how);
    if count == 0 {
        return Ok(0);
    }
    change(&mut key, |tree, facts| {
        trim::remove(tree, facts, count);
        Ok(count)
    })
}

/// Values that XSETID sets.
#[derive(Clone, Copy, Debug)]
pub struct SetId {
    /// Last id.
    pub last: Id,
    /// Number of entries ever added; `None` leaves it.
    pub added: Option<u64>,
    /// Highest id of a deleted entry; the lowest id leaves it.
    pub max_deleted: Id,
}

/// Reason for which the last id was not set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetIdError {
    /// There is no stream.
    NoStream,
    /// An entry with a higher id was deleted.
    BelowDeleted,
    /// An entry with a higher id exists.
    BelowTop,
    /// The stream has more entries than the given number of entries added.
    TooFewAdded,
    /// The key holds something else.
    WrongKind,
}

/// Sets the last id of a stream, and other facts.
///
/// # Errors
/// See [`SetIdError`]; nothing has changed then.
pub fn set_id(access: &mut Access<'_>, key: &Key<'_>, to: SetId) -> Result<(), SetIdError> {
    let key = access.open(key, Kind::Stream).map_err(|_| SetIdError::WrongKind)?;
    let mut key = key.existing().ok_or(SetIdError::NoStream)?;
    let mut facts = Facts::read(key.bytes());
    if to.last < facts.max_deleted {
        return Err(SetIdError::BelowDeleted);
    }
    if let Some(top) = Stream::of(key.value()).last() {
        if to.last < top.id {
            return Err(SetIdError::BelowTop);
        }
        let len = root(key.bytes(), ENTRIES).count;
        if to.added.is_some_and(|added| len > added) {
            return Err(SetIdError::TooFewAdded);
        }
    }
    facts.last_id = to.last;
    facts.added = to.added.unwrap_or(facts.added);
    if to.max_deleted != Id::MIN {
        facts.max_deleted = to.max_deleted;
    }
    key.unseen(|key| facts.write(key.bytes_mut()));
    Ok(())
}
