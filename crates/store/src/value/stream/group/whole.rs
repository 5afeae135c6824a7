//! Whole groups, written at once.

use super::change::GroupMut;
use super::rows::{ByName, put};
use super::{ConsumerFacts, Facts, GroupLeaf, NEVER, PendingFacts, UNKNOWN};
use crate::shard::WriteNodes;
use crate::value::stream::Id;
use packed::Element;
use tree::{NoRoom, Root, Tree};

/// A group with its consumers.
#[derive(Clone, Debug)]
pub struct WholeGroup<'t> {
    /// Name of the group.
    pub name: &'t [u8],
    /// Id of the last entry that was delivered as a new one.
    pub last_id: Id,
    /// Number of entries delivered; `None` if not known.
    pub entries_read: Option<u64>,
    /// Its consumers, whose names differ.
    pub consumers: Vec<WholeConsumer<'t>>,
}

/// A consumer with its pending entries.
#[derive(Clone, Debug)]
pub struct WholeConsumer<'t> {
    /// Name of the consumer.
    pub name: &'t [u8],
    /// Time of its last command, in milliseconds since the Unix epoch.
    pub seen: u64,
    /// Time of its last claim or delivery; `None` if there was none.
    pub active: Option<u64>,
    /// Its pending entries: id, time of the last delivery, number of deliveries.
    pub pending: Vec<(Id, u64, u64)>,
}

/// Adds a group to the tree of groups.
pub(in crate::value::stream) fn put_group<'a>(
    tree: &mut Tree<'_, WriteNodes<'_, 'a>, GroupLeaf>,
    entries: Root,
    whole: &WholeGroup<'_>,
) -> Result<(), NoRoom> {
    let facts = Facts::new(whole.last_id, whole.entries_read.map_or(UNKNOWN, |it| it as i64));
    let mut group = GroupMut { nodes: tree.nodes, facts, entries };
    for consumer in &whole.consumers {
        put_consumer(&mut group, consumer)?;
    }
    let (facts, mut root) = (group.facts.to_bytes(), tree.root);
    put::<_, ByName>(tree.nodes, &mut root, whole.name, Element::Bytes(&facts))?;
    tree.root = root;
    Ok(())
}

fn put_consumer(
    group: &mut GroupMut<'_, WriteNodes<'_, '_>>,
    whole: &WholeConsumer<'_>,
) -> Result<(), NoRoom> {
    let added = group.add_consumer(whole.name, whole.seen)?;
    let active = whole.active.unwrap_or(NEVER);
    group.put_consumer(whole.name, ConsumerFacts { active, ..added })?;
    for (id, delivered, deliveries) in &whole.pending {
        let (delivered, deliveries) = (*delivered, *deliveries);
        group.put_pending(*id, PendingFacts { number: added.number, delivered, deliveries })?;
    }
    Ok(())
}
