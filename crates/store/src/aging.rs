//! The sweep over access histories: what nobody touched becomes colder.

use crate::eviction::age;
use crate::lane::Lane;
use crate::store::Store;
use base::ShardId;
use index::Position;

impl Store {
    /// Ages the keys of one shard in all databases, `seconds` after the last time. For a thread
    /// outside the gate; a worker that shares its core has its turn between blocks.
    pub fn age_shard(&self, lane: &mut Lane, shard: ShardId, seconds: f64) {
        let history = self.budget.history();
        let decay = f64::from(self.budget.lfu_decay_minutes());
        for database in self.used_databases() {
            let Some(keyspace) = self.keyspace(database) else { continue };
            let index = self.indexes.get(keyspace, shard);
            let mut at = Some(Position::of_shard(shard)).filter(|_| !index.is_empty());
            while let Some(from) = at {
                self.enter(lane);
                if self.keyspace(database) != Some(keyspace) {
                    // Another keyspace took its place, and this one is being reaped.
                    self.leave(lane);
                    break;
                }
                let held = self.hold_one(shard);
                let random = &mut lane.random;
                at = index.sweep_access(&self.blocks, from, |access| {
                    let chance = random.next() as f64 / u64::MAX as f64;
                    age(history, access, seconds, decay, chance)
                });
                drop(held);
                self.leave(lane);
                lane.pacer.yield_if_due();
            }
        }
    }
}
