//! What happens to a key as a whole: deadline, removal, another name, a copy.

use crate::access::write::{draft, fits};
use crate::access::{Access, Found, NoSpace};
use crate::collections::CollectionId;
use crate::key::{Key, Label};
use crate::weight::weight_of;
use base::{Millis, Tick};
use heap::Record;
use index::Index;

impl Access<'_> {
    /// Sets or takes away the deadline of a key; false if there is no such key.
    ///
    /// # Errors
    /// When the record must be written anew and there is no room for it.
    pub fn set_deadline(
        &mut self,
        key: &Key<'_>,
        deadline: Option<Millis>,
    ) -> Result<bool, NoSpace> {
        let Some(found) = self.live(key) else { return Ok(false) };
        if deadline.is_none() && !found.entry.has_deadline() {
            return Ok(true);
        }
        // SAFETY: the shard is locked, and the record stays until it is buried after the copy.
        let (value, label) = unsafe { (found.record.value(), Label(found.record.label())) };
        if fits(&found.record, value.len(), deadline, label) {
            self.overwrite(key, found, value.len(), label, deadline);
            return Ok(true);
        }
        let draft = draft(key, label, value.len(), value.len(), deadline);
        self.append(key, Some(found), &draft, |to| to.copy_from_slice(value))?;
        Ok(true)
    }

    /// Removes a key; false if there is none.
    pub fn remove(&mut self, key: &Key<'_>) -> bool {
        let Some(found) = self.live(key) else { return false };
        self.discard(key, found);
        true
    }

    /// Removes a key that was found.
    pub(crate) fn remove_found(&mut self, key: &Key<'_>, found: Found<'_>) {
        self.check(&found);
        self.discard(key, found);
    }

    /// Removes a key whose new deadline has passed already; false if there is none.
    pub fn expire(&mut self, key: &Key<'_>) -> bool {
        let is_removed = self.remove(key);
        self.lane.counters.expired.add(is_removed.into());
        is_removed
    }

    /// Moves the value of one key, with its deadline and history, to another key, which may be in
    /// another keyspace; what the other held is removed. Of a tree the roots alone are moved.
    ///
    /// # Errors
    /// When there is no room for the renamed record; nothing has changed then.
    pub fn rename(&mut self, from: &Key<'_>, to: &Key<'_>) -> Result<bool, NoSpace> {
        if from.keyspace == to.keyspace && from.bytes == to.bytes {
            return Ok(self.live(from).is_some());
        }
        let Some(source) = self.live(from) else { return Ok(false) };
        let tree = self.collection_of(&source);
        self.copy_record(from, source, to, None)?;
        if let Some(id) = tree {
            self.hand_over(id, from, to);
        }
        if let Some(source) = self.find(from) {
            self.take_out(from, source);
        }
        Ok(true)
    }

    /// Bytes of nodes that a copy of the key's value appends: room to be made before it, for there
    /// may be many.
    pub fn bytes_to_copy(&self, key: &Key<'_>) -> usize {
        let tree = self.find(key).and_then(|found| self.collection_of(&found));
        // SAFETY: the shard is locked.
        let table = tree.and_then(|id| unsafe { self.store.collections.table(id) });
        table.map_or(0, |table| table.live_bytes as usize)
    }

    /// Copies the value of one key, with its deadline, to another key, which may be in another
    /// keyspace; what the other held is replaced.
    ///
    /// # Errors
    /// When there is no room for the copy; nothing has changed then.
    pub fn copy(&mut self, from: &Key<'_>, to: &Key<'_>) -> Result<bool, NoSpace> {
        let Some(source) = self.live(from) else { return Ok(false) };
        let copied = match self.collection_of(&source) {
            Some(id) => Some(self.copy_nodes(id, to)?),
            None => None,
        };
        let written = self.copy_record(from, source, to, copied);
        if let (Err(_), Some(id)) = (&written, copied) {
            self.retire(to, id);
        }
        written?;
        Ok(true)
    }

    /// Gives a key the record of another one, in which `collection` is named if there is one.
    fn copy_record(
        &mut self,
        from: &Key<'_>,
        source: Found<'_>,
        to: &Key<'_>,
        collection: Option<CollectionId>,
    ) -> Result<(), NoSpace> {
        debug_assert!(from.keyspace != to.keyspace || from.bytes != to.bytes);
        // SAFETY: the shard is locked; appending elsewhere leaves the source alone, and `to` is
        // another key, so the source is not buried by the append.
        let (value, label) = unsafe { (source.record.value(), Label(source.record.label())) };
        let target = self.find(to);
        let replaced = target.and_then(|target| self.collection_of(&target));
        let draft = draft(to, label, value.len(), value.len(), self.deadline(source));
        self.append(to, target, &draft, |bytes| {
            bytes.copy_from_slice(value);
            if let Some(id) = collection {
                id.write(bytes);
            }
        })?;
        if let Some(id) = replaced {
            self.retire(to, id);
        }
        if label.has_timed_parts()
            && let Some(copy) = self.find(to)
        {
            // The next sweep will learn when the first of them ends.
            self.note_part_deadline(to, &copy, self.now);
        }
        Ok(())
    }

    /// Makes the sweep look at a value of which a part ends then.
    pub(crate) fn note_part_deadline(&self, key: &Key<'_>, found: &Found<'_>, deadline: Millis) {
        // Ticks of what is long past would compare as later.
        let tick = Tick::of_deadline(deadline.max(self.now), self.now);
        self.index(key).note_tick(&self.store.blocks, found.slot, tick);
    }

    /// Removes an entry, buries its record, and leaves the nodes of a tree to the reaper.
    pub(super) fn discard(&mut self, key: &Key<'_>, found: Found<'_>) {
        self.retire_tree(key, found);
        self.take_out(key, found);
    }

    /// Removes an entry and buries its record.
    fn take_out(&mut self, key: &Key<'_>, found: Found<'_>) {
        let (store, index) = (self.store, self.index(key));
        index.remove(&store.blocks, found.slot);
        self.bury(index, found);
        if index.wants_shrink(&store.blocks, key.hash) {
            index.shrink(&store.blocks, key.hash, &store.records());
        }
        self.version += 1;
    }

    pub(super) fn bury(&mut self, index: &Index, found: Found<'_>) {
        // SAFETY: the shard is locked; nothing reads the record afterwards.
        let weight = unsafe { weight_of(&found.record) };
        self.store.heap.bury(found.entry.location(), weight);
        self.lane.counters.lose(weight);
        index.add_bytes(-i64::from(weight.live));
    }

    /// Leaves the nodes of what was found to the reaper, if it is a tree.
    #[inline]
    pub(super) fn retire_tree(&mut self, key: &Key<'_>, found: Found<'_>) {
        if found.entry.kind() != 0
            && let Some(id) = self.collection_of(&found)
        {
            self.retire(key, id);
        }
    }

    /// The collection of a value that is a tree.
    ///
    /// # Panics
    /// If it is none.
    pub(crate) fn tree_of(&self, found: &Found<'_>) -> CollectionId {
        self.check(found);
        self.collection_of(found).expect("the value is a tree")
    }

    /// The collection of a value, if that is a tree.
    pub(super) fn collection_of(&self, found: &Found<'_>) -> Option<CollectionId> {
        // SAFETY: the shard is locked, and the record is the one that the index names.
        unsafe { tree_of(&found.record) }
    }
}

