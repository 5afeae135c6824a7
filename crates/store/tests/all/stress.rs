//! Many threads on overlapping keys, while background jobs, flushes and exchanged databases go on:
//! every value tells whose it is and what it should hold, so a torn or misplaced one is noticed.
//! All units are recorded, and snapshots are taken one after the other: the units before a cut make
//! the data of its snapshot, and all of them the data at the end.

use crate::background_jobs;
use crate::journaled::{self, Follower, Journal, assert_same, report};
use base::{Clock, KeyHasher, Millis, Random};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier};
use std::thread;
use store::value::long_string::{CHUNK_BYTES, WHOLE_BYTES_MAX};
use store::value::string;
use store::{
    Access, Encoding, EvictionPolicy, Expiry, Key, Limits, ScanFilter, Scanned, ShardSet, Store,
    StoreConfig, ThreadContext,
};

const DATABASES: usize = if cfg!(miri) { 2 } else { 4 };
/// Keys that all workers fight over.
const KEYS: u64 = if cfg!(miri) { 12 } else { 3_000 };
const WORKERS: u64 = if cfg!(miri) { 2 } else { 4 };
const ROUNDS: u64 = if cfg!(miri) { 8 } else { 120_000 };
const BATCH: u64 = 8;
/// Database, number of the key, checksum; then bytes that follow from them.
const HEAD_BYTES: usize = 24;
const START: Millis = Millis(1_700_000_000_000);

struct Shared {
    store: Store,
    journal: Arc<Journal>,
    /// Milliseconds since `START`; the background jobs let time pass.
    elapsed: AtomicU64,
    is_done: AtomicBool,
    begin: Barrier,
}

impl Shared {
    fn new(seed: u64) -> Shared {
        let config = StoreConfig {
            databases: DATABASES,
            hasher: KeyHasher::from_seed(seed),
            address_space: cfg!(miri).then_some(1 << 22),
        };
        let store = Store::new(config).expect("address space");
        let journal = Arc::new(Journal::default());
        let thread = store.thread_context().expect("a thread");
        store.exclusively(&thread, |store| store.set_journal(true));
        Shared {
            store,
            journal,
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

    /// A thread whose units are recorded.
    fn thread(&self) -> ThreadContext {
        let mut thread = self.store.thread_context().expect("a thread");
        self.journal.join(&mut thread);
        thread
    }

    fn key<'k>(&self, database: usize, bytes: &'k [u8]) -> Key<'k> {
        self.store.key(self.store.keyspace(database).expect("a database"), bytes)
    }
}

fn name(number: u64) -> Vec<u8> {
    let long = if number.is_multiple_of(10) { 280 } else { number as usize % 20 };
    let mut bytes = vec![b'-'; long];
    bytes.extend_from_slice(&number.to_le_bytes());
    bytes
}

/// A value of `len` bytes, or a head's length, that belongs to one key.
fn value_of(key: &[u8], len: usize, salt: u64) -> Vec<u8> {
    let mut value = vec![0; len.max(HEAD_BYTES)];
    let mut random = Random::from_seed(salt);
    value[16..].fill_with(|| random.next() as u8);
    value[..8].copy_from_slice(&key[key.len() - 8..]);
    let sum = checksum(&value[16..]);
    value[8..16].copy_from_slice(&sum.to_le_bytes());
    value
}

fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(bytes.len() as u64, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}

#[track_caller]
fn check(key: &[u8], value: &[u8]) {
    assert!(value.len() >= HEAD_BYTES, "{} bytes for {key:?}", value.len());
    assert_eq!(value[..8], key[key.len() - 8..], "the value of another key");
    assert_eq!(value[8..16], checksum(&value[16..]).to_le_bytes(), "a torn value of {key:?}");
}

/// The string of a key.
fn string_of(access: &Access<'_>, key: &Key<'_>) -> Option<Vec<u8>> {
    access.lookup_string_without_touch(key).expect("all are strings").map(|string| string.to_vec())
}

