//! Changes of groups, their consumers, and their pending entries.

use super::fixed;
use super::rows::{ByName, clear, find, put, remove, seek};
use super::{
    ConsumerFacts, Facts, GroupLeaf, NEVER, OWNED_BYTES, PENDING_BYTES, PendingFacts, UNKNOWN,
    owned, owned_key, owned_len,
};
use crate::access::Access;
use crate::fault::Fault;
use crate::key::{Key, Kind};
use crate::shard::{KeyMut, WriteNodes};
use crate::value::collection::root;
use crate::value::stream::block::BlockLeaf;
use crate::value::stream::change;
use crate::value::stream::facts::{ENTRIES, GROUPS, is_tree};
use crate::value::stream::id::ID_BYTES;
use crate::value::stream::{Id, facts};
use packed::Element;
use tree::{ByKey, NoRoom, NodesMut, Root, Rows, Tree, View};

/// Reason for which a group was not found or not changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupError {
    /// There is no stream.
    NoStream,
    /// The stream has no group with this name.
    NoGroup,
    /// The stream already has a group with this name.
    Exists,
    /// The key holds something else, or there is no room.
    Fault(Fault),
}

impl<T: Into<Fault>> From<T> for GroupError {
    fn from(fault: T) -> GroupError {
        GroupError::Fault(fault.into())
    }
}

/// A group opened for change, among the nodes of its stream.
pub(super) struct GroupMut<'n, N> {
    pub nodes: &'n mut N,
    pub facts: Facts,
    /// Root of the stream's entries.
    pub entries: Root,
}

/// Changes the tree of groups. Key listeners (WATCH, client-side caching) are not notified,
/// since groups are no part of what it holds.
fn change_groups<'a, T>(
    key: &mut KeyMut<'_, 'a>,
    change: impl FnOnce(&mut Tree<'_, WriteNodes<'_, 'a>, GroupLeaf>) -> Result<T, NoRoom>,
) -> Result<T, Fault> {
    key.unseen(|key| key.change_tree::<GroupLeaf, _>(GROUPS, change))
}

/// Changes a group of the stream of a key, and writes its facts back.
///
/// # Errors
/// When there is no such group, or `change` fails.
pub(super) fn change_group<'a, T>(
    key: &mut KeyMut<'_, 'a>,
    name: &[u8],
    change: impl FnOnce(&mut GroupMut<'_, WriteNodes<'_, 'a>>) -> Result<T, NoRoom>,
) -> Result<T, GroupError> {
    let entries = root(key.bytes(), ENTRIES);
    let groups = root(key.bytes(), GROUPS);
    if !is_tree(groups) {
        return Err(GroupError::NoGroup);
    }
    let place = seek(&View::<_, GroupLeaf>::new(key.nodes(), groups), name);
    if !place.is_there {
        return Err(GroupError::NoGroup);
    }
    let done = change_groups(key, |tree| {
        let cell = Rows::new(tree.nodes.bytes(place.path.leaf)).cell(place.row, 1);
        let before = Facts::read(cell.unwrap_or(Element::Integer(0)));
        let mut group = GroupMut { nodes: tree.nodes, facts: before, entries };
        let done = change(&mut group);
        let after = group.facts;
        if after != before {
            // Of the same length as before, so it needs no room.
            let bytes = after.to_bytes();
            tree.replace_cell(&place.path, place.row, 1, Element::Bytes(&bytes));
        }
        done
    })?;
    Ok(done)
}

/// Creates a group that begins after an id, or after the last one. A missing stream is created if
/// `makes_stream`.
///
/// # Errors
/// See [`GroupError`].
pub fn create(
    access: &mut Access<'_>,
    key: &Key<'_>,
    name: &[u8],
    last_id: Option<Id>,
    entries_read: Option<u64>,
    makes_stream: bool,
) -> Result<(), GroupError> {
    let mut key = access.open(key, Kind::Stream)?;
    if !key.exists() {
        if !makes_stream {
            return Err(GroupError::NoStream);
        }
        change::create(&mut key)?;
    }
    let value = key.bytes();
    let groups = root(value, GROUPS);
    let last_id = last_id.unwrap_or(facts::Facts::read(value).last_id);
    if find::<_, ByName>(key.nodes(), groups, name).is_some() {
        return Err(GroupError::Exists);
    }
    let facts = Facts::new(last_id, known(entries_read)).to_bytes();
    change_groups(&mut key, |tree| {
        let mut root = tree.root;
        let done = put::<_, ByName>(tree.nodes, &mut root, name, Element::Bytes(&facts));
        tree.root = root;
        done
    })?;
    Ok(())
}

