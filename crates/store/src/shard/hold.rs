//! Locks that are held: for one command, for work in the background, or for several commands in a
//! row.

use super::collections::CollectionId;
use super::locks::{Held, Lent, ShardSet};
use super::shards::Shards;
use crate::lane::Lane;
use base::{PositionHash, ShardId};

impl Shards {
    /// The lock of one shard, for a thread that lends none.
    #[inline]
    pub(super) fn hold_one(&self, shard: ShardId) -> Held<'_> {
        Held::One(shard, self.locks.one(shard))
    }

    /// The lock of one shard, for a command.
    #[inline(always)]
    pub(super) fn hold_one_of(&self, lent: &Lent, shard: ShardId) -> Held<'_> {
        if lent.is_any() {
            let mut one = ShardSet::new();
            one.add(PositionHash(u64::from(shard.0) << (u64::BITS - 8)));
            return lent.borrow(&self.locks, one);
        }
        self.hold_one(shard)
    }

    /// The locks of several shards, for a command.
    pub(super) fn hold_many_of(&self, lent: &Lent, set: ShardSet) -> Held<'_> {
        if lent.is_any() { lent.borrow(&self.locks, set) } else { self.locks.many(set) }
    }

    /// Locks the shard of the key that owns a collection; `None` if the collection is closed.
    pub(super) fn hold_owner(&self, id: CollectionId) -> Option<Held<'_>> {
        loop {
            let shard = self.collections.owner(id).shard();
            let held = self.hold_one(shard);
            // An owner gives a collection up, or away, under the lock of its shard.
            if !self.collections.has_owner(id) {
                return None;
            }
            if self.collections.owner(id).shard() == shard {
                return Some(held);
            }
        }
    }
}

/// Locks that a thread holds for several commands in a row. Those commands work with the lane that
/// it lends, and borrow the locks; what they change is one unit.
#[derive(Debug)]
pub struct Hold<'a> {
    shards: &'a Shards,
    lane: &'a mut Lane,
    #[expect(dead_code, reason = "held, not read")]
    held: Held<'a>,
}

impl Shards {
    /// Takes the locks of some shards for several commands; the lane lends none so far.
    pub fn hold<'a>(&'a self, lane: &'a mut Lane, set: ShardSet) -> Hold<'a> {
        assert!(!lane.lent.is_any(), "a hold is not taken within a hold");
        let held = self.locks.many(set);
        lane.lent = Lent(Some(set));
        Hold { shards: self, lane, held }
    }

    /// The same for somebody who must not wait: `None` if one of the locks is not free at present.
    pub fn try_hold<'a>(&'a self, lane: &'a mut Lane, set: ShardSet) -> Option<Hold<'a>> {
        assert!(!lane.lent.is_any(), "a hold is not taken within a hold");
        let held = Held::Many(set, self.locks.try_all(&set).ok()?);
        lane.lent = Lent(Some(set));
        Some(Hold { shards: self, lane, held })
    }
}

impl Hold<'_> {
    /// The lane with which the commands of the unit work.
    pub fn lane(&mut self) -> &mut Lane {
        self.lane
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        self.lane.lent = Lent::default();
        self.shards.tell_unit(&std::mem::take(&mut self.lane.pending.unit));
    }
}
