//! Units of several commands that borrow the locks of one hold, over a quarter of all shards,
//! beside many single commands on the same keys: no thread waits for ever, and none sees half of a
//! unit.
//!
//! `HOLD_SECONDS` says how long; two seconds without it.

use base::{KeyHasher, KeyspaceId, Millis, Random};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use std::{env, thread};
use store::value::string;
use store::{
    Encoding, EvictionPolicy, Expiry, Key, Limits, ShardSet, Store, StoreConfig, ThreadContext,
};

const THREADS: u64 = 8;
/// Keys of a unit; most of them stand in a shard of their own.
const KEYS_OF_UNIT: usize = 64;
const KEYS: u64 = 400;
const START: i64 = 1_000;
const NOW: Millis = Millis(1_700_000_000_000);

struct Bank {
    store: Store,
    is_done: AtomicBool,
    units: AtomicU64,
    given_up: AtomicU64,
}

fn name(number: u64) -> Vec<u8> {
    format!("account:{number}").into_bytes()
}

impl Bank {
    fn new() -> Bank {
        let hasher = KeyHasher::from_seed(11);
        let config = StoreConfig { databases: 1, hasher, address_space: None };
        let store = Store::new(config).expect("address space");
        let mut thread = store.thread_context().expect("a thread");
        for number in 0..KEYS {
            let name = name(number);
            let key = store.key(KeyspaceId(0), &name);
            let mut access = store.lock(&mut thread, &key, NOW).muted();
            let text = START.to_string();
            access.set_string(&key, text.as_bytes(), Encoding::Int, Expiry::Never).expect("room");
        }
        let (is_done, units, given_up) = Default::default();
        Bank { store, is_done, units, given_up }
    }

    fn add(&self, thread: &mut ThreadContext, key: &Key<'_>, by: i64) -> i64 {
        let mut access = self.store.lock(thread, key, NOW).muted();
        string::add(&mut access, key, by).expect("an integer, and room")
    }

    /// Moves money between the accounts of a unit, or only adds them all up: all of them hold the
    /// same sum at any moment, and each moves between its own few.
    fn unit(&self, thread: &mut ThreadContext, random: &mut Random) {
        let names: Vec<Vec<u8>> = (0..KEYS_OF_UNIT).map(|_| name(random.below(KEYS))).collect();
        let keys: Vec<Key<'_>> =
            names.iter().map(|name| self.store.key(KeyspaceId(0), name)).collect();
        let mut set = ShardSet::new();
        keys.iter().for_each(|key| set.add(key.hash));
        self.store.reserve(thread, KEYS_OF_UNIT * 64, NOW).expect("room");
        let mut hold = if random.one_in(4) {
            // Without waiting: asks again later.
            let Some(hold) = self.store.try_hold(thread, set) else {
                self.given_up.fetch_add(1, Relaxed);
                return;
            };
            hold
        } else {
            self.store.hold(thread, set)
        };
        let before: Vec<i64> = keys.iter().map(|key| self.add(hold.thread(), key, 0)).collect();
        for pair in keys.windows(2) {
            let by = random.below(10) as i64;
            self.add(hold.thread(), &pair[0], -by);
            self.add(hold.thread(), &pair[1], by);
        }
        // No other thread came between, so what was moved can be moved back.
        for (key, before) in keys.iter().zip(&before) {
            let now = self.add(hold.thread(), key, 0);
            self.add(hold.thread(), key, before - now);
        }
        for (key, before) in keys.iter().zip(before) {
            assert_eq!(self.add(hold.thread(), key, 0), before, "a unit is alone with its keys");
        }
        drop(hold);
        self.units.fetch_add(1, Relaxed);
    }

    /// One command, on one key or on two.
    fn command(&self, thread: &mut ThreadContext, random: &mut Random) {
        let names = [name(random.below(KEYS)), name(random.below(KEYS))];
        let keys = names.each_ref().map(|name| self.store.key(KeyspaceId(0), name));
        if random.one_in(2) {
            assert_eq!(self.add(thread, &keys[0], 0), START, "units are seen whole");
            return;
        }
        let mut set = ShardSet::new();
        keys.iter().for_each(|key| set.add(key.hash));
        let access = self.store.lock_all(thread, set, NOW);
        for key in &keys {
            let value =
                access.lookup_string_without_touch(key).expect("a string").expect("an account");
            assert_eq!(value.as_slice(), Some(START.to_string().as_bytes()));
        }
    }