fn known(entries_read: Option<u64>) -> i64 {
    entries_read.map_or(UNKNOWN, |read| read as i64)
}

/// Sets the position of a group: after an id, or after the last one.
///
/// # Errors
/// See [`GroupError`].
pub fn set(
    access: &mut Access<'_>,
    key: &Key<'_>,
    name: &[u8],
    last_id: Option<Id>,
    entries_read: Option<u64>,
) -> Result<(), GroupError> {
    let mut key = access.open(key, Kind::Stream)?.existing().ok_or(GroupError::NoStream)?;
    let last_id = last_id.unwrap_or(facts::Facts::read(key.bytes()).last_id);
    change_group(&mut key, name, |group| {
        group.facts.last_id = last_id;
        group.facts.entries_read = known(entries_read);
        Ok(())
    })
}

/// Removes a group; false if there is none with this name.
///
/// # Errors
/// When the key does not hold a stream.
pub fn destroy(access: &mut Access<'_>, key: &Key<'_>, name: &[u8]) -> Result<bool, GroupError> {
    let mut key = access.open(key, Kind::Stream)?.existing().ok_or(GroupError::NoStream)?;
    let cleared = change_group(&mut key, name, |group| {
        let Facts { mut consumers, mut names, mut pending, mut owned, .. } = group.facts;
        clear::<_, ByName>(group.nodes, &mut consumers);
        clear::<_, ByKey>(group.nodes, &mut names);
        fixed::clear::<_, ID_BYTES, PENDING_BYTES>(group.nodes, &mut pending);
        fixed::clear::<_, OWNED_BYTES, 0>(group.nodes, &mut owned);
        Ok(())
    });
    match cleared {
        Err(GroupError::NoGroup) => return Ok(false),
        cleared => cleared?,
    }
    change_groups(&mut key, |tree| {
        let mut root = tree.root;
        remove::<_, ByName>(tree.nodes, &mut root, name);
        tree.root = root;
        Ok(())
    })?;
    Ok(true)
}

/// Creates a consumer; false if the group already has one with this name.
///
/// # Errors
/// See [`GroupError`].
pub fn create_consumer(
    access: &mut Access<'_>,
    key: &Key<'_>,
    group: &[u8],
    name: &[u8],
) -> Result<bool, GroupError> {
    let mut key = access.open(key, Kind::Stream)?.existing().ok_or(GroupError::NoStream)?;
    let now = key.now().0;
    change_group(&mut key, group, |group| {
        Ok(group.consumer(name).is_none() && group.add_consumer(name, now).map(|_| true)?)
    })
}

/// Removes a consumer and its pending entries. Returns the number of those; `None` if there is no
/// such consumer.
///
/// # Errors
/// See [`GroupError`].
pub fn delete_consumer(
    access: &mut Access<'_>,
    key: &Key<'_>,
    group: &[u8],
    name: &[u8],
) -> Result<Option<u64>, GroupError> {
    let mut key = access.open(key, Kind::Stream)?.existing().ok_or(GroupError::NoStream)?;
    change_group(&mut key, group, |group| Ok(group.remove_consumer(name)))
}

/// Acknowledges entries of a stream that was read before. Returns the number of those that were
/// pending.
///
/// # Errors
/// See [`GroupError`].
pub fn acknowledge(
    access: &mut Access<'_>,
    key: &Key<'_>,
    group: &[u8],
    ids: impl Iterator<Item = Id>,
) -> Result<u64, GroupError> {
    let mut key =
        access.open_without_touch(key, Kind::Stream)?.existing().ok_or(GroupError::NoStream)?;
    change_group(&mut key, group, |group| Ok(ids.map(|id| u64::from(group.forget(id))).sum()))
}

