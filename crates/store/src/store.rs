//! The store: shards, the gate before them, and the threads that work on them.

use crate::access::Access;
use crate::counters::{Counters, Totals};
use crate::deadlines::Deadlines;
use crate::key::Key;
use crate::shard::{
    EVENTS_GATHERED, Hold, Interests, Listener, ShardSet, Shards, Sought, ThreadContext,
};
use crate::survivors::Cleaners;
use base::mutex::{Mutex, MutexGuard};
use base::{Gate, KeyFilter, KeyHasher, KeyspaceId, Millis, PositionHash};
use heap::Heap;
use std::io;
use std::sync::Arc;

/// Configuration of a store.
#[derive(Debug)]
pub struct StoreConfig {
    /// Number of databases.
    pub databases: usize,
    /// Hash function that places keys.
    pub hasher: KeyHasher,
    /// Bytes of address space for records; `None` for as much as there is.
    pub address_space: Option<usize>,
}

/// The store; see the module page.
#[derive(Debug)]
pub struct Store {
    pub(crate) shards: Arc<Shards>,
    pub(crate) gate: Gate,
    pub(crate) cleaners: Cleaners,
    threads: Mutex<Vec<Arc<Counters>>>,
    /// Contexts of threads that have ended, for others to use.
    retired: Mutex<Vec<ThreadContext>>,
}

impl Store {
    /// Creates an empty store.
    ///
    /// # Errors
    /// When the system refuses address space.
    pub fn new(config: StoreConfig) -> io::Result<Store> {
        Ok(Store {
            shards: Shards::new(config.databases, config.hasher, config.address_space)?,
            gate: Gate::new(),
            cleaners: Cleaners::default(),
            threads: Mutex::new(Vec::new()),
            retired: Mutex::new(Vec::new()),
        })
    }

    /// Position hash of a key, the same in every keyspace.
    #[inline]
    pub fn hash(&self, key: &[u8]) -> PositionHash {
        self.shards.hasher.hash(key)
    }

    /// Hash function that places keys and elements.
    pub fn hasher(&self) -> &KeyHasher {
        &self.shards.hasher
    }

