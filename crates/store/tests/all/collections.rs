//! Many threads change collections of all kinds, small and large ones, while the cleaner, expiry,
//! lazy free, flushes and exchanged databases go on: no element is lost, and at the end no byte is
//! left.

use crate::background_jobs;
use crate::windows::{KINDS, Window, expire_lowest, grow, read, shrink};
use base::{Clock, KeyHasher, Millis, Random};
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use store::{
    EvictionPolicy, Key, Limits, ScanFilter, Scanned, ShardSet, Store, StoreConfig, ThreadContext,
};

const DATABASES: usize = 3;
/// Keys that all workers fight over.
const KEYS: u64 = 1_500;
const WORKERS: u64 = 4;
const ROUNDS: u64 = 12_000;
/// Elements of a collection, about.
const LEN_MAX: u64 = 1_500;
const START: Millis = Millis(1_700_000_000_000);

struct Shared {
    store: Store,
    /// Milliseconds since `START`; the background jobs let time pass.
    elapsed: AtomicU64,
    is_done: AtomicBool,
    begin: Barrier,
}

impl Shared {
    fn new(seed: u64, maxmemory: u64, eviction: EvictionPolicy) -> Shared {
        let hasher = KeyHasher::from_seed(seed);
        let config = StoreConfig { databases: DATABASES, hasher, address_space: None };
        let store = Store::new(config).expect("address space");
        store.set_limits(&Limits {
            maxmemory,
            other_bytes: 0,
            workers: WORKERS,
            eviction,
            reclaim: heap::ReclaimPolicy::Original,
            lfu_log_factor: 10,
            lfu_decay_minutes: 1,
        });
        Shared {
            store,
            elapsed: AtomicU64::new(0),
            is_done: AtomicBool::new(false),
            begin: Barrier::new(WORKERS as usize),
        }
    }

    fn now(&self) -> Millis {
        let clock = Clock::still(START);
        clock.advance(self.elapsed.load(Ordering::Relaxed));
        clock.now()
    }

    fn key<'k>(&self, database: usize, bytes: &'k [u8]) -> Key<'k> {
        self.store.key(self.store.keyspace(database).expect("a database"), bytes)
    }
}

struct Worker<'a> {
    shared: &'a Shared,
    thread: ThreadContext,
    random: Random,
    refused: u64,
}

impl<'a> Worker<'a> {
    fn new(shared: &'a Shared, seed: u64) -> Worker<'a> {
        let thread = shared.store.thread_context().expect("a thread");
        Worker { shared, thread, random: Random::from_seed(seed), refused: 0 }
    }

    fn any_name(&mut self) -> (usize, Vec<u8>) {
        let database = self.random.below(DATABASES as u64) as usize;
        (database, format!("key:{}", self.random.below(KEYS)).into_bytes())
    }

    fn round(&mut self) {
        let (shared, (database, name)) = (self.shared, self.any_name());
        let store = &shared.store;
        store.enter(&self.thread);
        let now = shared.now();
        let key = shared.key(database, &name);
        match self.random.below(20) {
            0..=13 => self.change(&key, now),
            14 => self.remove(&key, now),
            15..=16 => self.set_deadline(&key, now),
            _ => self.pass_on(&key, now),
        }
        store.upkeep(&mut self.thread, now);
        store.leave(&self.thread);
    }

    /// Mostly a few elements, sometimes many.
    fn any_count(&mut self) -> u64 {
        let most = if self.random.one_in(6) { 600 } else { 12 };
        1 + self.random.below(most)
    }

    fn change(&mut self, key: &Key<'_>, now: Millis) {
        let count = self.any_count();
        let new = Window {
            kind: KINDS[self.random.below(KINDS.len() as u64) as usize],
            salt: if self.random.one_in(4) { 0 } else { self.random.next() >> 1 },
            numbers: 1_000..1_000,
        };
        let (takes, expires) = (self.random.one_in(3), self.random.one_in(8));
        let store = &self.shared.store;
        if store.reserve(&mut self.thread, count as usize * 60 + 4_096, now).is_err() {
            return self.refused += 1;
        }
        let mut access = store.lock(&mut self.thread, key, now).muted();
        let window = read(&access, key);
        if let Some(window) = window.as_ref().filter(|_| expires) {
            let set = expire_lowest(&mut access, key, window, Millis(now.0 + 500));
            self.refused += u64::from(set.is_err());
            return;
        }
        let is_long = window.as_ref().is_some_and(|it| it.numbers.clone().count() as u64 > LEN_MAX);
        if let Some(window) = window.as_ref().filter(|_| takes || is_long) {
            let to = window.numbers.start + count;
            shrink(&mut access, key, window, to);
            let left = read(&access, key).map_or(0, |it| it.numbers.end - it.numbers.start);
            assert_eq!(left, window.numbers.end.saturating_sub(to));
            return;
        }
        if window.is_none() {
            // A stream may be there without entries.
            access.remove(key);
        }
        let Window { kind, salt, numbers } = window.unwrap_or(new);
        let grown = numbers.start..numbers.end + count;
        if grow(&mut access, key, kind, salt, numbers.end..grown.end).is_err() {
            access.remove(key);
            return self.refused += 1;
        }
        assert_eq!(read(&access, key), Some(Window { kind, salt, numbers: grown }));
    }

    fn remove(&mut self, key: &Key<'_>, now: Millis) {
        let mut access = self.shared.store.lock(&mut self.thread, key, now).muted();
        access.remove(key);
        assert!(access.lookup_without_touch(key).is_none());
    }

    fn set_deadline(&mut self, key: &Key<'_>, now: Millis) {
        let deadline = self.random.one_in(2).then(|| Millis(now.0 + 1 + self.random.below(2_000)));
        let mut access = self.shared.store.lock(&mut self.thread, key, now).muted();
        match access.set_deadline(key, deadline) {
            Ok(true) => {
                assert_eq!(access.lookup_without_touch(key).expect("there").deadline, deadline)
            }
            Ok(false) => {}
            Err(_) => self.refused += 1,
        }
    }

    /// Renames or copies to another key, of another shard and maybe another database.
    fn pass_on(&mut self, from: &Key<'_>, now: Millis) {
        let (database, name) = self.any_name();
        let to = self.shared.key(database, &name);
        if to.bytes == from.bytes && to.keyspace == from.keyspace {
            return;
        }
        let mut shards = ShardSet::new();
        [from.hash, to.hash].into_iter().for_each(|hash| shards.add(hash));
        let moves = self.random.one_in(2);
        let mut access = self.shared.store.lock_all(&mut self.thread, shards, now).muted();
        let before = read(&access, from);
        let done = if moves { access.rename(from, &to) } else { access.copy(from, &to) };
        let Ok(done) = done else { return self.refused += 1 };
        assert!(done || before.is_none());
        if done {
            assert_eq!(read(&access, &to), before);
            assert_eq!(access.lookup_without_touch(from).is_none(), moves);
        }
    }
}

/// Lets time pass while the background jobs are done.
fn background_jobs(shared: &Shared) {
    let thread = shared.store.thread_context().expect("a thread");
    background_jobs::run(&shared.store, thread, &shared.is_done, || {
        shared.elapsed.fetch_add(20, Ordering::Relaxed);
        shared.now()
    });
}

/// Thread that empties and exchanges databases.
fn upheaval(shared: &Shared) {
    let store = &shared.store;
    let (mut thread, mut random) =
        (store.thread_context().expect("a thread"), Random::from_seed(77));
    while !shared.is_done.load(Ordering::Relaxed) {
        store.enter(&thread);
        let database = random.below(DATABASES as u64) as usize;
        if random.one_in(3) {
            store.flush(&mut thread, store::Flush::One(database));
        } else {
            store.swap_databases(
                &mut thread,
                database,
                random.below(DATABASES as u64) as usize,
                Millis(0),
            );
        }
        store.leave(&thread);
        // Time for the databases to fill again.
        thread::sleep(std::time::Duration::from_millis(150));
    }
}

/// Runs all threads; returns how many changes were refused.
fn run(shared: &Shared) -> u64 {
    thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS)
            .map(|seed| {
                scope.spawn(move || {
                    let mut worker = Worker::new(shared, seed);
                    shared.begin.wait();
                    (0..ROUNDS).for_each(|_| worker.round());
                    worker.refused
                })
            })
            .collect();
        scope.spawn(|| background_jobs(shared));
        scope.spawn(|| upheaval(shared));
        let refused: Vec<_> = workers.into_iter().map(|it| it.join()).collect();
        shared.is_done.store(true, Ordering::Relaxed);
        refused.into_iter().map(|it| it.expect("a worker's assertion")).sum()
    })
}