impl<N: NodesMut> GroupMut<'_, N> {
    /// Returns a view of the entries of the stream.
    pub fn entries(&self) -> View<'_, N::Read<'_>, BlockLeaf> {
        View::new(self.nodes.read(), self.entries)
    }

    pub fn consumer(&self, name: &[u8]) -> Option<ConsumerFacts> {
        let facts = find::<_, ByName>(self.nodes.read(), self.facts.consumers, name)?;
        Some(ConsumerFacts::read(facts))
    }

    /// Adds a new consumer.
    pub fn add_consumer(&mut self, name: &[u8], now: u64) -> Result<ConsumerFacts, NoRoom> {
        let number = self.free_number();
        let consumer = ConsumerFacts { number, seen: now, active: NEVER };
        let GroupMut { nodes, facts, .. } = self;
        // A long name has a node of its own in each of the two trees.
        let mut names: Tree<'_, N, super::RowLeaf<ByKey>> = Tree::new(nodes, facts.names);
        let cell = names.cell(name)?;
        let cell = if let Element::Integer(_) = cell { Element::Bytes(name) } else { cell };
        put::<N, ByKey>(nodes, &mut facts.names, &number.to_be_bytes(), cell)?;
        let bytes = consumer.to_bytes();
        put::<N, ByName>(nodes, &mut facts.consumers, name, Element::Bytes(&bytes))?;
        Ok(consumer)
    }

    fn free_number(&mut self) -> u32 {
        loop {
            let number = self.facts.next_number;
            self.facts.next_number = number.wrapping_add(1);
            let key = number.to_be_bytes();
            if find::<_, ByKey>(self.nodes.read(), self.facts.names, &key).is_none() {
                return number;
            }
        }
    }

    /// Writes the facts about a consumer.
    pub fn put_consumer(&mut self, name: &[u8], to: ConsumerFacts) -> Result<(), NoRoom> {
        let bytes = to.to_bytes();
        put::<N, ByName>(self.nodes, &mut self.facts.consumers, name, Element::Bytes(&bytes))?;
        Ok(())
    }

    /// Removes a consumer; returns the number of its pending entries, or `None` if it does not
    /// exist.
    fn remove_consumer(&mut self, name: &[u8]) -> Option<u64> {
        let number = self.consumer(name)?.number;
        let nodes = self.nodes.read();
        let count = owned_len(nodes, self.facts.owned, number);
        let ids: Vec<Id> = owned(nodes, self.facts.owned, number, Id::MIN).collect();
        for id in ids {
            self.forget(id);
        }
        let GroupMut { nodes, facts, .. } = self;
        remove::<N, ByName>(nodes, &mut facts.consumers, name);
        remove::<N, ByKey>(nodes, &mut facts.names, &number.to_be_bytes());
        Some(count)
    }

    pub fn pending(&self, id: Id) -> Option<PendingFacts> {
        let facts = fixed::find(self.nodes.read(), self.facts.pending, &id.to_bytes())?;
        Some(PendingFacts::read(facts))
    }

    /// Makes an entry pending, or replaces the facts about a pending one.
    pub fn put_pending(&mut self, id: Id, to: PendingFacts) -> Result<(), NoRoom> {
        let GroupMut { nodes, facts, .. } = self;
        let pending = &mut facts.pending;
        let old = fixed::put::<N, ID_BYTES, PENDING_BYTES>(
            nodes,
            pending,
            &id.to_bytes(),
            &to.to_bytes(),
        )?;
        let old = old.map(|old| PendingFacts::read(old).number);
        if old != Some(to.number) {
            let key = owned_key(to.number, id);
            fixed::put::<N, OWNED_BYTES, 0>(nodes, &mut facts.owned, &key, &[])?;
        }
        if let Some(old) = old.filter(|old| *old != to.number) {
            fixed::remove::<N, OWNED_BYTES, 0>(nodes, &mut facts.owned, &owned_key(old, id));
        }
        Ok(())
    }

    /// Counts one more delivery of a pending entry.
    pub fn note_delivery(&mut self, id: Id, now: u64) {
        fixed::update(self.nodes, self.facts.pending, &id.to_bytes(), |bytes| {
            let before = PendingFacts::read(bytes);
            let deliveries = before.deliveries.wrapping_add(1);
            PendingFacts { delivered: now, deliveries, ..before }.to_bytes()
        });
    }

    /// Removes an entry from the pending ones; false if it was not pending.
    pub fn forget(&mut self, id: Id) -> bool {
        let GroupMut { nodes, facts, .. } = self;
        let pending = &mut facts.pending;
        let gone = fixed::remove::<N, ID_BYTES, PENDING_BYTES>(nodes, pending, &id.to_bytes());
        let Some(gone) = gone else { return false };
        let key = owned_key(PendingFacts::read(gone).number, id);
        fixed::remove::<N, OWNED_BYTES, 0>(nodes, &mut facts.owned, &key).is_some()
    }

    /// Returns the consumer with a name, added if need be, with `seen` set to now; the flag says
    /// that it is new.
    pub fn see_consumer(&mut self, name: &[u8], now: u64) -> Result<(ConsumerFacts, bool), NoRoom> {
        match self.consumer(name) {
            Some(consumer) if consumer.seen == now => Ok((consumer, false)),
            Some(consumer) => {
                let consumer = ConsumerFacts { seen: now, ..consumer };
                self.put_consumer(name, consumer)?;
                Ok((consumer, false))
            }
            None => Ok((self.add_consumer(name, now)?, true)),
        }
    }
}
