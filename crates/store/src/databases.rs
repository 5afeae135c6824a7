//! Databases: their keyspaces, their figures, and actions on them as a whole.

use crate::key::Key;
use crate::keyspaces::Renewed;
use crate::shard::{
    Databases, Effect, EffectWords, Interests, Listener, OwnedArgs, Presence, ThreadContext,
};
use crate::store::Store;
use base::units::SHARDS;
use base::{KeyspaceId, Millis, ShardId};
use std::ops::Range;
use std::time::Duration;

/// Entries that a bucket of an index has room for.
const ENTRIES_PER_BUCKET: u64 = 7;

/// Figures of a database, as INFO shows them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KeyspaceFacts {
    /// Number of keys.
    pub keys: u64,
    /// Number of keys with a deadline.
    pub with_deadline: u64,
    /// Number of keys of whose values parts have deadlines.
    pub with_timed_parts: u64,
    /// Live bytes of its records.
    pub bytes: u64,
}

/// Databases that are emptied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// All.
    All,
    /// The one with this number.
    One(usize),
}

/// Time of a guard that looks at no deadline.
pub(crate) const NO_TIME: Millis = Millis(0);

const FLUSHALL: &[u8] = b"FLUSHALL";
const FLUSHDB: &[u8] = b"FLUSHDB";

impl Store {
    /// Number of databases.
    pub fn databases(&self) -> usize {
        self.shards.keyspaces.databases()
    }

    /// The keyspace of a database; `None` if there is no such database. Stays the same between
    /// `enter` and `leave`.
    #[inline]
    pub fn keyspace(&self, database: usize) -> Option<KeyspaceId> {
        self.shards.keyspaces.of(database)
    }

    /// Figures of a database.
    pub fn keyspace_facts(&self, database: usize) -> KeyspaceFacts {
        let mut facts = KeyspaceFacts::default();
        let Some(keyspace) = self.keyspace(database) else { return facts };
        for index in self.shards.counts_of(keyspace) {
            facts.keys += index.len();
            facts.with_deadline += index.with_deadline();
            facts.with_timed_parts += index.with_timed_parts();
            facts.bytes += index.bytes();
        }
        facts
    }

    /// Databases that ever held a key.
    pub(crate) fn used_databases(&self) -> impl Iterator<Item = usize> {
        self.shards.keyspaces.used()
    }

    /// Number of keys in all databases.
    pub fn keys(&self) -> u64 {
        self.used_databases().map(|database| self.len(database)).sum()
    }

    /// Number of keys in a database, those past their deadline included.
    pub fn len(&self, database: usize) -> u64 {
        let keyspace = self.keyspace(database);
        keyspace.map_or(0, |it| self.shards.counts_of(it).map(|index| index.len()).sum())
    }

    /// Makes room in the index of an empty database for about so many keys, which are to come.
    pub fn reserve_index(&self, thread: &mut ThreadContext, keyspace: KeyspaceId, keys: u64) {
        for shard in ShardId::all() {
            let mut guard = self.shards.lock_quietly(thread, shard, NO_TIME);
            guard.reserve_index(keyspace, shard, keys / SHARDS as u64);
        }
    }

    /// Number of entry slots in the blocks that hold keys of a database.
    pub fn index_places(&self, database: usize) -> u64 {
        let Some(keyspace) = self.keyspace(database) else { return 0 };
        let buckets = |shard| self.shards.buckets(keyspace, shard);
        ShardId::all().map(buckets).sum::<u64>() * ENTRIES_PER_BUCKET
    }

    /// Runs commands while no other thread is inside the gate. What they do to databases as a whole
    /// needs no further closing of the gate. The thread is inside, and holds no lock of a shard.
    pub fn alone<T>(
        &self,
        thread: &mut ThreadContext,
        act: impl FnOnce(&mut ThreadContext) -> T,
    ) -> T {
        // Its flushes find ids then: what a snapshot keeps is let go, and the rest can be
        // freed.
        self.make_ids(thread, self.databases());
        self.closed(thread, |thread| {
            thread.is_alone = true;
            let done = act(thread);
            thread.is_alone = false;
            done
        })
    }

    /// Runs `act` while the gate is closed, by this call or by the thread before.
    pub(crate) fn closed<T>(
        &self,
        thread: &mut ThreadContext,
        act: impl FnOnce(&mut ThreadContext) -> T,
    ) -> T {
        if thread.is_alone {
            return act(thread);
        }
        debug_assert!(thread.may_go_out(), "nobody closes the gate with locks");
        debug_assert!(!thread.never_waits, "who must not wait does not close the gate");
        let gate = thread.gate.clone();
        self.gate.close(&gate, || act(thread))
    }