/// The collection that the value of a record names, if it is a tree.
///
/// # Safety
/// The caller holds the lock of the record's shard.
#[inline]
pub(crate) unsafe fn tree_of(record: &Record<'_>) -> Option<CollectionId> {
    // SAFETY: as the caller says.
    let (label, value) = unsafe { (Label(record.label()), record.value()) };
    if label.is_tree() { CollectionId::read(value) } else { None }
}

impl Access<'_> {
    /// Hands a collection of a key, which is about to lose it, over to the reaper.
    pub(crate) fn retire(&self, key: &Key<'_>, id: CollectionId) {
        let index = self.index(key);
        // SAFETY: the shard is locked.
        if let Some(table) = unsafe { self.store.collections.table(id) } {
            index.add_bytes(-(table.live_bytes as i64));
            self.store.budget.retire(table.live_bytes);
        }
        self.store.collections.retire(id);
    }

    /// Makes a collection that of another key; both shards are locked.
    fn hand_over(&self, id: CollectionId, from: &Key<'_>, to: &Key<'_>) {
        // SAFETY: the shard is locked.
        let bytes = unsafe { self.store.collections.table(id) }.map_or(0, |table| table.live_bytes);
        self.index(from).add_bytes(-(bytes as i64));
        self.index(to).add_bytes(bytes as i64);
        self.store.collections.move_to(id, to.hash, to.keyspace);
    }
}