fn free_lazily(store: &Store, thread: &mut ThreadContext) {
    store.enter(thread);
    while store.free_some(thread, 1_000) {}
    store.leave(thread);
}

/// After all threads have ended: every collection is whole, and the counts agree with one another;
/// once all of them are deleted or flushed, nothing is left.
fn verify(shared: &Shared) {
    let store = &shared.store;
    let (mut thread, now) = (store.thread_context().expect("a thread"), shared.now());
    free_lazily(store, &mut thread);
    let mut bytes = 0;
    for database in 0..DATABASES {
        let keyspace = store.keyspace(database).expect("a database");
        let (mut names, filter) = (Vec::new(), ScanFilter::default());
        store.each_key(&mut thread, Scanned { keyspace, now, filter }, |key| {
            names.push(key.to_vec());
            true
        });
        bytes += store.keyspace_facts(database).bytes;
        for name in &names {
            let key = shared.key(database, name);
            let mut access = store.lock(&mut thread, &key, now).muted();
            read(&access, &key);
            if database != 0 {
                access.remove(&key);
            }
        }
    }
    assert!(bytes > 1 << 20, "{bytes} bytes of collections");
    // Keys past their deadline were not in the walk.
    store.sweep_deadlines(&mut thread, Millis(now.0 + 10_000));
    store.enter(&thread);
    store.flush(&mut thread, store::Flush::One(0));
    store.leave(&thread);
    free_lazily(store, &mut thread);
    assert_eq!(store.live_bytes(), 0, "no record is left");
    assert_eq!(store.used_bytes(), store.index_bytes(), "and none is waited for");
    (0..DATABASES).for_each(|it| assert_eq!(store.keyspace_facts(it).bytes, 0));
}

#[test]
fn no_element_is_lost_while_many_threads_change_collections() {
    let shared = Shared::new(1, 4 << 30, EvictionPolicy::NoEviction);
    assert_eq!(run(&shared), 0, "there is room");
    let totals = shared.store.totals();
    assert!(totals.moved_records > 1_000, "the cleaner moved {}", totals.moved_records);
    verify(&shared);
}

#[test]
fn no_element_is_lost_while_a_limit_evicts_collections() {
    let shared = Shared::new(2, 8 << 20, EvictionPolicy::AllKeysLru);
    let r = run(&shared);
    let (s, h) = (&shared.store, shared.store.heap());
    eprintln!(
        "refused {r} {:?} touched {} budget {} live {} idx {} committed {}",
        s.totals(),
        h.touched_bytes(),
        h.budget(),
        s.live_bytes(),
        s.index_bytes(),
        h.committed_bytes()
    );
    assert!(shared.store.totals().evicted > 100, "{} were evicted", shared.store.totals().evicted);
    verify(&shared);
}