    fn work(&self, seed: u64) {
        let mut thread = self.store.thread_context().expect("a thread");
        let mut random = Random::from_seed(seed);
        while !self.is_done.load(Relaxed) {
            self.store.enter(&thread);
            if random.one_in(4) {
                self.unit(&mut thread, &mut random);
            } else {
                self.command(&mut thread, &mut random);
            }
            self.store.upkeep(&mut thread, NOW);
            self.store.leave(&thread);
        }
    }
}

#[test]
fn units_over_many_shards_and_single_commands_finish_and_see_each_other_whole() {
    let seconds = env::var("HOLD_SECONDS").ok().and_then(|text| text.parse().ok()).unwrap_or(2);
    let (bank, end) = (Bank::new(), Instant::now() + Duration::from_secs(seconds));
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let bank = &bank;
            scope.spawn(move || bank.work(thread));
        }
        let mut thread = bank.store.thread_context().expect("a thread");
        while Instant::now() < end {
            bank.store.enter(&thread);
            bank.store.clean_at_rest(&mut thread, 1 << 20, NOW);
            bank.store.leave(&thread);
            bank.store.sweep_deadlines(&mut thread, NOW);
            thread::yield_now();
        }
        bank.is_done.store(true, Relaxed);
    });
    let (units, given_up) = (bank.units.into_inner(), bank.given_up.into_inner());
    println!("{units} units in {seconds} s, and {given_up} that were given up");
    assert!(units > 0);
}

#[test]
fn what_a_unit_takes_beyond_its_room_is_made_good_by_the_next_write() {
    let hasher = KeyHasher::from_seed(12);
    let config = StoreConfig { databases: 1, hasher, address_space: None };
    let store = Store::new(config).expect("address space");
    let maxmemory = 48 << 20;
    store.set_limits(&Limits {
        maxmemory,
        other_bytes: 0,
        workers: 1,
        eviction: EvictionPolicy::AllKeysLru,
        reclaim: heap::ReclaimPolicy::Original,
        lfu_log_factor: 10,
        lfu_decay_minutes: 1,
    });
    let (mut thread, value) = (store.thread_context().expect("a thread"), vec![7; 10_000]);
    let set = |thread: &mut ThreadContext, number: u64| {
        let name = name(number);
        let key = store.key(KeyspaceId(0), &name);
        store.reserve(thread, value.len() + 64, NOW).expect("room");
        let mut access = store.lock(thread, &key, NOW).muted();
        access.set_string(&key, &value, Encoding::Raw, Expiry::Never).expect("room");
    };
    let mut next = 0;
    while store.totals().evicted == 0 {
        set(&mut thread, next);
        store.upkeep(&mut thread, NOW);
        next += 1;
    }
    // A unit that was thought to be small: nothing is evicted while its locks are held.
    store.reserve(&mut thread, value.len(), NOW).expect("room");
    let evicted = store.totals().evicted;
    let mut hold = store.hold(&mut thread, ShardSet::all());
    for number in 0..1_000 {
        set(hold.thread(), next + number);
    }
    assert_eq!(store.totals().evicted, evicted, "nobody makes room while holding locks");
    drop(hold);
    let is_there = |thread: &mut ThreadContext, number: u64| {
        let name = name(number);
        let key = store.key(KeyspaceId(0), &name);
        store.lock(thread, &key, NOW).lookup_without_touch(&key).is_some()
    };
    assert!((next..next + 1_000).all(|number| is_there(&mut thread, number)));
    assert!(store.heap().committed_bytes() > store.heap().budget(), "it was overdrawn");
    set(&mut thread, next + 1_000);
    assert!(store.totals().evicted > evicted, "the next write makes room");
    assert!(store.heap().committed_bytes() <= store.heap().budget());
}