struct Worker<'a> {
    shared: &'a Shared,
    thread: ThreadContext,
    random: Random,
    refused: u64,
}

impl<'a> Worker<'a> {
    fn new(shared: &'a Shared, seed: u64) -> Worker<'a> {
        let thread = shared.thread();
        Worker { shared, thread, random: Random::from_seed(seed), refused: 0 }
    }

    fn any_len(&mut self) -> usize {
        let most = match self.random.below(if cfg!(miri) { 8 } else { 2_000 }) {
            0 => {
                if cfg!(miri) {
                    5_000
                } else {
                    700_000
                }
            }
            1..=100 => {
                if cfg!(miri) {
                    300
                } else {
                    20_000
                }
            }
            _ => 200,
        };
        self.random.below(most) as usize
    }

    /// Works as a worker of the server does: hints for all keys of a batch, the commands, upkeep.
    fn batch(&mut self) {
        let shared = self.shared;
        let store = &shared.store;
        store.enter(&self.thread);
        let now = shared.now();
        let names: Vec<Vec<u8>> = (0..BATCH).map(|_| name(self.random.below(KEYS))).collect();
        let database = self.random.below(DATABASES as u64) as usize;
        let keys: Vec<Key<'_>> = names.iter().map(|it| shared.key(database, it)).collect();
        let sought: Vec<_> = keys.iter().map(|key| (key.keyspace, key.hash)).collect();
        store.prefetch_keys(&sought);
        keys.iter().for_each(|key| self.command(key, now));
        self.many(&keys, now);
        store.upkeep(&mut self.thread, now);
        store.leave(&self.thread);
    }

    fn command(&mut self, key: &Key<'_>, now: Millis) {
        match self.random.below(20) {
            0..=7 => self.read(key, now),
            8..=12 => self.write(key, now),
            13 => self.remove(key, now),
            14 => self.grow(key, now),
            15 => self.rewrite(key, now),
            16 => self.set_deadline(key, now),
            17..=18 => self.pass_on(key, now),
            _ => self.walk(key, now),
        }
    }

    fn read(&mut self, key: &Key<'_>, now: Millis) {
        let mut access = self.shared.store.lock(&mut self.thread, key, now);
        if let Some(value) = access.read_string(key).expect("all are strings") {
            check(key.bytes, &value.to_vec());
            assert!(value.deadline.is_none_or(|it| it > now));
        }
    }

    fn write(&mut self, key: &Key<'_>, now: Millis) {
        let value = value_of(key.bytes, self.any_len(), self.random.next());
        let expiry = match self.random.below(4) {
            0 => Expiry::At(Millis(now.0 + 1 + self.random.below(3_000))),
            1 => Expiry::Keep,
            _ => Expiry::Never,
        };
        self.put(key, &value, expiry, now);
    }

    fn put(&mut self, key: &Key<'_>, value: &[u8], expiry: Expiry, now: Millis) {
        let store = &self.shared.store;
        let extent = value.len() + key.bytes.len() + 30;
        let reserved = store.reserve(&mut self.thread, extent, now);
        let mut access = store.lock(&mut self.thread, key, now);
        let written = reserved.and_then(|()| access.set_string(key, value, Encoding::Raw, expiry));
        if written.is_err() {
            return self.refused += 1;
        }
        report(&mut access, key);
        assert!(string_of(&access, key).expect("just written") == value);
    }

    /// Writes each key of a database, of which no more than a quarter fit.
    fn fill(&mut self) {
        self.shared.store.enter(&self.thread);
        for number in 0..KEYS {
            let (name, now) = (name(number), self.shared.now());
            let key = self.shared.key(0, &name);
            self.put(&key, &value_of(&name, 8_000, number), Expiry::Never, now);
        }
        self.shared.store.leave(&self.thread);
    }

    fn remove(&mut self, key: &Key<'_>, now: Millis) {
        let mut access = self.shared.store.lock(&mut self.thread, key, now);
        access.remove(key);
        report(&mut access, key);
        assert!(access.lookup_without_touch(key).is_none());
    }

    /// Lengthens or shortens a value, and makes its head right again.
    fn grow(&mut self, key: &Key<'_>, now: Millis) {
        let more = self.random.below(100) as usize;
        let mut access = self.shared.store.lock(&mut self.thread, key, now);
        let Some(old) = string_of(&access, key) else { return };
        if old.len() + more > WHOLE_BYTES_MAX {
            return;
        }
        let len = (old.len() + more).saturating_sub(50).max(HEAD_BYTES);
        let Ok(value) = access.resize(key, len) else { return self.refused += 1 };
        let kept = len.min(old.len());
        assert!(value[..kept] == old[..kept] && value[kept..].iter().all(|byte| *byte == 0));
        let sum = checksum(&value[16..]);
        value[8..16].copy_from_slice(&sum.to_le_bytes());
        report(&mut access, key);
    }

    fn rewrite(&mut self, key: &Key<'_>, now: Millis) {
        let salt = self.random.next();
        let mut access = self.shared.store.lock(&mut self.thread, key, now);
        let Some(old) = string_of(&access, key) else { return };
        check(key.bytes, &old);
        let value = value_of(key.bytes, old.len(), salt);
        string::set_range(&mut access, key, 0, &value, u64::MAX).expect("it is as long");
        report(&mut access, key);
    }

    fn set_deadline(&mut self, key: &Key<'_>, now: Millis) {
        let deadline = self.random.one_in(2).then(|| Millis(now.0 + 1 + self.random.below(2_000)));
        let mut access = self.shared.store.lock(&mut self.thread, key, now);
        match access.set_deadline(key, deadline) {
            Ok(true) => {
                assert_eq!(access.lookup_without_touch(key).expect("there").deadline, deadline)
            }
            Ok(false) => {}
            Err(_) => self.refused += 1,
        }
        report(&mut access, key);
    }

    /// Renames or copies to another key, under both locks, and makes the value the other key's.
    fn pass_on(&mut self, from: &Key<'_>, now: Millis) {
        let number = self.random.below(KEYS);
        let bytes = name(number);
        let database = self.random.below(DATABASES as u64) as usize;
        let to = self.shared.key(database, &bytes);
        if to.bytes == from.bytes && to.keyspace == from.keyspace {
            return;
        }
        let mut shards = ShardSet::new();
        [from.hash, to.hash].into_iter().for_each(|hash| shards.add(hash));
        let moves = self.random.one_in(2);
        let mut access = self.shared.store.lock_all(&mut self.thread, shards, now);
        let before = string_of(&access, from);
        let done = if moves { access.rename(from, &to) } else { access.copy(from, &to) };
        let Ok(done) = done else { return self.refused += 1 };
        assert_eq!(done, before.is_some());
        let Some(mut expected) = before else { return };
        [from, &to].into_iter().for_each(|key| report(&mut access, key));
        assert!(string_of(&access, &to).expect("renamed or copied") == expected);
        assert_eq!(access.lookup_without_touch(from).is_none(), moves);
        expected[..8].copy_from_slice(&number.to_le_bytes());
        string::set_range(&mut access, &to, 0, &expected[..8], u64::MAX).expect("it is as long");
        report(&mut access, &to);
    }

    /// Changes all keys of a batch at once, as MSET and MGET have them.
    fn many(&mut self, keys: &[Key<'_>], now: Millis) {
        if !self.random.one_in(4) {
            return;
        }
        let salt = self.random.next();
        let mut shards = ShardSet::new();
        keys.iter().for_each(|key| shards.add(key.hash));
        let mut access = self.shared.store.lock_all(&mut self.thread, shards, now);
        for key in keys {
            let value = value_of(key.bytes, 60, salt);
            let written = access.set_string(key, &value, Encoding::Raw, Expiry::Never);
            if written.is_err() {
                return self.refused += 1;
            }
            report(&mut access, key);
        }
        for key in keys {
            let value = access.lookup_without_touch(key).expect("written under the same locks");
            assert!(value.bytes == value_of(key.bytes, 60, salt));
        }
    }

    fn walk(&mut self, key: &Key<'_>, now: Millis) {
        let (store, cursor) = (&self.shared.store, self.random.below(1 << 40));
        let whole = |key: &[u8]| assert!(key.len() >= 8);
        let all = Scanned { keyspace: key.keyspace, now, filter: ScanFilter::default() };
        store.scan(&mut self.thread, all, cursor, 5, whole);
        if let Some(found) = store.random_key(&mut self.thread, key.keyspace, now, |_| {}) {
            assert!(found.len() >= 8);
        }
    }
}

/// Lets time pass while the background jobs are done.
fn background_jobs(shared: &Shared) {
    background_jobs::run(&shared.store, shared.thread(), &shared.is_done, || {
        shared.elapsed.fetch_add(40, Ordering::Relaxed);
        shared.now()
    });
}

/// Thread that empties and exchanges databases.
fn upheaval(shared: &Shared, seed: u64) {
    let store = &shared.store;
    let (mut thread, mut random) = (shared.thread(), Random::from_seed(seed));
    while !shared.is_done.load(Ordering::Relaxed) {
        store.enter(&thread);
        let database = random.below(DATABASES as u64) as usize;
        if random.one_in(3) {
            store.flush(&mut thread, store::Flush::One(database));
        } else {
            let other = random.below(DATABASES as u64) as usize;
            store.swap_databases(&mut thread, database, other, Millis(0));
        }
        let keyspace = store.keyspace(database).expect("a database");
        let now = shared.now();
        // Time for the databases to fill again.
        for _ in 0..if cfg!(miri) { 1 } else { 50 } {
            let all = Scanned { keyspace, now, filter: ScanFilter::default() };
            store.each_key(&mut thread, all, |key| {
                assert!(key.len() >= 8);
                true
            });
        }
        store.leave(&thread);
    }
}

/// Takes snapshots, and holds each against the data that the units before its cut make.
fn snapshots(shared: &Shared) -> Follower {
    let (mut thread, mut follower) = (shared.thread(), Follower::new(DATABASES));
    let (mut is_last, mut number, mut whole) = (false, 0, 0);
    while !is_last {
        is_last = shared.is_done.load(Ordering::Relaxed);
        let cut = Cell::new(0);
        let at_cut = || cut.set(shared.journal.position());
        let saved = journaled::save(&shared.store, &mut thread, shared.now(), at_cut, || ());
        follower.follow(&shared.journal, cut.get());
        number += 1;
        if let Some(saved) = saved {
            assert_same(&saved, &follower.0, &format!("snapshot {number}"));
            whole += 1;
        }
    }
    println!("{number} snapshots, {} of them given up", number - whole);
    follower
}

/// Returns the number of writes that were refused, and what the journal makes of the units before
/// the last cut.
fn run(shared: &Shared, rounds: u64) -> (u64, Follower) {
    thread::scope(|scope| {
        let workers: Vec<_> = (0..WORKERS)
            .map(|seed| {
                scope.spawn(move || {
                    let mut worker = Worker::new(shared, seed);
                    shared.begin.wait();
                    (0..rounds / BATCH).for_each(|_| worker.batch());
                    worker.refused
                })
            })
            .collect();
        scope.spawn(|| background_jobs(shared));
        scope.spawn(|| upheaval(shared, 77));
        let saver = scope.spawn(|| snapshots(shared));
        let refused: Vec<_> = workers.into_iter().map(|it| it.join()).collect();
        shared.is_done.store(true, Ordering::Relaxed);
        let follower = saver.join().expect("an assertion about a snapshot");
        (refused.into_iter().map(|it| it.expect("a worker's assertion")).sum(), follower)
    })
}

/// After all threads have ended: walk, counts and sums agree with one another, and the journal
/// makes the same data.
fn verify(shared: &Shared, mut follower: Follower) {
    let store = &shared.store;
    let (mut thread, now) = (shared.thread(), shared.now());
    follower.follow(&shared.journal, shared.journal.position());
    assert_same(&follower.0, &journaled::read(store, &mut thread), "what the journal makes");
    store.sweep_deadlines(&mut thread, Millis(now.0 + 512));
    store.enter(&thread);
    while store.free_some(&mut thread, 1_000) {}
    store.leave(&thread);
    let (mut bytes, mut live, mut spare) = (0, 0, 0);
    for database in 0..DATABASES {
        let keyspace = store.keyspace(database).expect("a database");
        let (mut names, filter) = (Vec::new(), ScanFilter::default());
        store.each_key(&mut thread, Scanned { keyspace, now, filter }, |key| {
            names.push(key.to_vec());
            true
        });
        names.sort();
        names.dedup();
        let (facts, mut with_deadline) = (store.keyspace_facts(database), 0);
        assert_eq!((facts.keys, store.len(database)), (names.len() as u64, names.len() as u64));
        for bytes in &names {
            let key = shared.key(database, bytes);
            let mut access = store.lock(&mut thread, &key, now);
            let value = access.read_string(&key).expect("a string").expect("it was in the walk");
            check(bytes, &value.to_vec());
            with_deadline += u64::from(value.deadline.is_some());
            live += key.bytes.len() as u64 + value.len() as u64;
            if value.as_slice().is_none() {
                // Where its chunks are; their headers and names, and what the last one is longer.
                spare += 12
                    + (value.len() as u64).div_ceil(CHUNK_BYTES as u64) * 14
                    + CHUNK_BYTES as u64;
            }
        }
        assert_eq!(facts.with_deadline, with_deadline);
        bytes += facts.bytes;
    }
    assert_eq!(store.live_bytes(), bytes, "what threads count and what indexes count");
    assert_eq!(store.used_bytes(), bytes + store.index_bytes(), "nothing waits for lazy free");
    let keys: u64 = (0..DATABASES).map(|it| store.len(it)).sum();
    // A header takes 5 to 17 bytes.
    assert!(bytes >= live + 5 * keys && bytes <= live + 17 * keys + spare, "{bytes} for {live}");
    let segments = store.heap().segments();
    let is_at_rest = |it: &&heap::SegmentFacts| it.state != heap::SegmentState::Cleaning;
    let at_rest: u64 = segments.iter().filter(is_at_rest).map(|it| it.live).sum();
    let being_cleaned: u64 = segments.iter().map(|it| it.live).sum::<u64>() - at_rest;
    assert!(at_rest <= bytes && bytes <= at_rest + being_cleaned, "{bytes}: {segments:?}");
}

#[test]
fn no_value_is_torn_lost_or_misplaced_while_many_threads_work() {
    let shared = Shared::new(1);
    let (refused, follower) = run(&shared, ROUNDS);
    assert_eq!(refused, 0, "there is no limit");
    verify(&shared, follower);
}

#[test]
fn no_value_is_torn_lost_or_misplaced_while_a_limit_evicts() {
    if cfg!(miri) {
        return;
    }
    let shared = Shared::new(2);
    shared.store.set_limits(&Limits {
        maxmemory: 6 << 20,
        other_bytes: 0,
        workers: WORKERS,
        eviction: EvictionPolicy::AllKeysLru,
        reclaim: heap::ReclaimPolicy::Greedy,
        lfu_log_factor: 10,
        lfu_decay_minutes: 1,
    });
    // What is flushed, or expires, before the limit is reached is a matter of who is faster.
    Worker::new(&shared, 99).fill();
    assert!(shared.store.totals().evicted > 0, "the limit is reached");
    let (_, follower) = run(&shared, ROUNDS / 2);
    verify(&shared, follower);
}
