//! The sweep over deadlines: keys and fields whose time has passed go within a second, asked for or
//! not.

use crate::access::tree_of;
use crate::key::{Key, Label};
use crate::lane::Lane;
use crate::store::Store;
use crate::value::hash::{self, Removed};
use crate::weight::weight_of;
use base::{KeyspaceId, Location, Millis, ShardId, Tick};
use heap::Record;
use index::{DeadlineVisitor, Index, Position, prefetch};

/// Lines of a block that are visited under one hold of its lock.
const LINES_PER_HOLD: usize = 64;
/// Fields of a large hash that are removed under one hold of its lock.
const FIELDS_PER_HOLD: usize = 256;
/// Fields that are removed, and hashes that are looked at for it, before others have their turn.
const FIELDS_PER_TURN: u64 = 2048;

/// What a sweep did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Keys that were removed.
    pub expired: u64,
}

struct Visitor<'a> {
    store: &'a Store,
    lane: &'a mut Lane,
    index: &'a Index,
    now: Millis,
    expired: u64,
    /// Keys of values of which parts are past their deadline.
    in_part: Vec<Vec<u8>>,
}

impl DeadlineVisitor for Visitor<'_> {
    fn prefetch(&self, at: Location) {
        prefetch(self.store.heap.address(at));
    }

    fn visit(&mut self, at: Location) -> Option<Tick> {
        // SAFETY: the sweep holds the shard's lock, and the location stands in its index.
        let record = unsafe { self.store.heap.record(at) };
        // SAFETY: as above.
        let (deadline, weight) = unsafe { (record.deadline(), weight_of(&record)) };
        let deadline = deadline.unwrap_or(Millis::MAX);
        if deadline > self.now {
            let part = self.earliest_part(&record).unwrap_or(Millis::MAX);
            if part <= self.now {
                self.in_part.push(record.key().to_vec());
            }
            return Some(Tick::of_deadline(deadline.min(part).max(self.now), self.now));
        }
        // SAFETY: as above.
        if let Some(id) = unsafe { tree_of(&record) } {
            self.store.retire_collection(self.index, record.keyspace(), id);
        }
        self.store.heap.bury(at, weight);
        self.index.add_bytes(-i64::from(weight.live));
        self.lane.counters.lose(weight);
        self.lane.counters.expired.add(1);
        self.lane.counters.expired_by_sweep.add(1);
        self.expired += 1;
        None
    }
}

impl Visitor<'_> {
    /// The earliest deadline of the parts of a value.
    fn earliest_part(&self, record: &Record<'_>) -> Option<Millis> {
        // SAFETY: the sweep holds the shard's lock, and the index names the record.
        let (label, value) = unsafe { (Label(record.label()), record.value()) };
        // SAFETY: as above.
        hash::earliest(label, value, |id| unsafe { self.store.read_nodes(id) })
    }
}

impl Store {
    /// One pass over all databases. To be called several times a second by a thread outside the
    /// gate; it goes in and out once per shard, so that nobody waits long for it.
    pub fn sweep_deadlines(&self, lane: &mut Lane, now: Millis) -> Swept {
        let mut swept = Swept::default();
        if self.keeps_expired() {
            return swept;
        }
        for database in self.used_databases() {
            for shard in ShardId::all().filter(|shard| self.may_expire(database, *shard)) {
                swept.expired += self.sweep_shard(lane, database, shard, now);
            }
        }
        swept
    }

    /// A look from outside the gate: a shard whose keys got deadlines just now has time.
    fn may_expire(&self, database: usize, shard: ShardId) -> bool {
        let keyspace = self.keyspace(database);
        keyspace.is_some_and(|keyspace| self.indexes.get(keyspace, shard).is_timed())
    }

    fn sweep_shard(&self, lane: &mut Lane, database: usize, shard: ShardId, now: Millis) -> u64 {
        let Some(keyspace) = self.keyspace(database) else { return 0 };
        let index = self.indexes.get(keyspace, shard);
        let mut expired = 0;
        let mut at = Some(Position::of_shard(shard)).filter(|_| index.is_timed());
        while let Some(from) = at {
            self.enter(lane);
            if self.keyspace(database) != Some(keyspace) {
                // Another keyspace took its place, and this one is being reaped.
                self.leave(lane);
                break;
            }
            let held = self.hold_one(shard);
            let in_part = Vec::new();
            let mut visitor = Visitor { store: self, lane, index, now, expired: 0, in_part };
            let lines = LINES_PER_HOLD;
            at = index.sweep_deadlines(&self.blocks, from, now.tick(), lines, &mut visitor);
            let (found, in_part) = (visitor.expired, visitor.in_part);
            expired += found;
            if found > 0 && index.wants_shrink(&self.blocks, from.hash()) {
                index.shrink(&self.blocks, from.hash(), &self.records());
            }
            drop(held);
            self.leave(lane);
            lane.pacer.yield_if_due();
            if !in_part.is_empty() {
                self.expire_parts(lane, (database, keyspace), &in_part, now);
            }
        }
        expired
    }

    /// Removes the parts of values that are past their deadline, in slices.
    fn expire_parts(
        &self,
        lane: &mut Lane,
        (database, keyspace): (usize, KeyspaceId),
        keys: &[Vec<u8>],
        now: Millis,
    ) {
        let mut keys = keys.iter().map(|key| self.key(keyspace, key));
        let mut next = keys.next();
        while next.is_some() {
            self.enter(lane);
            let mut done = 0;
            while let Some(key) = next.filter(|_| done < FIELDS_PER_TURN) {
                let removed = self.expire_parts_of(lane, database, &key, now);
                done += removed.fields.max(1);
                if !removed.is_more {
                    next = keys.next();
                }
            }
            self.leave(lane);
            lane.pacer.yield_if_due();
        }
    }

    /// Removes some parts of one value, under one hold of its lock.
    fn expire_parts_of(
        &self,
        lane: &mut Lane,
        database: usize,
        key: &Key<'_>,
        now: Millis,
    ) -> Removed {
        if self.keyspace(database) != Some(key.keyspace) {
            return Removed::default();
        }
        let mut access = self.lock(lane, key, now);
        hash::remove_due(&mut access, key, FIELDS_PER_HOLD)
    }
}
