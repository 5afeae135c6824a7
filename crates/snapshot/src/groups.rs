//! Groups of a stream that is read: pending entries come once with their facts, and once more by
//! consumer.

use crate::id::id_of;
use rdb::StreamPart;
use store::value::Texts;
use store::value::stream::Id;
use store::value::stream::group::{WholeConsumer, WholeGroup};

/// Groups with their consumers.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    /// Names of groups and consumers.
    names: Texts,
    groups: Vec<Group>,
}

#[derive(Debug)]
struct Group {
    name: usize,
    last_id: Id,
    entries_read: Option<u64>,
    /// Pending entries in the order of their ids, and whether a consumer owns each.
    pending: Vec<(Pending, bool)>,
    consumers: Vec<Consumer>,
}

/// Id, time of the last delivery, number of deliveries.
type Pending = (Id, u64, u64);

#[derive(Debug)]
struct Consumer {
    name: usize,
    seen: u64,
    active: Option<u64>,
    owned: Vec<Pending>,
}

impl Groups {
    fn name(&mut self, name: &[u8]) -> usize {
        self.names.push(name);
        self.names.len() - 1
    }

    /// Adds what was read; refuses what does not fit what came before.
    pub fn add(&mut self, part: StreamPart<'_>) -> Result<(), &'static str> {
        match part {
            StreamPart::Group { name, last_id, entries_read } => {
                let (name, last_id) = (self.name(name), id_of(last_id));
                let (pending, consumers) = (Vec::new(), Vec::new());
                self.groups.push(Group { name, last_id, entries_read, pending, consumers });
                Ok(())
            }
            StreamPart::Pending { id, delivered, deliveries } => {
                let group = self.groups.last_mut().ok_or("a pending entry without a group")?;
                group.add_pending((id_of(id), delivered, deliveries))
            }
            StreamPart::Consumer { name, seen, active } => {
                let name = self.name(name);
                let group = self.groups.last_mut().ok_or("a consumer without a group")?;
                group.consumers.push(Consumer { name, seen, active, owned: Vec::new() });
                Ok(())
            }
            StreamPart::Owned(id) => {
                let group = self.groups.last_mut().ok_or("a pending entry without a group")?;
                group.give(id_of(id))
            }
            StreamPart::Entry { .. } | StreamPart::Facts(_) => Ok(()),
        }
    }

    /// Checks that every pending entry has an owner, and that no name is there twice.
    pub fn check(&self) -> Result<(), &'static str> {
        if !are_distinct(self.groups.iter().map(|group| self.names.get(group.name))) {
            return Err("a group twice");
        }
        for group in &self.groups {
            if !group.pending.iter().all(|(_, is_owned)| *is_owned) {
                return Err("a pending entry without a consumer");
            }
            if !are_distinct(group.consumers.iter().map(|it| self.names.get(it.name))) {
                return Err("a consumer twice");
            }
        }
        Ok(())
    }

    /// The groups, as the store takes them.
    pub fn iter(&self) -> impl Iterator<Item = WholeGroup<'_>> {
        self.groups.iter().map(|group| WholeGroup {
            name: self.names.get(group.name),
            last_id: group.last_id,
            entries_read: group.entries_read,
            consumers: group.consumers.iter().map(|it| self.whole(it)).collect(),
        })
    }

    fn whole(&self, consumer: &Consumer) -> WholeConsumer<'_> {
        WholeConsumer {
            name: self.names.get(consumer.name),
            seen: consumer.seen,
            active: consumer.active,
            pending: consumer.owned.clone(),
        }
    }
}

impl Group {
    fn add_pending(&mut self, pending: Pending) -> Result<(), &'static str> {
        if self.pending.last().is_some_and(|(last, _)| last.0 >= pending.0) {
            return Err("pending entries whose ids do not rise");
        }
        self.pending.push((pending, false));
        Ok(())
    }

    /// Gives a pending entry to the last consumer.
    fn give(&mut self, id: Id) -> Result<(), &'static str> {
        let consumer = self.consumers.last_mut().ok_or("a pending entry without a consumer")?;
        let found = self.pending.binary_search_by_key(&id, |(pending, _)| pending.0);
        let (pending, is_owned) =
            found.ok().map(|at| &mut self.pending[at]).ok_or("an entry that is not pending")?;
        if std::mem::replace(is_owned, true) {
            return Err("a pending entry with two consumers");
        }
        consumer.owned.push(*pending);
        Ok(())
    }
}

fn are_distinct<'n>(names: impl Iterator<Item = &'n [u8]>) -> bool {
    let mut names: Vec<&[u8]> = names.collect();
    names.sort_unstable();
    names.windows(2).all(|pair| pair[0] != pair[1])
}
