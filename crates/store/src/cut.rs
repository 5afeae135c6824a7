//! Snapshots: every key as it was at one moment, read while clients go on.
//!
//! ```text
//! Store::cut ──▶ Cut::take ──▶ Copies ──▶ Cut::read, of each ──▶ Cut::let_go, of large ones
//! ```
//! What keeps the keys as they were is in `shard/cut`. Here is the saver's part: which hold comes
//! next.

use crate::databases::KeyspaceFacts;
use crate::shard::{CollectionId, Copied, Copies, ThreadContext, ValueRef};
use crate::store::Store;
use base::{KeyspaceId, Millis, ShardId};
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

/// Bytes that may wait in the shards while the walk goes on.
const WAITING_FREE: u64 = 1 << 20;
/// Part of the live bytes that may wait before writers are stalled.
const WAITING_PART: u64 = 33;
/// Bytes that may always wait.
const WAITING_MIN: u64 = 16 << 20;

/// A database at the cut.
#[derive(Clone, Copy, Debug)]
pub struct CutDatabase {
    /// Number of the database.
    pub number: usize,
    /// Its figures at the cut.
    pub facts: KeyspaceFacts,
    keyspace: KeyspaceId,
}

/// A snapshot: the right to every key as it was at the cut. Dropped, it lets go of all that was
/// kept for it.
#[derive(Debug)]
pub struct Cut<'a> {
    store: &'a Store,
    thread: &'a mut ThreadContext,
    now: Millis,
    pause: Duration,
    databases: Vec<CutDatabase>,
    /// Number of the database and shard of the walk; `None` when it is through.
    walk: Option<(usize, ShardId)>,
    /// Shard from which on what was handed over is looked for.
    taken: ShardId,
    /// What was handed over, taken from a shard, and is written next.
    handed: VecDeque<Copies>,
    /// Memory for the copies of a step.
    spare: Copies,
    /// Collections that are frozen and were taken.
    frozen: BTreeSet<u32>,
}

impl Store {
    /// Takes a snapshot of all keys at one moment, in which `at_cut` is called while no other
    /// thread is inside the gate. The thread is outside. `None` while there is another snapshot.
    pub fn cut<'a>(
        &'a self,
        thread: &'a mut ThreadContext,
        now: Millis,
        at_cut: impl FnOnce(),
    ) -> Option<Cut<'a>> {
        if !self.shards.cuts.take() {
            return None;
        }
        let (databases, pause) = self.exclusively_timed(thread, |store| {
            let databases = store.cut_databases();
            store.shards.begin_cut(databases.iter().map(|database| database.keyspace).collect());
            at_cut();
            databases
        });
        let walk = (!databases.is_empty()).then_some((0, ShardId(0)));
        let (taken, handed, spare) = (ShardId(0), VecDeque::new(), Copies::default());
        let frozen = BTreeSet::new();
        let store = self;
        Some(Cut { store, thread, now, pause, databases, walk, taken, handed, spare, frozen })
    }

    fn cut_databases(&self) -> Vec<CutDatabase> {
        let databases = self.used_databases().filter_map(|number| {
            let (keyspace, facts) = (self.keyspace(number)?, self.keyspace_facts(number));
            Some(CutDatabase { number, facts, keyspace })
        });
        databases.filter(|database| database.facts.keys > 0).collect()
    }

    /// Bytes of copies that were handed over to a snapshot and not yet written.
    pub fn bytes_handed_over(&self) -> u64 {
        self.shards.cuts.waiting()
    }

    /// Bytes of the general heap that only a snapshot holds: what was handed over, and what it
    /// notes.
    pub fn retained_beside_records(&self) -> u64 {
        self.shards.cuts.retained_beside_records()
    }

    /// Bytes of records that only a snapshot holds, and everybody else has changed or removed.
    pub fn retained_in_records(&self) -> u64 {
        self.shards.cuts.retained_in_records()
    }

    /// Bytes that only a snapshot holds.
    pub fn retained_bytes(&self) -> u64 {
        self.retained_beside_records() + self.retained_in_records()
    }

    /// Returns true if a snapshot is made and holds so much that it must not go on for long while
    /// its sink takes nothing.
    pub fn retains_too_much(&self) -> bool {
        self.is_too_much(self.retained_bytes())
    }

    /// Bytes handed over above which writers should be stalled.
    pub fn handed_over_max(&self) -> u64 {
        (self.live_bytes() / WAITING_PART).max(WAITING_MIN)
    }

    /// Returns true if writers should be stalled until the snapshot has taken some of what was
    /// handed over.
    #[inline]
    pub fn stalls_writers(&self) -> bool {
        let waiting = self.bytes_handed_over();
        waiting > WAITING_MIN && self.is_too_much(waiting)
    }

    /// Returns true if a snapshot is made and these are too many bytes for it.
    #[cold]
    fn is_too_much(&self, bytes: u64) -> bool {
        bytes > self.handed_over_max() && self.shards.cuts.is_on()
    }

    /// Gives the snapshot up, if there is one: nothing is handed over to it any more. The thread
    /// that has it lets go of what was kept.
    pub fn give_up_cut(&self) {
        self.shards.cuts.give_up();
    }

    /// Hands keyspaces that were flushed to lazy free at once, if the snapshot that has kept them
    /// was given up, and no other thread stays inside the gate for long. To be called again and
    /// again.
    pub fn free_given_up(&self, thread: &ThreadContext) {
        if self.shards.keyspaces.has_kept() && !self.shards.cuts.is_on() {
            self.exclusively_at_once(thread, Store::hand_kept_to_lazy_free);
        }
    }
}

