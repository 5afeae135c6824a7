//! The sweep over access histories: keys that are not used become colder.

use crate::eviction::age;
use crate::shard::ThreadContext;
use crate::store::Store;
use base::{Millis, Random, ShardId};
use index::Position;

impl Store {
    /// Ages the keys of one shard in all databases, `seconds` after the last time. The calling
    /// thread is outside the gate; workers on the same core get their turn between blocks.
    pub fn age_shard(&self, thread: &mut ThreadContext, shard: ShardId, seconds: f64) {
        let history = self.shards.budget.history();
        let decay = f64::from(self.shards.budget.lfu_decay_minutes());
        let mut random = Random::from_seed(thread.random.next());
        for database in self.used_databases() {
            let Some(keyspace) = self.keyspace(database) else { continue };
            let is_empty = self.shards.counts(keyspace, shard).is_empty();
            let mut at = Some(Position::of_shard(shard)).filter(|_| !is_empty);
            while let Some(from) = at {
                self.enter(thread);
                if self.keyspace(database) != Some(keyspace) {
                    // Another keyspace took its place, and this one is being freed.
                    self.leave(thread);
                    break;
                }
                let mut guard = self.shards.lock_quietly(thread, shard, Millis(0));
                at = guard.sweep_access(keyspace, from, |access| {
                    let chance = random.next() as f64 / u64::MAX as f64;
                    age(history, access, seconds, decay, chance)
                });
                drop(guard);
                self.leave(thread);
                thread.pacer.yield_if_due();
            }
        }
    }
}