    /// Runs `act` while no other thread is inside the gate. The calling thread may be inside, and
    /// is so afterwards; it holds no lock of a shard. Other threads that act on everything may go
    /// first.
    pub fn exclusively<T>(&self, thread: &ThreadContext, act: impl FnOnce(&Store) -> T) -> T {
        self.exclusively_timed(thread, act).0
    }

    /// Does what `exclusively` does, once no other thread is in the middle of something that acts
    /// on everything: what others have begun has ended then.
    pub fn exclusively_last<T>(&self, thread: &ThreadContext, act: impl FnOnce(&Store) -> T) -> T {
        if thread.is_alone {
            return act(self);
        }
        debug_assert!(thread.may_go_out(), "nobody closes the gate with locks");
        debug_assert!(!thread.never_waits, "who must not wait does not close the gate");
        self.gate.close_last(&thread.gate, || act(self))
    }

    /// Makes one try to do what `exclusively` does, which takes half a millisecond at most; `None`
    /// if another thread stays inside the gate for longer.
    pub fn exclusively_at_once<T>(
        &self,
        thread: &ThreadContext,
        act: impl FnOnce(&Store) -> T,
    ) -> Option<T> {
        if thread.is_alone {
            return Some(act(self));
        }
        debug_assert!(thread.may_go_out(), "nobody closes the gate with locks");
        debug_assert!(!thread.never_waits, "who must not wait does not close the gate");
        self.gate.close_once(&thread.gate, || act(self))
    }

    /// Does what `exclusively` does, and tells for how long others were kept out.
    pub(crate) fn exclusively_timed<T>(
        &self,
        thread: &ThreadContext,
        act: impl FnOnce(&Store) -> T,
    ) -> (T, Duration) {
        if thread.is_alone {
            return (act(self), Duration::ZERO);
        }
        debug_assert!(thread.may_go_out(), "nobody closes the gate with locks");
        debug_assert!(!thread.never_waits, "who must not wait does not close the gate");
        self.gate.close_timed(&thread.gate, || act(self))
    }

    /// Exchanges the contents of two existing databases, which may be the same.
    pub fn swap_databases(
        &self,
        thread: &mut ThreadContext,
        one: usize,
        other: usize,
        now: Millis,
    ) {
        self.closed(thread, |thread| {
            if one != other {
                self.announce(thread, &Databases::Exchanged(one, other), now);
                self.shards.keyspaces.swap(one, other);
            }
            self.record_effect(thread, one, || {
                vec![b"SWAPDB".to_vec(), one.to_string().into(), other.to_string().into()]
            });
        });
        thread.counters.changes.add(1);
    }

    /// Does something that concerns no key, while no other thread is inside the gate; `words` are
    /// its effect, unless it fails. The thread is inside.
    ///
    /// # Errors
    /// Those of `act`.
    pub fn act_for_all<E>(
        &self,
        thread: &mut ThreadContext,
        words: &[&[u8]],
        act: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        self.closed(thread, |thread| {
            act()?;
            self.record_effect(thread, 0, || words.iter().map(|word| word.to_vec()).collect());
            Ok(())
        })
    }

    /// Tells listeners of a change of databases as a whole. To be called while the gate is closed.
    pub(crate) fn announce(&self, thread: &mut ThreadContext, change: &Databases, now: Millis) {
        self.announce_of(thread, change, now, |database| self.keyspace(database));
    }

    /// The same, where databases have these keyspaces.
    pub(crate) fn announce_of(
        &self,
        thread: &mut ThreadContext,
        change: &Databases,
        now: Millis,
        keyspace_of: impl Fn(usize) -> Option<KeyspaceId>,
    ) {
        if !self.wants_any(Interests::KEYS | Interests::MARKED_KEYS) {
            return;
        }
        let author = thread.author;
        let mut has = |database, bytes: &[u8], hash| {
            let Some(keyspace) = keyspace_of(database) else { return Presence::Absent };
            let key = Key { bytes, hash, keyspace };
            let guard = self.shards.lock_quietly(thread, key.hash.shard(), NO_TIME);
            match guard.value_of(&key).map(|value| value.deadline()) {
                None => Presence::Absent,
                Some(Some(deadline)) if deadline <= now => Presence::Expired,
                Some(_) => Presence::Present,
            }
        };
        let notify = |listener: &dyn Listener| listener.before_databases(change, author, &mut has);
        self.shards.listeners.notify(notify);
    }