    /// A key of a keyspace.
    #[inline]
    pub fn key<'k>(&self, keyspace: KeyspaceId, bytes: &'k [u8]) -> Key<'k> {
        self.shards.key(keyspace, bytes)
    }

    /// Locks the shard of one key.
    #[inline(always)]
    pub fn lock<'a>(
        &'a self,
        thread: &'a mut ThreadContext,
        key: &Key<'_>,
        now: Millis,
    ) -> Access<'a> {
        self.lock_hash(thread, key.hash, now)
    }

    /// Locks the shard in which keys of a position hash stand.
    #[inline]
    pub fn lock_hash<'a>(
        &'a self,
        thread: &'a mut ThreadContext,
        hash: PositionHash,
        now: Millis,
    ) -> Access<'a> {
        Access::new(self.shards.lock(thread, hash.shard(), now))
    }

    /// As `lock_hash`, without waiting: `None` if the lock is taken at present.
    pub fn try_lock_hash<'a>(
        &'a self,
        thread: &'a mut ThreadContext,
        hash: PositionHash,
        now: Millis,
    ) -> Option<Access<'a>> {
        self.shards.try_lock(thread, hash.shard(), now).map(Access::new)
    }

    /// Returns true if somebody wants plain commands with the same effect as what is changed.
    pub fn wants_effects(&self) -> bool {
        self.shards.listeners.wants_effects()
    }

    /// As `lock`, without waiting: `None` if the lock is taken at present.
    pub fn try_lock<'a>(
        &'a self,
        thread: &'a mut ThreadContext,
        key: &Key<'_>,
        now: Millis,
    ) -> Option<Access<'a>> {
        self.try_lock_hash(thread, key.hash, now)
    }

    /// Locks several shards, all of them at once.
    pub fn lock_all<'a>(
        &'a self,
        thread: &'a mut ThreadContext,
        set: ShardSet,
        now: Millis,
    ) -> Access<'a> {
        Access::new(self.shards.lock_all(thread, set, now))
    }

    /// Takes the locks of several shards for some commands in a row: they work with the thread
    /// context that the hold lends, on keys of these shards, and what they change is one unit. Room
    /// for all of them is made before.
    ///
    /// # Panics
    /// If the thread lends locks already.
    pub fn hold<'a>(&'a self, thread: &'a mut ThreadContext, set: ShardSet) -> Hold<'a> {
        self.shards.hold(thread, set)
    }

    /// As `hold`, for commands that become known only as they run: `grow` takes further shards. At
    /// most one thread at a time may do so; others wait here.
    ///
    /// # Panics
    /// If the thread lends locks already.
    pub fn hold_to_grow<'a>(&'a self, thread: &'a mut ThreadContext, set: ShardSet) -> Hold<'a> {
        self.shards.hold_to_grow(thread, set)
    }

    /// Takes shards for the unit at which a thread is, unless it has them. Returns false if it
    /// lacks some, and its hold was not taken to grow.
    #[inline]
    pub fn grow(&self, thread: &mut ThreadContext, set: &ShardSet) -> bool {
        self.shards.grow(thread, set)
    }

    /// As `hold`, without waiting: `None` if one of the locks is not free.
    ///
    /// # Panics
    /// If the thread lends locks already.
    pub fn try_hold<'a>(
        &'a self,
        thread: &'a mut ThreadContext,
        set: ShardSet,
    ) -> Option<Hold<'a>> {
        self.shards.try_hold(thread, set)
    }

    /// Delivers to listeners what has happened so far in the unit of a thread that lends its locks,
    /// so that it comes before what the next command of the unit sends by itself.
    #[inline]
    pub fn deliver_events(&self, thread: &mut ThreadContext) {
        self.shards.deliver_events(&mut thread.pending, thread.author);
    }

    /// Does the same if so much has happened that it is not to gather until the end of the unit. To
    /// be called between two commands.
    #[inline]
    pub fn deliver_events_if_many(&self, thread: &mut ThreadContext) {
        if thread.pending.unit.events.len() >= EVENTS_GATHERED {
            self.shards.deliver_events(&mut thread.pending, thread.author);
        }
    }

    /// Prefetches index buckets and first bytes of the records of `keys`, which are looked for one
    /// after the other, and the locks of the first [`LOCKS_AHEAD`](crate::LOCKS_AHEAD).
    #[inline]
    pub fn prefetch_keys(&self, keys: &[Sought]) {
        self.shards.prefetch_keys(keys);
    }

    /// Prefetches the same for keys of one command, [`WINDOW`](crate::WINDOW) of them at most.
    pub fn prefetch_window(&self, keys: &[Key<'_>]) {
        self.shards.prefetch_window(keys);
    }

    /// Prefetches the lock of the shard in which `hash` stands.
    #[inline]
    pub fn prefetch_lock(&self, hash: PositionHash) {
        self.shards.prefetch_lock(hash);
    }

    /// Measures the average length of records, so that no more is prefetched of short ones than
    /// there is. To be called now and then.
    pub fn learn_record_bytes(&self) {
        self.shards.learn_record_bytes(self.live_bytes() / self.keys().max(1));
    }

    /// Creates a context for one more thread; `None` once 256 are in use.
    pub fn thread_context(&self) -> Option<ThreadContext> {
        if let Some(thread) = self.retired().pop() {
            return Some(thread);
        }
        let gate = self.gate.join()?;
        let mut threads = self.threads();
        let thread = ThreadContext::new(gate, threads.len());
        threads.push(Arc::clone(&thread.counters));
        Some(thread)
    }

    /// Takes back the context of a thread that has ended, outside the gate.
    pub fn retire(&self, mut thread: ThreadContext) {
        thread.head.seal(&self.shards.heap);
        self.retired().push(thread);
    }

    fn retired(&self) -> MutexGuard<'_, Vec<ThreadContext>> {
        self.retired.lock()
    }

    /// Enters the gate, waiting while another thread acts on everything. Between `enter` and
    /// `leave` databases keep the keyspaces that they name. A thread that lends locks stays inside:
    /// a thread that closes the gate may wait for one of them.
    #[inline]
    pub fn enter(&self, thread: &ThreadContext) {
        debug_assert!(thread.may_go_out(), "nobody enters the gate with locks");
        self.gate.enter(&thread.gate);
    }

    /// Lets threads go first that want to act on everything; databases may name other keyspaces
    /// afterwards. To be called between two connections.
    #[inline]
    pub fn pass(&self, thread: &ThreadContext) {
        debug_assert!(thread.may_go_out(), "nobody leaves the gate with locks");
        self.gate.pass(&thread.gate);
    }

    /// Enters the gate if it is open.
    #[inline]
    pub fn try_enter(&self, thread: &ThreadContext) -> bool {
        debug_assert!(thread.may_go_out(), "nobody enters the gate with locks");
        self.gate.try_enter(&thread.gate)
    }

    /// Enters the gate if it is open. Otherwise the thread stays outside, and touches no data until
    /// it enters.
    pub fn enter_if_open(&self, thread: &mut ThreadContext) {
        thread.is_outside = !self.try_enter(thread);
    }

    /// Returns true if a thread would wait at the gate.
    #[inline]
    pub fn is_gate_closed(&self) -> bool {
        self.gate.is_closed()
    }

    /// Tells threads that want to act on everything that this one stays inside for long: they keep
    /// nobody out while they wait for it.
    pub fn stay_for_long(&self, thread: &ThreadContext) {
        if !thread.is_alone {
            self.gate.stay_for_long(&thread.gate);
        }
    }

    /// Leaves the gate, at the end of a batch of commands.
    #[inline]
    pub fn leave(&self, thread: &ThreadContext) {
        debug_assert!(thread.may_go_out(), "nobody leaves the gate with locks");
        self.gate.leave(&thread.gate);
    }

    /// Lets others go first in the middle of a long command: threads that act on everything, and
    /// all that want the same core. Databases may name other keyspaces afterwards. In the middle of
    /// a unit, which no other thread may come between, it does nothing.
    pub fn step_aside(&self, thread: &ThreadContext) {
        if thread.may_go_out() {
            self.leave(thread);
            std::thread::yield_now();
            self.enter(thread);
        }
    }

    /// Closes the thread's segment if nothing was appended since the last call, and the segment
    /// holds nothing or is larger than a heap of this size should have open.
    pub fn rest(&self, thread: &mut ThreadContext) {
        let appended = thread.head.appended_bytes();
        if std::mem::replace(&mut thread.rested_at, appended) == appended {
            thread.head.rest(&self.shards.heap);
        }
    }

    /// Adds a listener, which stays for good and is notified of what `set_interest` switches on.
    ///
    /// # Panics
    /// If there are too many.
    pub fn add_listener(&self, listener: &Arc<dyn Listener>) {
        self.shards.listeners.add(listener);
    }

    /// Switches interests of listeners on or off. A thread follows the switch from the next lock of
    /// a shard that it takes.
    pub fn set_interest(&self, interests: Interests, on: bool) {
        self.shards.listeners.set_interest(interests, on);
    }

    /// Returns true if listeners want one of these.
    #[inline]
    pub fn wants_any(&self, interests: Interests) -> bool {
        self.shards.listeners.wants_any(interests)
    }

    /// Filter of marked keys: a listener with the interest [`Interests::MARKED_KEYS`] is notified
    /// of changes of these keys only.
    pub fn marked_keys(&self) -> &Arc<KeyFilter> {
        &self.shards.listeners.marked
    }

    /// Sets whether units go to the logs of their threads. To be called while the gate is closed
    /// (`exclusively`), so that no thread is in the middle of a change.
    pub fn set_journal(&self, on: bool) {
        self.shards.listeners.set_journal(on);
    }

    /// Sets whether the effect of a key that has expired, and of one that is evicted, is UNLINK and
    /// not DEL.
    pub fn set_lazy_removals(&self, expired: bool, evicted: bool) {
        self.shards.listeners.lazy_removals.set(expired, evicted);
    }

    /// Returns true if units go to the logs of their threads.
    pub fn has_journal(&self) -> bool {
        self.shards.listeners.has_journal()
    }

    /// Sums of the counts of all threads.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals::default();
        self.threads().iter().for_each(|thread| totals.add(thread));
        totals
    }

    /// Live bytes of all records.
    pub fn live_bytes(&self) -> u64 {
        self.sum_over_threads(|thread| thread.live_bytes.get())
    }

    /// Bytes that collections and their nodes may still grow into.
    pub fn growth_bytes(&self) -> u64 {
        self.sum_over_threads(|thread| thread.growth_bytes.get())
    }

    fn sum_over_threads(&self, count: impl Fn(&Counters) -> u64) -> u64 {
        let sum = self.threads().iter().fold(0_u64, |sum, thread| sum.wrapping_add(count(thread)));
        // Threads are read one after the other, so a gain may be missed whose loss is seen.
        if sum > u64::MAX / 2 { 0 } else { sum }
    }

    /// Bytes of all indexes.
    pub fn index_bytes(&self) -> u64 {
        self.shards.index_bytes()
    }

    /// Share of the index's entries that was in use when its blocks grew.
    pub fn index_load_before_growth(&self) -> f64 {
        self.shards.index_load_before_growth()
    }

    /// The heap, for its figures.
    pub fn heap(&self) -> &Heap {
        &self.shards.heap
    }

    /// What is known of deadlines that pass soon.
    #[inline]
    pub fn deadlines(&self) -> &Deadlines {
        &self.shards.deadlines
    }

    /// Returns true if keys past their deadline stay until they are changed: absent for clients,
    /// but not removed.
    pub fn keeps_expired(&self) -> bool {
        self.shards.keeps_expired()
    }

    /// Sets whether keys past their deadline are kept.
    pub fn keep_expired(&self, keep: bool) {
        self.shards.keep_expired(keep);
    }

    /// Sets whether a journal is applied: nothing expires by itself then, since the effects of a
    /// journal name each key and field that is to go. A thread that applies it also has to see what
    /// is past its deadline ([`Access::show_expired`]), and nothing may be evicted meanwhile.
    pub fn apply_journal(&self, on: bool) {
        self.shards.apply_journal(on);
    }

    /// Returns true if a journal is applied.
    pub fn applies_journal(&self) -> bool {
        self.shards.applies_journal()
    }

    fn threads(&self) -> MutexGuard<'_, Vec<Arc<Counters>>> {
        self.threads.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Encoding, Expiry};

    fn reach_with(keys: usize, value: &[u8]) -> usize {
        let hasher = KeyHasher::from_seed(1);
        let config = StoreConfig { databases: 1, hasher, address_space: Some(64 << 20) };
        let store = Store::new(config).expect("address space");
        let mut thread = store.thread_context().expect("a thread");
        let keyspace = store.keyspace(0).expect("the first database");
        for number in 0..keys {
            let name = format!("key{number:013}");
            let key = store.key(keyspace, name.as_bytes());
            store.enter(&thread);
            let mut access = store.lock(&mut thread, &key, Millis(1)).muted();
            access.set_string(&key, value, Encoding::Raw, Expiry::Never).expect("room");
            drop(access);
            store.leave(&thread);
        }
        store.learn_record_bytes();
        store.shards.reach()
    }

    #[test]
    fn of_short_records_no_more_is_prefetched_than_there_is() {
        assert_eq!(reach_with(100, &[7; 16]), 16 + 16 + 5 - 1, "its last byte");
        assert_eq!(reach_with(100, &[7; 500]), 63, "two lines of a long one");
        assert_eq!(reach_with(0, b""), 0);
    }
}
