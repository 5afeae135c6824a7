//! Whole streams, written entry by entry and group by group.

use super::Id;
use super::change::create;
use super::edit::{self, NewEntry};
use super::facts::{ENTRIES, Facts, GROUPS};
use super::group::{WholeGroup, put_group};
use crate::access::Access;
use crate::fault::NoSpace;
use crate::key::{Key, Kind};
use crate::shard::{KeyMut, Reason};
use crate::value::collection::root;

/// A stream that takes the place of another value. Once it is finished its key holds what was
/// written so far, and it may be resumed.
#[derive(Debug)]
pub struct Whole<'g, 'a> {
    key: KeyMut<'g, 'a>,
    facts: Facts,
}

impl<'g, 'a> Whole<'g, 'a> {
    /// Replaces the value of a key by a stream without entries and groups.
    ///
    /// # Errors
    /// When there is no room; the key holds nothing then.
    pub fn begin(access: &'g mut Access<'a>, key: &Key<'g>) -> Result<Whole<'g, 'a>, NoSpace> {
        access.remove(key);
        let mut key = access.open_to_replace(key);
        create(&mut key)?;
        let facts = Facts::read(key.bytes());
        Ok(Whole { key, facts })
    }

    /// Goes on with a stream that was finished; `None` if the key holds none.
    pub fn resume(access: &'g mut Access<'a>, key: &Key<'g>) -> Option<Whole<'g, 'a>> {
        let key = access.open_without_touch(key, Kind::Stream).ok()?.existing()?;
        let facts = Facts::read(key.bytes());
        Some(Whole { key, facts })
    }

    /// Adds an entry of names and values in turn, with an id above that of the last one.
    /// `starts_node` says that a node as clients count them begins with it.
    ///
    /// # Errors
    /// When there is no room.
    pub fn append<'t>(
        &mut self,
        id: Id,
        starts_node: bool,
        texts: impl Iterator<Item = &'t [u8]> + Clone,
    ) -> Result<(), NoSpace> {
        let Whole { key, facts } = self;
        let new = NewEntry::new(texts);
        let starts = starts_node || facts.nodes == 0;
        let appended = key.change_tree(ENTRIES, |tree| {
            edit::append(tree, &mut facts.tail, id, starts, &new)?;
            facts.note_added(id, starts, new.in_listpack());
            Ok(())
        });
        appended.map_err(|_| NoSpace)
    }

    /// Sets the last id, the highest deleted id, and the number of entries ever added.
    pub fn set_facts(&mut self, last_id: Id, max_deleted: Id, added: u64) {
        (self.facts.last_id, self.facts.max_deleted) = (last_id, max_deleted);
        self.facts.added = added;
    }

    /// Adds a group, whose name is new, with its consumers and their pending entries.
    ///
    /// # Errors
    /// When there is no room.
    pub fn add_group(&mut self, group: &WholeGroup<'_>) -> Result<(), NoSpace> {
        let entries = root(self.key.bytes(), ENTRIES);
        let put = self.key.change_tree(GROUPS, |tree| put_group(tree, entries, group));
        put.map_err(|_| NoSpace)
    }

    /// Ends the stream, or this part of it.
    pub fn finish(mut self) {
        self.facts.write(self.key.bytes_mut());
    }

    /// Removes what was written.
    pub fn give_up(mut self) {
        self.key.remove(Reason::Deleted);
    }
}