    /// Records an action on databases as a whole as a unit, or a part of one, while the gate is
    /// closed.
    fn record_effect(
        &self,
        thread: &mut ThreadContext,
        database: usize,
        args: impl FnOnce() -> OwnedArgs,
    ) {
        if self.shards.listeners.wants_effects() {
            let words = EffectWords::Args(args());
            thread.pending.unit.effects.push(Effect { database, words });
            if !thread.lent.is_any() {
                self.shards.deliver_unit(&mut thread.pending, thread.author);
            }
        }
    }

    /// Empties databases: each gets a fresh keyspace at once, and lazy free takes the old one.
    /// Returns the number of keys that were in them.
    pub fn flush(&self, thread: &mut ThreadContext, what: Flush) -> u64 {
        let mut flushed = 0;
        loop {
            let wanted = self.flushed_by(what).filter(|database| self.len(*database) > 0).count();
            self.make_ids(thread, wanted);
            let is_complete =
                self.closed(thread, |thread| self.flush_all_of(thread, what, &mut flushed));
            // Another flush may have been faster to take the ids.
            if is_complete {
                thread.counters.changes.add(flushed);
                return flushed;
            }
        }
    }

    /// Makes so many ids of keyspaces free.
    pub(crate) fn make_ids(&self, thread: &mut ThreadContext, wanted: usize) {
        while self.shards.keyspaces.free_ids() < wanted {
            self.let_go_kept(thread);
            if !self.free_some(thread, usize::MAX) {
                // Another thread is at it.
                std::thread::yield_now();
            }
        }
    }

    /// Gives the snapshot up if it keeps keyspaces from lazy free.
    fn let_go_kept(&self, thread: &ThreadContext) {
        if self.shards.keyspaces.has_kept() {
            self.shards.cuts.give_up();
            self.free_kept(thread);
        }
    }

    /// Hands the keyspaces that a snapshot has kept, which has ended or was given up, to lazy free.
    pub(crate) fn free_kept(&self, thread: &ThreadContext) {
        self.exclusively(thread, Store::hand_kept_to_lazy_free);
    }

    /// To be called while the gate is closed.
    pub(crate) fn hand_kept_to_lazy_free(&self) {
        // Another snapshot may have begun.
        if self.shards.cuts.is_on() {
            return;
        }
        self.shards.forget_kept();
        for keyspace in self.shards.keyspaces.let_go() {
            let bytes = self.shards.counts_of(keyspace).map(|index| index.bytes()).sum();
            self.shards.budget.hand_to_lazy_free(bytes);
        }
    }

    fn flushed_by(&self, what: Flush) -> Range<usize> {
        match what {
            Flush::All => 0..self.databases(),
            Flush::One(database) => database..database + 1,
        }
    }

    /// Empties databases as long as there are free ids; returns true if all are empty. Listeners
    /// are notified of it even if they were empty before. To be called while the gate is closed.
    fn flush_all_of(&self, thread: &mut ThreadContext, what: Flush, flushed: &mut u64) -> bool {
        self.announce(thread, &Databases::Emptied(self.flushed_by(what)), NO_TIME);
        for database in self.flushed_by(what) {
            let Some(keys) = self.hand_to_lazy_free(database) else {
                let emptied = self.flushed_by(what).start..database;
                emptied.for_each(|database| {
                    self.record_effect(thread, database, || vec![FLUSHDB.to_vec()])
                });
                return false;
            };
            *flushed += keys;
        }
        match what {
            Flush::All => self.record_effect(thread, 0, || vec![FLUSHALL.to_vec()]),
            Flush::One(database) => self.record_effect(thread, database, || vec![FLUSHDB.to_vec()]),
        }
        true
    }

    /// Gives a database a fresh keyspace and returns how many keys it had; `None` if no id is free.
    /// To be called while the gate is closed.
    pub(crate) fn hand_to_lazy_free(&self, database: usize) -> Option<u64> {
        let facts = self.keyspace_facts(database);
        if facts.keys == 0 {
            return Some(0);
        }
        match self.shards.keyspaces.renew(database)? {
            Renewed::Dying => self.shards.budget.hand_to_lazy_free(facts.bytes),
            Renewed::Kept => self.shards.count_kept(facts.bytes),
        }
        Some(facts.keys)
    }
}
