//! The sweep over deadlines: keys and fields past their deadline are removed without being asked
//! for, within milliseconds while there are few, and within half a second otherwise.

use crate::key::Key;
use crate::shard::{ThreadContext, ValueRef, Verdict};
use crate::store::Store;
use crate::value::hash::{self, Removed};
use base::{KeyspaceId, Millis, ShardId, Tick};
use index::Position;

/// Buckets of a block that are visited under one hold of the lock.
const BUCKETS_PER_HOLD: usize = 64;
/// Fields of a large hash that are removed under one hold of the lock.
const FIELDS_PER_HOLD: usize = 256;
/// Fields that are removed, and hashes that are looked at for it, before other threads get their
/// turn.
const FIELDS_PER_TURN: u64 = 2048;

/// Result of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Number of keys that were removed.
    pub expired: u64,
}

/// How a sweep looks at deadlines.
#[derive(Clone, Copy, Debug)]
pub struct Looking {
    now: Millis,
    /// Keys are looked at whose deadlines may have passed by then.
    until: Millis,
    /// Shards are passed over in which no deadline is known to have passed.
    only_due: bool,
    /// Buckets are looked at whatever their ticks say.
    trusts_no_tick: bool,
}

impl Looking {
    /// Looks at all keys whose deadlines may pass until a moment, so that those are known then. A
    /// key is looked at more than once.
    pub fn ahead(now: Millis, until: Millis) -> Looking {
        Looking { now, until: until.max(now), only_due: false, trusts_no_tick: false }
    }

    /// Does the same where a deadline has passed that is known.
    pub fn where_due(now: Millis, until: Millis) -> Looking {
        Looking { only_due: true, ..Looking::ahead(now, until) }
    }

    /// Looks at keys once, when their deadlines have certainly passed, up to a tick late.
    pub fn once(now: Millis) -> Looking {
        Looking {
            until: Millis(now.0.saturating_sub(Tick::MILLIS - 1)),
            ..Looking::ahead(now, now)
        }
    }
}

/// Judges a key for the sweep. The earliest deadline in the value's parts is looked for only if the
/// key's own has not passed.
fn judge(value: ValueRef<'_>, now: Millis, in_part: &mut Vec<Vec<u8>>) -> Verdict {
    let deadline = value.deadline().unwrap_or(Millis::MAX);
    if deadline <= now {
        return Verdict::Expired;
    }
    let part = hash::earliest(value).unwrap_or(Millis::MAX);
    if part <= now {
        in_part.push(value.key().to_vec());
    }
    Verdict::Until(deadline.min(part))
}

impl Store {
    /// Sweeps all databases once. To be called several times a second by a thread outside the gate;
    /// it goes in and out many times per shard, so that no thread waits long for it.
    pub fn sweep_deadlines(&self, thread: &mut ThreadContext, now: Millis) -> Swept {
        self.sweep_deadlines_pausing(thread, Looking::ahead(now, now), || {})
    }

    /// The same; calls `pause` each time it has come out, without locks.
    pub fn sweep_deadlines_pausing(
        &self,
        thread: &mut ThreadContext,
        mut looking: Looking,
        pause: impl Fn(),
    ) -> Swept {
        let (mut swept, deadlines) = (Swept::default(), self.deadlines());
        if self.keeps_expired() {
            return swept;
        }
        let databases: Vec<usize> = self.used_databases().collect();
        deadlines.begin_sweep();
        looking.trusts_no_tick = !looking.only_due && deadlines.may_have_wrapped(looking.now);
        let is_passed_over = |shard| looking.only_due && !deadlines.is_due(shard, looking.now);
        for shard in ShardId::all().filter(|shard| !is_passed_over(*shard)) {
            deadlines.begin_shard(shard);
            for database in databases.iter().filter(|it| self.may_expire(**it, shard)) {
                swept.expired += self.sweep_shard(thread, (*database, shard), looking, &pause);
            }
        }
        deadlines.end_sweep();
        if !looking.only_due {
            deadlines.note_whole_sweep(looking.now);
        }
        swept
    }

