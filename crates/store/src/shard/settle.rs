//! Handing over: what is done for a snapshot before a key changes.

use super::guard::Guard;
use crate::key::Key;
use base::{KeyspaceId, PositionHash};
use index::Entry;
use smallvec::SmallVec;
use std::cell::RefCell;

/// Entries of keys with the very same position hash.
type Same = SmallVec<[Entry; 2]>;

impl Guard<'_> {
    /// Settles a key before it changes, or is born.
    #[cold]
    #[inline(never)]
    pub(super) fn settle(&mut self, key: &Key<'_>) {
        let (shards, shard) = (self.shards, key.hash.shard());
        self.assert_held(shard);
        // SAFETY: the shard is locked.
        let unsaved = unsafe { shards.cuts.unsaved(shard) };
        let Some(number) = shards.cuts.number_of(unsaved, key.keyspace) else { return };
        if unsaved.is_settled(number, key.hash) {
            return;
        }
        unsaved.note(number, key.hash);
        shards.cuts.count_noted(unsaved);
        let before = (unsaved.handed.room_bytes(), unsaved.frozen.len());
        let entries = self.entries_with(key.keyspace, key.hash);
        for entry in &entries {
            // SAFETY: the location stands in the index of a locked shard.
            let tree = unsafe {
                let record = shards.heap.record(entry.location());
                unsaved.handed.push(number, *entry, &record)
            };
            if let Some(id) = tree {
                // The collection may have moved to another key already.
                self.assert_held(shards.collections.owner(id).shard());
                // SAFETY: the owner's shard is locked.
                unsafe { shards.collections.freeze(id) };
                unsaved.frozen.push(id);
            }
        }
        if !entries.is_empty() {
            let bytes = unsaved.handed.room_bytes() - before.0;
            shards.cuts.handed_over(shard, bytes, unsaved.frozen.len() - before.1);
        }
    }

    /// Entries of the keys with a position hash.
    fn entries_with(&self, keyspace: KeyspaceId, hash: PositionHash) -> Same {
        let (shards, found) = (self.shards, RefCell::new(Same::new()));
        let index = shards.indexes.get(keyspace, hash.shard());
        index.find_map(&shards.blocks, hash, |entry| {
            // SAFETY: the location stands in the index of a locked shard.
            let record = unsafe { shards.heap.record(entry.location()) };
            if shards.hasher.hash(record.key()) == hash {
                found.borrow_mut().push(entry);
            }
            None::<()>
        });
        found.into_inner()
    }
}