impl Cut<'_> {
    /// Databases that held keys at the cut.
    pub fn databases(&self) -> &[CutDatabase] {
        &self.databases
    }

    /// Time for which others were kept out of the store at the cut.
    pub fn pause(&self) -> Duration {
        self.pause
    }

    /// The database of a copy.
    pub fn database_of(&self, copied: &Copied<'_>) -> usize {
        self.databases[usize::from(copied.number)].number
    }

    /// Returns true if the snapshot was given up: what it has kept may be incomplete.
    pub fn is_given_up(&self) -> bool {
        !self.store.shards.cuts.is_on()
    }

    /// Takes copies of some keys in place of those in `to`, each key of the cut once. Returns false
    /// when there are no more.
    pub fn take(&mut self, to: &mut Copies) -> bool {
        to.clear();
        while to.is_empty() {
            if let Some(block) = self.handed.pop_front() {
                self.store.shards.cuts.written(&block);
                self.lend(block, to);
            } else if (self.is_much_waiting() || self.walk.is_none()) && self.take_handed() {
            } else if self.walk.is_some() {
                self.step(to);
            } else {
                return false;
            }
        }
        true
    }

    /// Puts a block in place of `to`, and keeps the memory of that for the steps of the walk.
    fn lend(&mut self, block: Copies, to: &mut Copies) {
        let own = std::mem::replace(to, block);
        if own.room_bytes() > self.spare.room_bytes() {
            self.spare = own;
        }
    }

    /// Returns true if what was handed over is to be written before the walk goes on: much memory,
    /// or frozen collections, of which clients copy node by node meanwhile.
    fn is_much_waiting(&self) -> bool {
        self.store.bytes_handed_over() > WAITING_FREE || self.store.shards.cuts.has_frozen()
    }

    /// Takes what was handed over in the next shard; false if there is none.
    fn take_handed(&mut self) -> bool {
        let Some(shard) = self.store.shards.cuts.next_marked(self.taken) else { return false };
        self.taken = ShardId(shard.0.wrapping_add(1));
        let mut frozen = Vec::new();
        self.store.enter(self.thread);
        let shards = &self.store.shards;
        let mut guard = shards.lock_quietly(self.thread, shard, self.now);
        self.handed.extend(guard.take_handed(shard, &mut frozen));
        drop(guard);
        self.leave(frozen);
        true
    }

    /// Copies the next keys of the walk under one hold.
    fn step(&mut self, to: &mut Copies) {
        let Some((number, shard)) = self.walk else { return };
        if to.room_bytes() < self.spare.room_bytes() {
            std::mem::swap(to, &mut self.spare);
            to.clear();
        }
        let keyspace = self.databases[number].keyspace;
        let (shards, mut frozen, mut is_more) = (&self.store.shards, Vec::new(), false);
        if !shards.counts(keyspace, shard).is_empty() {
            self.store.enter(self.thread);
            let mut guard = shards.lock_quietly(self.thread, shard, self.now);
            let numbered = (narrow::to_u16(number), keyspace);
            is_more = guard.copy_some(numbered, shard, to, &mut frozen);
            drop(guard);
            self.leave(frozen);
        }
        if !is_more {
            let next = shard.0.checked_add(1).map(|shard| (number, ShardId(shard)));
            let database = (number + 1 < self.databases.len()).then_some((number + 1, ShardId(0)));
            self.walk = next.or(database);
        }
    }

    /// Leaves the gate after a hold, and lets others run.
    fn leave(&mut self, frozen: Vec<CollectionId>) {
        self.frozen.extend(frozen.into_iter().map(|id| id.0));
        self.store.leave(self.thread);
        self.thread.pacer.yield_if_due();
    }

    /// Reads the value of a copy. A large one is read under a lock, so `read` should take some
    /// tens of microseconds at most; it can be read again until it is let go of.
    pub fn read<T>(&mut self, copied: &Copied<'_>, read: impl FnOnce(ValueRef<'_>) -> T) -> T {
        let shards = &self.store.shards;
        if let Some(value) = shards.copied_value(copied, self.now) {
            return read(value);
        }
        self.store.enter(self.thread);
        let id = copied.collection().expect("other values have no nodes");
        let guard = shards.lock_owner(self.thread, id, self.now);
        let guard = guard.expect("a frozen collection has an owner");
        let done = read(guard.frozen_value(copied, self.now));
        drop(guard);
        self.leave(Vec::new());
        done
    }

    /// Lets go of what was kept for a copy, in slices.
    pub fn let_go(&mut self, copied: &Copied<'_>) {
        if let Some(id) = copied.collection().filter(|id| self.frozen.remove(&id.0)) {
            self.let_go_of(id);
        }
    }

    fn let_go_of(&mut self, id: CollectionId) {
        let mut next = Some(0);
        while let Some(from) = next {
            self.store.enter(self.thread);
            let guard = self.store.shards.lock_owner(self.thread, id, self.now);
            next = guard.and_then(|mut guard| guard.let_go_some(id, from));
            self.leave(Vec::new());
        }
    }
}

impl Drop for Cut<'_> {
    fn drop(&mut self) {
        let shards = &self.store.shards;
        shards.end_cut();
        for shard in ShardId::all() {
            let mut frozen = Vec::new();
            self.store.enter(self.thread);
            let mut guard = shards.lock_quietly(self.thread, shard, self.now);
            let (forgotten, handed) = guard.forget_cut(shard, &mut frozen);
            drop(guard);
            self.leave(frozen);
            drop(forgotten);
            self.handed.extend(handed);
            self.handed.drain(..).for_each(|block| shards.cuts.written(&block));
        }
        while let Some(id) = self.frozen.pop_first() {
            self.let_go_of(CollectionId(id));
        }
        if !shards.keyspaces.stop_keeping() {
            self.store.free_kept(self.thread);
        }
        shards.cuts.give_back();
    }
}