    /// Returns true if a shard has keys with deadlines. Read from outside the gate: keys that get a
    /// deadline just now are left to the next sweep.
    fn may_expire(&self, database: usize, shard: ShardId) -> bool {
        let keyspace = self.keyspace(database);
        keyspace.is_some_and(|keyspace| self.shards.counts(keyspace, shard).is_timed())
    }

    fn sweep_shard(
        &self,
        thread: &mut ThreadContext,
        (database, shard): (usize, ShardId),
        looking: Looking,
        pause: &impl Fn(),
    ) -> u64 {
        let Looking { now, until, trusts_no_tick, .. } = looking;
        let Some(keyspace) = self.keyspace(database) else { return 0 };
        let index = self.shards.counts(keyspace, shard);
        let mut expired = 0;
        let mut at = Some(Position::of_shard(shard)).filter(|_| index.is_timed());
        while let Some(from) = at {
            self.enter(thread);
            if self.keyspace(database) != Some(keyspace) {
                // Another keyspace took its place, and this one is being freed.
                self.leave(thread);
                break;
            }
            let (mut in_part, before) = (Vec::new(), thread.counters.expired_by_sweep.get());
            let mut guard = self.shards.lock_quietly(thread, shard, now);
            let place = (from, (!trusts_no_tick).then(|| until.tick()));
            at = guard.sweep_deadlines(keyspace, place, BUCKETS_PER_HOLD, |value| {
                judge(value, now, &mut in_part)
            });
            drop(guard);
            expired += thread.counters.expired_by_sweep.get() - before;
            self.leave(thread);
            pause();
            thread.pacer.yield_if_due();
            if !in_part.is_empty() {
                self.expire_parts(thread, (database, keyspace), &in_part, now, pause);
            }
        }
        expired
    }

    /// Removes the parts of values that are past their deadline, in slices.
    fn expire_parts(
        &self,
        thread: &mut ThreadContext,
        (database, keyspace): (usize, KeyspaceId),
        keys: &[Vec<u8>],
        now: Millis,
        pause: &impl Fn(),
    ) {
        let mut keys = keys.iter().map(|key| self.key(keyspace, key));
        let mut next = keys.next();
        while next.is_some() {
            self.enter(thread);
            let mut done = 0;
            while let Some(key) = next.filter(|_| done < FIELDS_PER_TURN) {
                let removed = self.expire_parts_of(thread, database, &key, now);
                done += removed.fields.max(1);
                if !removed.is_more {
                    next = keys.next();
                }
            }
            self.leave(thread);
            pause();
            thread.pacer.yield_if_due();
        }
    }

    /// Removes some parts of one value, under one hold of its lock.
    fn expire_parts_of(
        &self,
        thread: &mut ThreadContext,
        database: usize,
        key: &Key<'_>,
        now: Millis,
    ) -> Removed {
        if self.keyspace(database) != Some(key.keyspace) {
            return Removed::default();
        }
        let mut access = self.lock(thread, key, now);
        hash::remove_due(&mut access, key, FIELDS_PER_HOLD)
    }
}

#[cfg(test)]
mod tests {
    use super::Looking;
    use crate::{Encoding, Expiry, Store, StoreConfig, ThreadContext};
    use base::{KeyHasher, Millis};

    const NOW: Millis = Millis(1_700_000_000_000);

    fn store() -> Store {
        let hasher = KeyHasher::from_seed(3);
        let config = StoreConfig { databases: 1, hasher, address_space: Some(256 << 20) };
        Store::new(config).expect("address space")
    }

    fn set(store: &Store, thread: &mut ThreadContext, name: &str, deadline: u64) {
        set_at(NOW, store, thread, name, deadline);
    }

