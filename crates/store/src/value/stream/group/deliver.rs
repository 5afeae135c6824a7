//! Reads through a group: new entries for a consumer, or those it already has.

use super::change::{GroupError, GroupMut, change_group};
use super::{ConsumerFacts, Extent, PendingFacts, owned};
use crate::access::Access;
use crate::key::{Key, Kind};
use crate::shard::WriteNodes;
use crate::value::stream::block::Block;
use crate::value::stream::read::Range;
use crate::value::stream::{Entry, Id, Stream};
use tree::{NoRoom, NodesMut};

/// Options of XREADGROUP for one stream.
#[derive(Clone, Copy, Debug)]
pub struct GroupRead<'t> {
    /// Name of the group.
    pub group: &'t [u8],
    /// Name of the consumer, created if need be.
    pub consumer: &'t [u8],
    /// `Some` for the consumer's pending entries after this id, `None` for new entries.
    pub after: Option<Id>,
    /// Most entries to deliver; zero for all.
    pub count: u64,
    /// True to leave the delivered entries out of the pending ones.
    pub no_ack: bool,
}

/// Parts of a reply, in this order.
#[derive(Clone, Copy, Debug)]
pub enum Given<'x> {
    /// Start of a reply, which may turn out to be empty.
    Begins,
    /// An entry.
    Entry(Entry<'x>),
    /// Id of a pending entry of the consumer that has been deleted.
    Gone(Id),
}

/// Outcome of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served {
    /// True if there was a reply.
    pub is_served: bool,
    /// True if the consumer was created by the read.
    pub is_new_consumer: bool,
}

/// Reads for a consumer, and records the deliveries; counts a hit or a miss.
///
/// # Errors
/// See [`GroupError`].
pub fn read_group(
    access: &mut Access<'_>,
    key: &Key<'_>,
    read: GroupRead<'_>,
    give: impl FnMut(Given<'_>),
) -> Result<Served, GroupError> {
    let mut key = access.open_to_read(key, Kind::Stream)?.existing().ok_or(GroupError::NoStream)?;
    let now = key.now().0;
    let stream = Stream::of(key.value());
    let extent = Extent::of(&stream);
    let last = stream.last().map(|last| last.id);
    change_group(&mut key, read.group, |group| {
        let (consumer, is_new_consumer) = group.see_consumer(read.consumer, now)?;
        let is_served = match read.after {
            Some(after) => {
                give_again(group, read, consumer, after, now, give)?;
                true
            }
            None if last.is_some_and(|last| last > group.facts.last_id) => {
                give_new(group, read, consumer, extent, now, give)?;
                true
            }
            None => false,
        };
        Ok(Served { is_served, is_new_consumer })
    })
}

/// Ids of the entries of one read.
type Ids = smallvec::SmallVec<[Id; 32]>;

fn give_new(
    group: &mut GroupMut<'_, WriteNodes<'_, '_>>,
    read: GroupRead<'_>,
    consumer: ConsumerFacts,
    extent: Extent,
    now: u64,
    mut give: impl FnMut(Given<'_>),
) -> Result<(), NoRoom> {
    let Some(from) = group.facts.last_id.next() else { return Ok(()) };
    let most = most(read.count);
    let (mut ids, mut facts) = (Ids::new(), group.facts);
    give(Given::Begins);
    for entry in Range::new(group.entries(), from, Id::MAX).take(most) {
        facts.entries_read = extent.read_at(facts.last_id, facts.entries_read, entry.id);
        facts.last_id = entry.id;
        ids.push(entry.id);
        give(Given::Entry(entry));
    }
    group.facts = facts;
    if read.no_ack || ids.is_empty() {
        return Ok(());
    }
    let to = PendingFacts { number: consumer.number, delivered: now, deliveries: 1 };
    // After XGROUP SETID, an entry may be delivered that is pending for another consumer.
    for id in ids {
        group.put_pending(id, to)?;
    }
    group.put_consumer(read.consumer, ConsumerFacts { active: now, ..consumer })
}

fn give_again(
    group: &mut GroupMut<'_, WriteNodes<'_, '_>>,
    read: GroupRead<'_>,
    consumer: ConsumerFacts,
    after: Id,
    now: u64,
    mut give: impl FnMut(Given<'_>),
) -> Result<(), NoRoom> {
    give(Given::Begins);
    let Some(from) = after.next() else { return Ok(()) };
    let ids = owned(group.nodes.read(), group.facts.owned, consumer.number, from);
    let ids: Ids = ids.take(most(read.count)).collect();
    let mut there = Ids::new();
    let view = group.entries();
    let mut entries = Range::new(view, from, Id::MAX).peekable();
    for id in ids {
        if entries.peek().is_some_and(|entry| entry.id < id) {
            // Entries in between belong to other consumers.
            entries = Range::new(view, id, Id::MAX).peekable();
        }
        match entries.next_if(|entry| entry.id == id) {
            Some(entry) => {
                give(Given::Entry(entry));
                there.push(id);
            }
            None => give(Given::Gone(id)),
        }
    }
    there.into_iter().for_each(|id| group.note_delivery(id, now));
    Ok(())
}

/// Most entries by COUNT, where zero means all.
fn most(count: u64) -> usize {
    if count == 0 { usize::MAX } else { usize::try_from(count).unwrap_or(usize::MAX) }
}

impl<N: NodesMut> GroupMut<'_, N> {
    /// Passes the entry with an id to `each`; false if there is none.
    pub fn with_entry(&self, id: Id, each: impl FnOnce(Entry<'_>)) -> bool {
        let (view, key) = (self.entries(), id.to_bytes());
        let path = view.find(|separator| separator <= &key[..]);
        let block = Block::new(view.leaf(&path));
        let found = block.at(block.seek(id)).filter(|entry| entry.id == id);
        let Some(entry) = found else { return false };
        each(entry.entry(view.nodes, block.names));
        true
    }
}
