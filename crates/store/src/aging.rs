//! The sweep over access histories: what nobody touched becomes colder.

use crate::eviction::age;
use crate::lane::Lane;
use crate::store::Store;
use base::ShardId;
use index::Position;

impl Store {
    /// Ages the keys of one shard in all databases, `seconds` after the last time. The thread is
    /// outside the gate.
    pub fn age_shard(&self, lane: &mut Lane, shard: ShardId, seconds: f64) {
        let history = self.budget.history();
        let decay = f64::from(self.budget.lfu_decay_minutes());
        self.enter(lane);
        for database in self.used_databases() {
            let Some(keyspace) = self.keyspace(database) else { continue };
            let index = self.indexes.get(keyspace, shard);
            let mut at = Some(Position::of_shard(shard)).filter(|_| !index.is_empty());
            while let Some(from) = at {
                let _held = self.hold_one(shard);
                let random = &mut lane.random;
                at = index.sweep_access(&self.blocks, from, |access| {
                    let chance = random.next() as f64 / u64::MAX as f64;
                    age(history, access, seconds, decay, chance)
                });
            }
        }
        self.leave(lane);
    }
}