    fn set_at(now: Millis, store: &Store, thread: &mut ThreadContext, name: &str, deadline: u64) {
        store.enter(thread);
        let key = store.key(store.keyspace(0).expect("one"), name.as_bytes());
        store.reserve(thread, 1_000, now).expect("room");
        let mut access = store.lock(thread, &key, now).muted();
        let deadline = Expiry::At(Millis(deadline));
        access.set_string(&key, b"value", Encoding::Raw, deadline).expect("room");
        access.report_changes_silently(1);
        drop(access);
        store.leave(thread);
    }

    #[test]
    fn a_sweep_that_sleeps_until_the_next_deadline_removes_each_key_at_its_moment() {
        let store = store();
        let mut thread = store.thread_context().expect("a thread");
        let until = Millis(NOW.0 + 1_000);
        let deadlines = [900, 300, 301, 640, 1, 256, 255, 9_000].map(|after| NOW.0 + after);
        for deadline in deadlines {
            set(&store, &mut thread, &deadline.to_string(), deadline);
        }
        store.sweep_deadlines_pausing(&mut thread, Looking::ahead(NOW, until), || {});
        let mut removed = Vec::new();
        while store.deadlines().next_look() <= until {
            let now = store.deadlines().next_look();
            let looking = Looking::where_due(now, until);
            let swept = store.sweep_deadlines_pausing(&mut thread, looking, || {});
            assert_eq!(swept.expired, 1, "at {now:?}");
            removed.push(now.0 - NOW.0);
        }
        assert_eq!(removed, [1, 255, 256, 300, 301, 640, 900]);
        assert_eq!(store.keys(), 1);
    }

    #[test]
    fn a_sweep_that_looks_at_keys_once_removes_them_within_a_tick() {
        let store = store();
        let mut thread = store.thread_context().expect("a thread");
        set(&store, &mut thread, "key", NOW.0 + 100);
        let mut swept = |after| {
            let looking = Looking::once(Millis(NOW.0 + after));
            store.sweep_deadlines_pausing(&mut thread, looking, || {}).expired
        };
        assert_eq!((swept(99), swept(100 + 256)), (0, 1));
    }

    #[test]
    fn keys_that_have_waited_long_for_a_sweep_go_though_others_beside_them_stay() {
        const HOUR: u64 = 3_600_000;
        const KEYS: u64 = if cfg!(miri) { 200 } else { 4_000 };
        for waited in [1_000, 3_000, HOUR / 2, HOUR, 2 * HOUR, 3 * HOUR, 5 * HOUR, 100 * HOUR] {
            let store = store();
            let mut thread = store.thread_context().expect("a thread");
            store.deadlines().note_whole_sweep(NOW);
            store.keep_expired(true);
            (0..KEYS).for_each(|it| set(&store, &mut thread, &format!("early {it}"), NOW.0 + 1));
            let late = Millis(NOW.0 + waited);
            for it in 0..KEYS {
                let deadline = late.0 + 1_000 * HOUR;
                set_at(late, &store, &mut thread, &format!("late {it}"), deadline);
            }
            store.keep_expired(false);
            let swept = store.sweep_deadlines(&mut thread, Millis(late.0 + 1_000));
            assert_eq!((swept.expired, store.keys()), (KEYS, KEYS), "{waited} ms");
        }
    }

    #[test]
    fn keys_that_were_stored_after_their_time_are_removed_by_the_next_sweep() {
        const HOUR: u64 = 3_600_000;
        let store = store();
        let mut thread = store.thread_context().expect("a thread");
        // As while data is loaded.
        store.keep_expired(true);
        let ages = [1, HOUR, 3 * HOUR, 5 * HOUR, 1_000 * HOUR, NOW.0];
        for age in ages {
            set(&store, &mut thread, &age.to_string(), NOW.0 - age);
        }
        let soon = Millis(NOW.0 + 1_000);
        assert_eq!(store.sweep_deadlines(&mut thread, soon).expired, 0);
        store.keep_expired(false);
        assert_eq!(store.sweep_deadlines(&mut thread, soon).expired, ages.len() as u64);
    }
}
